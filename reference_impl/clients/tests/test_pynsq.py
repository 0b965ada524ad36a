"""pynsq, which knows nothing of partitions or headers: the classic protocol of a node."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from client_program import ClientProgram, Said
from deliveries import bodies, stored, wait_received
from served_cluster import Cluster, Node, ask, await_client, serving, stats

pytestmark = pytest.mark.process

PROGRAM = Path(__file__).resolve().parents[1] / "pynsq_client.py"
CHANNEL = "clients"


class Pynsq:
    """Starts the program, each with a log of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0

    def start(self, verb: str, topic: str, *options: str) -> ClientProgram:
        self._started += 1
        command = [sys.executable, str(PROGRAM), verb, "--topic", topic, *options]
        return ClientProgram(command, self._folder / f"{verb}-{self._started}.log")

    def consume(self, topic: str, *options: str) -> ClientProgram:
        return self.start("consume", topic, "--channel", CHANNEL, *options)

    def publish(self, topic: str, node: Node, *options: str) -> list[Said]:
        """Publish to a node and return what was acknowledged, in order; nothing is refused."""
        with self.start("produce", topic, "--nsqd", node.address, *options) as producer:
            producer.finish()
            assert producer.said("refused") == []
            assert producer.said("done")
            return producer.said("sent")


@pytest.fixture
def pynsq(tmp_path: Path) -> Pynsq:
    return Pynsq(tmp_path)


@pytest.fixture(scope="session")
def alone() -> Iterator[Node]:
    """A node of the reference without lookup servers."""
    command = [sys.executable, "-m", "wireproof", "serve", "nsq", "--dialect", "deployed"]
    with serving(command) as ready:
        host, _, port = ready["tcp"].rpartition(":")
        yield Node(host, int(port), int(ready["http"].rpartition(":")[2]))


@pytest.mark.parametrize("way", ["pub", "mpub"])
def test_a_node_alone(pynsq: Pynsq, alone: Node, name: str, way: str) -> None:
    query = {"topic": name, "partition_num": "1", "replicator": "1"}
    ask(alone.http_address, "POST", "/topic/create", query)
    with pynsq.consume(name, "--nsqd", alone.address) as consumer:
        await_client(alone, name, CHANNEL)
        sent = pynsq.publish(name, alone, "--count", "200", "--way", way)
        received = wait_received(consumer, bodies(sent))
        consumer.finish()
    assert sorted(bodies(received)) == bodies(sent)
    assert {(each.attempts, each.trace) for each in received} == {(1, 0)}
    assert len({each.id for each in received}) == 200
    assert [each.message_count for each in stats(alone, name)] == [200]


def test_a_node_found_by_lookup(pynsq: Pynsq, classic_cluster: Cluster, name: str) -> None:
    """Over two nodes with a partition each, which it does not know, everything comes."""
    topic = classic_cluster.create(name, partition_num="2")
    with pynsq.consume(topic, "--lookupd", classic_cluster.lookupds[0]) as consumer:
        classic_cluster.await_clients(topic, CHANNEL)
        for node in classic_cluster.leaders(topic).values():
            sent = pynsq.publish(topic, node, "--count", "50")
        consumer.wait(lambda: len(consumer.said("received")) >= 100, "a hundred deliveries")
        classic_cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        received = consumer.said("received")
    assert sorted(bodies(received)) == sorted(2 * bodies(sent))
    assert stored(classic_cluster, topic) == {"0": 50, "1": 50}


def test_what_is_given_back_comes_again(pynsq: Pynsq, classic_cluster: Cluster, name: str) -> None:
    topic = classic_cluster.create(name)
    node = classic_cluster.leaders(topic)["0"]
    with pynsq.consume(topic, "--nsqd", node.address, "--requeue", "5") as consumer:
        classic_cluster.await_clients(topic, CHANNEL)
        sent = pynsq.publish(topic, node, "--count", "40")
        consumer.wait(lambda: len(consumer.said("received")) >= 45, "redelivery of five")
        classic_cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        received = consumer.said("received")
    again = [each for each in received if each.attempts == 2]
    assert sorted(set(bodies(received))) == bodies(sent)
    assert sorted((each.id, each.timestamp) for each in again) == sorted(
        (each.id, each.timestamp) for each in received if each.answer == "requeue"
    )
    assert len(received) == 45


