"""go-nsq while a leader moves, there and back: nothing acknowledged is lost, no order broken."""

from client_program import ClientProgram
from deliveries import all_sent, await_more, bodies, in_order, wait_received
from go_nsq_client import CHANNEL, GoNsq
from served_cluster import Cluster

SLOWLY = {"handlers": "1", "every": "10ms"}
"""Slower than the producer, so that something waits when the leader moves."""
MOST_AGAIN = 100
"""How much may come twice: what was held, and what was repeated without an answer."""


def test_plain_through_leader_moves(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, replicator="2")
    with (
        go_nsq.consume(topic, **SLOWLY) as consumer,
        go_nsq.produce(topic, every="5ms") as producer,
    ):
        cluster.await_clients(topic, CHANNEL)
        nodes = moved_around(cluster, topic, producer)
        sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
    assert nodes[0] == nodes[2] != nodes[1]
    assert {each.node for each in received} == set(nodes)
    assert len(received) <= len(sent) + MOST_AGAIN


def test_ordered_through_leader_moves(go_nsq: GoNsq, cluster: Cluster, name: str) -> None:
    topic = cluster.create(name, partition_num="2", replicator="2", orderedmulti="true")
    with (
        go_nsq.consume(topic, "ordered", **SLOWLY) as consumer,
        go_nsq.produce(topic, "ordered", every="5ms", keys="5") as producer,
    ):
        cluster.await_clients(topic, CHANNEL)
        nodes = moved_around(cluster, topic, producer)
        sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        cluster.await_drained(topic, CHANNEL)
        consumer.finish()
    assert {each.node for each in received if each.partition == "0"} == set(nodes)
    assert in_order(sent, received)
    assert len(received) <= len(sent) + MOST_AGAIN


def moved_around(cluster: Cluster, topic: str, producer: ClientProgram) -> list[str]:
    """Move the leader of partition 0 there and back under load; return where it was."""
    nodes = [cluster.leaders(topic)["0"].address]
    await_more(producer)
    for _ in range(2):
        cluster.move_leader(topic, "0")
        nodes.append(cluster.leaders(topic)["0"].address)
        await_more(producer)
    return nodes
