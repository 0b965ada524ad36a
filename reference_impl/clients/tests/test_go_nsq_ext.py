"""go-nsq on topics with the extend feature: headers, tags and trace ids in headers."""

import json

import pytest
from client_program import Said
from deliveries import bodies, stored, traced, wait_received
from go_nsq_client import CHANNEL, GoNsq
from served_cluster import Cluster

from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID

pytestmark = pytest.mark.process

TEXT = 'grün <"quoted"> \\ ✓'


def test_headers_come_as_sent(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2", extend="true")
    with go_nsq.consume(topic, "ext") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 100, "ext")
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert sorted(bodies(received)) == bodies(sent)
    assert {each.header_version for each in received} == {4}
    assert headers(received) == headers(sent)
    assert {json.loads(each.header)["text"] for each in received} == {TEXT}
    assert stored(cluster, topic) == {"0": 50, "1": 50}


def test_plain_messages_have_no_header(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, extend="true")
    with go_nsq.consume(topic, "ext") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 20)
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert sorted(bodies(received)) == bodies(sent)
    assert {(each.header_version, each.header) for each in received} == {(0, "")}


def test_tags_are_dispatched(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    """What has a tag goes to who desires it, everything else to who desires none."""
    topic = cluster.create(name, extend="true")
    with go_nsq.consume(topic, "ext", tag="red") as red, go_nsq.consume(topic, "ext") as other:
        cluster.await_clients(topic, CHANNEL, 2)
        tagged = go_nsq.publish(topic, 40, "ext", tag="red", body="tagged")
        untagged = go_nsq.publish(topic, 40, "ext", body="untagged")
        to_red = wait_received(red, bodies(tagged))
        to_other = wait_received(other, bodies(untagged))
        cluster.await_drained(topic, CHANNEL)
        red.finish()
        other.finish()
        assert sorted(bodies(red.said("received"))) == bodies(tagged)
        assert sorted(bodies(other.said("received"))) == bodies(untagged)
    assert {json.loads(each.header)[CLIENT_DISPATCH_TAG] for each in to_red} == {"red"}
    assert all(CLIENT_DISPATCH_TAG not in json.loads(each.header) for each in to_other)


def test_trace_id_in_the_header(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2", extend="true")
    with go_nsq.consume(topic, "trace") as consumer:
        cluster.await_clients(topic, CHANNEL)
        sent = go_nsq.publish(topic, 60, "ext-trace", tag="")
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert len(received) == 60
    assert traced(received) == traced(sent)
    assert {each.body: json.loads(each.header)[TRACE_ID] for each in received} == {
        each.body: str(each.trace) for each in sent
    }


def headers(lines: list[Said]) -> dict[str, str]:
    return {each.body: each.header for each in lines}