def test_more_time(pynsq: Pynsq, classic_cluster: Cluster, name: str) -> None:
    """A message that is held three times as long as it may be, and touched, stays where it is."""
    topic = classic_cluster.create(name)
    node = classic_cluster.leaders(topic)["0"]
    words = ["--nsqd", node.address, "--msg-timeout", "1", "--hold", "3", "--touch"]
    with pynsq.consume(topic, *words) as consumer:
        classic_cluster.await_clients(topic, CHANNEL)
        pynsq.publish(topic, node)
        consumer.wait(lambda: bool(consumer.said("received")), "the message")
        classic_cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        assert [each.attempts for each in consumer.said("received")] == [1]


def test_what_takes_too_long_comes_again(
    pynsq: Pynsq, classic_cluster: Cluster, name: str
) -> None:
    topic = classic_cluster.create(name)
    node = classic_cluster.leaders(topic)["0"]
    words = ["--nsqd", node.address, "--msg-timeout", "1", "--hold", "50"]
    with pynsq.consume(topic, *words) as consumer:
        classic_cluster.await_clients(topic, CHANNEL)
        pynsq.publish(topic, node)
        consumer.wait(lambda: len(consumer.said("received")) >= 2, "redelivery")
        classic_cluster.await_drained(topic, CHANNEL)
        consumer.finish()
        first, again = consumer.said("received")
    assert (again.id, again.body, again.timestamp) == (first.id, first.body, first.timestamp)
    assert (first.attempts, again.attempts) == (1, 2)


def test_heartbeats_are_answered(pynsq: Pynsq, classic_cluster: Cluster, name: str) -> None:
    """It asks for one each second; both connections outlive several without a word between."""
    topic = classic_cluster.create(name)
    node = classic_cluster.leaders(topic)["0"]
    with pynsq.consume(topic, "--nsqd", node.address) as consumer:
        classic_cluster.await_clients(topic, CHANNEL)
        sent = pynsq.publish(topic, node, "--count", "3", "--every", "2.5")
        received = wait_received(consumer, bodies(sent))
        assert "closed" not in consumer.log
        consumer.finish()
        (stopped,) = consumer.said("stopped")
    assert bodies(received) == bodies(sent)
    assert stopped.heartbeats >= 4


def test_a_deferred_publish_is_refused(pynsq: Pynsq, classic_cluster: Cluster, name: str) -> None:
    """The extended nodes have no such command; the client hears so and loses the connection."""
    topic = classic_cluster.create(name)
    node = classic_cluster.leaders(topic)["0"]
    with pynsq.start("produce", topic, "--nsqd", node.address, "--way", "dpub") as producer:
        producer.finish()
        (refused,) = producer.said("refused")
    assert "E_INVALID" in refused.error
    assert stored(classic_cluster, topic) == {"0": 0}


def test_the_published_dialect_wants_a_partition(
    pynsq: Pynsq, clusters: Callable[[str], Cluster], name: str
) -> None:
    """By the published text PUB names a partition, so a classic producer is refused.

    What others publish there it consumes.
    """
    cluster = clusters("published")
    topic = cluster.create(name)
    node = cluster.leaders(topic)["0"]
    with pynsq.consume(topic, "--lookupd", cluster.lookupds[0]) as consumer:
        cluster.await_clients(topic, CHANNEL)
        with pynsq.start("produce", topic, "--nsqd", node.address) as producer:
            producer.finish()
            (refused,) = producer.said("refused")
        ask(node.http_address, "POST", "/pub", {"topic": topic, "partition": "0"}, b"by HTTP")
        received = wait_received(consumer, ["by HTTP"])
        consumer.finish()
    assert "E_INVALID insufficient number of parameters" in refused.error
    assert bodies(received) == ["by HTTP"]
