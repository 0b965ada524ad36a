"""go-nsq on plain topics: everything once, over both partitions, again where it asks for it."""

import pytest
from deliveries import bodies, counted, stored, traced, wait_received
from go_nsq_client import CHANNEL, GoNsq
from served_cluster import Cluster

pytestmark = pytest.mark.process


def test_plain_messages_come_once(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name)
    with go_nsq.consume(topic) as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 500)
        received = wait_received(consumer, bodies(sent))
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        (stopped,) = consumer.said("stopped")
    assert sorted(bodies(received)) == bodies(sent)
    assert {each.attempts for each in received} == {1}
    assert len({each.id for each in received}) == 500
    assert (stopped.received, stopped.finished, stopped.requeued) == (500, 500, 0)
    assert stored(cluster, topic) == {"0": 500}


def test_both_partitions_on_their_own_nodes(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2")
    leaders = {number: node.address for number, node in cluster.leaders(topic).items()}
    with go_nsq.consume(topic) as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 200)
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert len(set(leaders.values())) == 2
    assert sorted(bodies(received)) == bodies(sent)
    assert {each.partition: each.node for each in received} == leaders
    assert stored(cluster, topic) == {"0": 100, "1": 100}
    assert counted(received) == {"0": 100, "1": 100}


def test_a_partition_by_its_number(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2")
    with go_nsq.consume(topic) as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 50, "partition-first")
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert counted(received) == {"0": 50}
    assert stored(cluster, topic) == {"0": 50, "1": 0}


def test_batches(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2")
    with go_nsq.consume(topic) as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 400, "multi")
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert sorted(bodies(received)) == bodies(sent)
    assert stored(cluster, topic) == {"0": 200, "1": 200}


def test_what_is_given_back_comes_again(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name)
    with go_nsq.consume(topic, requeue="5", delay="100ms", touch="5") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 60)
        consumer.wait(lambda: len(consumer.said("received")) >= 65, "redelivery of five")
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        received = consumer.said("received")
        (stopped,) = consumer.said("stopped")
    again = [each for each in received if each.attempts == 2]
    given_back = [each for each in received if each.answer == "requeue"]
    assert sorted(set(bodies(received))) == bodies(sent)
    assert len(received) == 65
    assert sorted((each.id, each.body, each.timestamp) for each in again) == sorted(
        (each.id, each.body, each.timestamp) for each in given_back
    )
    assert len([each for each in received if each.answer == "touch"]) == 5
    assert (stopped.finished, stopped.requeued) == (60, 5)


def test_heartbeats_keep_idle_clients(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    """Both ask for a heartbeat each second; a node gives up a client after two unanswered."""
    topic = cluster.create(name)
    with go_nsq.consume(topic) as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 3, every="2500ms")
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
        assert consumer.log.count("consumer init new connection") == 1
    assert bodies(received) == bodies(sent)


def test_trace_ids_come_back_and_through(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2")
    with go_nsq.consume(topic, "trace") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 100, "trace")
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert len(received) == 100
    assert traced(received) == traced(sent)
    assert max(each.trace for each in received) > 1 << 63
