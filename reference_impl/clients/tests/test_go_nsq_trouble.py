"""go-nsq while the reference is broken on purpose, which only its control can do.

These run against the reference whatever cluster the others are pointed at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from client_program import ClientProgram, Said
from deliveries import all_sent, await_more, bodies, stored, wait_received
from go_nsq_client import CHANNEL, GoNsq
from served_cluster import Cluster, ReferenceCluster, ask

pytestmark = pytest.mark.process

OUT_OF_ORDER = ["silent", "not-json", "wrong-envelope", "empty", "error-500"]


@pytest.fixture(params=["published", "deployed"])
def cluster(
    request: pytest.FixtureRequest, clusters: Callable[[str], Cluster]
) -> ReferenceCluster:
    served = clusters(request.param)
    assert isinstance(served, ReferenceCluster)
    return served


def test_a_partition_that_takes_nothing(
    go_nsq: GoNsq, cluster: ReferenceCluster, name: str
) -> None:
    """The producer goes on with the other partition, and comes back."""
    topic = cluster.create(name, partition_num="2")
    partition = {"topic": topic, "partition": "0"}
    with go_nsq.consume(topic) as consumer, producing(go_nsq, cluster, topic) as producer:
        await_more(producer)
        with broken(cluster, "writable", partition, writable="false", mended="true"):
            before = stored(cluster, topic)
            await_more(producer)
            during = stored(cluster, topic)
        cluster.await_stored(topic, "0", during["0"] + 10)
        sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert before["0"] == during["0"]
    assert during["1"] - before["1"] >= 99
    assert once(sent, received)


def test_a_node_that_is_lost(go_nsq: GoNsq, cluster: ReferenceCluster, name: str) -> None:
    """Its follower leads; nothing acknowledged is lost, and after its return neither."""
    topic = cluster.create(name, replicator="2")
    lost = cluster.leaders(topic)["0"].address
    with go_nsq.consume(topic) as consumer, producing(go_nsq, cluster, topic) as producer:
        await_more(producer)
        with broken(cluster, "node", {"node": lost}, state="down", mended="up"):
            await_more(producer)
            kept = cluster.leaders(topic)["0"].address
        await_more(producer)
        sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert kept != lost
    assert {each.node for each in received} >= {lost, kept}
    assert set(bodies(received)) >= set(bodies(sent))


@pytest.mark.parametrize("way", OUT_OF_ORDER)
def test_a_lookup_server_out_of_order(
    go_nsq: GoNsq, cluster: ReferenceCluster, name: str, way: str
) -> None:
    """It is the second one, which the client was not told of but has found by the first."""
    topic = cluster.create(name, partition_num="2")
    second = {"lookupd": cluster.lookupds[1]}
    with (
        broken(cluster, "lookup", second, answer=way, mended="right"),
        go_nsq.consume(topic) as consumer,
        producing(go_nsq, cluster, topic, every="20ms") as producer,
    ):
        await_more(producer)
        sent = all_sent(producer)
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
        assert cluster.lookupds[1] in producer.log
    assert once(sent, received)


@contextmanager
def producing(
    go_nsq: GoNsq, cluster: Cluster, topic: str, every: str = "5ms"
) -> Iterator[ClientProgram]:
    """Publish on, from when every partition has its consumer."""
    cluster.await_clients(topic, CHANNEL)
    with go_nsq.produce(topic, every=every) as producer:
        yield producer


@contextmanager
def broken(
    cluster: ReferenceCluster, what: str, query: dict[str, str], mended: str, **way: str
) -> Iterator[None]:
    """Break something by the control, and mend it whatever happens."""
    ((key, _),) = way.items()
    ask(cluster.control, "POST", f"/control/{what}", {**query, **way})
    try:
        yield
    finally:
        ask(cluster.control, "POST", f"/control/{what}", {**query, key: mended})


def once(sent: list[Said], received: list[Said]) -> bool:
    return sorted(bodies(received)) == sorted(bodies(sent))
