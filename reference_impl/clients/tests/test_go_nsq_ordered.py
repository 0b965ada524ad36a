"""go-nsq on ordered topics: one partition per key, and the order of a key kept."""

from itertools import pairwise

import pytest
from deliveries import bodies, in_order, keys_of, places_follow, wait_received
from go_nsq_client import CHANNEL, GoNsq
from served_cluster import Cluster

pytestmark = pytest.mark.process

KEYS = 7


def test_order_per_key(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2", orderedmulti="true")
    with go_nsq.consume(topic, "ordered") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 210, "ordered", keys=str(KEYS))
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert len(received) == 210
    assert in_order(sent, received)
    assert len({each.partition for each in received}) == 2
    assert places_follow(received)


def test_order_is_kept_by_what_is_given_back(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    """Nothing later of the partition comes before what was given back."""
    topic = cluster.create(name, orderedmulti="true")
    with go_nsq.consume(topic, "ordered", requeue="3") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 30, "ordered")
        consumer.wait(lambda: len(consumer.said("received")) >= 33, "redelivery of three")
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        received = consumer.said("received")
    finished = [each for each in received if each.answer == "finish"]
    assert bodies(finished) == bodies(sent)
    for given_back, next_one in pairwise(received):
        if given_back.answer == "requeue":
            assert next_one.id == given_back.id
            assert next_one.attempts == given_back.attempts + 1


def test_one_at_a_time(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    """The client asks for twenty and has four handlers; an ordered partition gives one."""
    topic = cluster.create(name, orderedmulti="true")
    with go_nsq.consume(topic, "ordered", every="2s") as consumer:
        cluster.await_clients(topic, CHANNEL)
        go_nsq.publish(topic, 4, "ordered")
        consumer.wait(lambda: bool(consumer.said("received")), "first delivery")
        (channel,) = cluster.partitions(topic)["0"].channels
        held = len(consumer.said("received"))
    assert channel.in_flight_count == held == 1


def test_ordered_with_trace(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    """The client sends the key's hash as trace id and reads back where the message lies."""
    topic = cluster.create(name, partition_num="2", orderedmulti="true")
    with go_nsq.consume(topic, "ordered") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 100, "ordered-trace", keys=str(KEYS))
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert in_order(sent, received)
    assert {each.body: (each.id, each.offset, each.size) for each in received} == {
        each.body: (each.id, each.offset, each.size) for each in sent
    }
    hashes = {(keys_of(sent)[each.body], each.trace) for each in received}
    assert len(hashes) == KEYS
    assert all(0 < trace < 1 << 32 for _, trace in hashes)


def test_ordered_with_header(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2", orderedmulti="true", extend="true")
    with go_nsq.consume(topic, "ordered") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 100, "ordered-ext", keys=str(KEYS))
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert in_order(sent, received)
    assert places_follow(received)
    assert {each.body: each.header for each in received} == {
        each.body: each.header for each in sent
    }
    assert {each.header_version for each in received} == {4}
