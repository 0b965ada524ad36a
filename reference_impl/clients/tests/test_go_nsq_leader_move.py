"""go-nsq while a leader moves, there and back: nothing acknowledged is lost, no order broken."""

import pytest
from client_program import ClientProgram
from deliveries import all_sent, await_more, bodies, in_order, wait_received
from go_nsq_client import CHANNEL, GoNsq
from served_cluster import Cluster

pytestmark = pytest.mark.process

SLOWLY = {"handlers": "1", "every": "10ms"}
"""Slower than the producer, so that something waits when the leader moves."""
MOST_AGAIN = 100
"""How much may come twice: what was held, and what was repeated without an answer."""


def test_plain_through_leader_moves(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, replicator="2")
    with go_nsq.consume(topic, **SLOWLY) as consumer:
        cluster.await_clients(topic, CHANNEL)
        with go_nsq.produce(topic, every="5ms") as producer:
            moved_around(cluster, topic, producer, consumer)
            sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
    assert len(received) <= len(sent) + MOST_AGAIN


def test_ordered_through_leader_moves(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2", replicator="2", orderedmulti="true")
    with go_nsq.consume(topic, "ordered", **SLOWLY) as consumer:
        cluster.await_clients(topic, CHANNEL)
        with go_nsq.produce(topic, "ordered", every="5ms", keys="5") as producer:
            moved_around(cluster, topic, producer, consumer)
            sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
    assert in_order(sent, received)
    assert len(received) <= len(sent) + MOST_AGAIN


def moved_around(
    cluster: Cluster, topic: str, producer: ClientProgram, consumer: ClientProgram
) -> None:
    """Move the leader of partition 0 there and back, each time until both clients follow."""
    nodes = [cluster.leaders(topic)["0"].address]
    await_more(producer)
    for _ in range(2):
        cluster.move_leader(topic, "0")
        nodes.append(cluster.leaders(topic)["0"].address)
        await_more(producer)
        await_from(consumer, nodes[-1], len(consumer.said("received")))
    assert nodes[0] == nodes[2] != nodes[1]


def await_from(consumer: ClientProgram, node: str, after: int) -> None:
    """Wait until a node delivers something of partition 0."""

    def came() -> bool:
        later = consumer.said("received")[after:]
        return any(each.node == node and each.partition == "0" for each in later)

    consumer.wait(came, f"delivery from {node}")
