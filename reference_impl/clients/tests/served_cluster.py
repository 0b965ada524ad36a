"""The cluster that clients meet: the reference, or a real one that is there already."""

import http.client
import json
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol
from urllib.parse import urlencode

import msgspec
from waits import until

OK = 200
_ROUND_S = 4.5
_V1 = {"Accept": "application/vnd.nsq; version=1.0"}


class Channel(msgspec.Struct, frozen=True):
    """What a node tells of a channel on one partition."""

    channel_name: str
    depth: int
    in_flight_count: int
    client_num: int


class Partition(msgspec.Struct, frozen=True):
    """What a node tells of a partition."""

    topic_name: str
    topic_partition: str
    message_count: int
    channels: tuple[Channel, ...] = ()

    def channel(self, name: str) -> Channel | None:
        """Return a channel, if there is one of that name."""
        return next((each for each in self.channels if each.channel_name == name), None)


class Node(msgspec.Struct, frozen=True):
    """A node as lookups name it."""

    broadcast_address: str
    tcp_port: int
    http_port: int
    distributed_id: str = ""

    @property
    def address(self) -> str:
        """Return where clients talk to it."""
        return f"{self.broadcast_address}:{self.tcp_port}"

    @property
    def http_address(self) -> str:
        """Return where it serves HTTP."""
        return f"{self.broadcast_address}:{self.http_port}"


class _Lookup(msgspec.Struct, frozen=True):
    partitions: dict[str, Node] | None = None


class _Stats(msgspec.Struct, frozen=True):
    topics: tuple[Partition, ...] = ()


class Cluster(Protocol):
    """Lookup servers and nodes, met only as any client meets them."""

    lookupds: tuple[str, ...]

    @abstractmethod
    def await_placed(self, topic: str, count: int) -> None:
        """Wait until so many partitions of a new topic can be used."""

    @abstractmethod
    def move_leader(self, topic: str, partition: str) -> None:
        """Let the other node lead a partition."""

    def create(self, topic: str, **settings: str) -> str:
        """Make a topic and wait until every partition can be used."""
        query = {"topic": topic, "partition_num": "1", "replicator": "1", **settings}
        ask(self.lookupds[0], "POST", "/topic/create", query)
        self.await_placed(topic, int(query["partition_num"]))
        return topic

    def leaders(self, topic: str, access: str = "r") -> Mapping[str, Node]:
        """Return the leader of every partition, by number."""
        query = {"topic": topic, "access": access}
        found = ask(self.lookupds[0], "GET", "/lookup", query)
        return msgspec.json.decode(found, type=_Lookup).partitions or {}

    def partitions(self, topic: str) -> Mapping[str, Partition]:
        """Return what the leader of every partition tells of it, by number."""
        return {
            number: partition
            for number, node in self.leaders(topic).items()
            for partition in stats(node, topic)
            if partition.topic_partition == number
        }

    def await_clients(self, topic: str, channel: str, count: int = 1) -> None:
        """Wait until so many clients consume a channel on every partition."""

        def there() -> bool:
            found = [each.channel(channel) for each in self.partitions(topic).values()]
            return bool(found) and all(each and each.client_num >= count for each in found)

        until(there, f"{count} clients on every partition of {topic}")

    def await_stored(self, topic: str, partition: str, count: int) -> None:
        """Wait until a partition keeps at least so many messages."""
        until(
            lambda: self.partitions(topic)[partition].message_count >= count,
            f"{count} messages in {topic}-{partition}",
        )

    def await_drained(self, topic: str, channel: str) -> None:
        """Wait until nothing of a channel is waiting or unanswered anywhere."""

        def drained() -> bool:
            found = [each.channel(channel) for each in self.partitions(topic).values()]
            return all(each and each.depth == 0 == each.in_flight_count for each in found)

        until(drained, f"{topic}/{channel} empty")


class ReferenceCluster(Cluster):
    """`wireproof serve nsq`: two nodes, two lookup servers and the control."""

    def __init__(self, lookupds: tuple[str, ...], control: str) -> None:
        self.lookupds = lookupds
        self.control = control

    def await_placed(self, topic: str, count: int) -> None:
        """Expect it at once."""
        assert len(self.leaders(topic)) == count

    def move_leader(self, topic: str, partition: str) -> None:
        """Move it by the control."""
        ask(self.control, "POST", "/control/leader", {"topic": topic, "partition": partition})


class RealCluster(Cluster):
    """A youzan cluster with two nodes, started by whoever runs the tests."""

    def __init__(self, lookupds: tuple[str, ...]) -> None:
        self.lookupds = lookupds

    def await_placed(self, topic: str, count: int) -> None:
        """Wait until it can be written: after two looks at all topics, with a pause between."""
        self._hurry(lambda: len(self.leaders(topic, "w")) == count, f"{count} writable partitions")

    def move_leader(self, topic: str, partition: str) -> None:
        """Move it as an operator would, and wait until the lookup servers know."""
        nodes = self.leaders(self._spread())
        old = self.leaders(topic)[partition]
        new = next(each for each in nodes.values() if each.address != old.address)
        query = {
            "topic": topic,
            "partition": partition,
            "move_leader": "true",
            "move_from": old.distributed_id,
            "move_to": new.distributed_id,
        }
        step = "/topic/partition/move"
        self._hurry(
            lambda: answer(self.lookupds[0], "POST", step, query)[0] == OK, "stable cluster"
        )
        until(
            lambda: self.leaders(topic).get(partition, old).address == new.address,
            f"{new.address} as leader",
        )

    def _hurry(self, holds: Callable[[], bool], what: str) -> None:
        """Wait, and end an upgrade now and then: after that all topics are looked at."""
        last = 0.0

        def hurried() -> bool:
            nonlocal last
            if holds():
                return True
            if time.monotonic() - last > _ROUND_S:
                for step in ("begin", "done"):
                    ask(self.lookupds[0], "POST", f"/cluster/upgrade/{step}", {})
                last = time.monotonic()
            return False

        until(hurried, what)

    def _spread(self) -> str:
        """Return a topic that has a partition on every node."""
        return self.create("wp_everywhere", partition_num="2")


@contextmanager
def reference_cluster(dialect: str) -> Iterator[ReferenceCluster]:
    """Run the reference as a cluster of two nodes and two lookup servers."""
    command = [sys.executable, "-m", "wireproof", "serve", "nsq", "--dialect", dialect]
    command += ["--nodes", "2", "--lookupds", "2", "--control", "127.0.0.1:0"]
    with serving(command) as ready:
        yield ReferenceCluster(tuple(ready["lookupd_http"]), ready["control"])


@contextmanager
def serving(command: list[str]) -> Iterator[dict[str, str]]:
    """Run `serve` on free ports and yield what it says of itself."""
    anywhere = ["--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"]
    with subprocess.Popen([*command, *anywhere], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait()


def stats(node: Node, topic: str) -> tuple[Partition, ...]:
    """Return what a node tells of its partitions of a topic."""
    found = ask(node.http_address, "GET", "/stats", {"topic": topic, "format": "json"})
    return msgspec.json.decode(found, type=_Stats).topics


def await_client(node: Node, topic: str, channel: str) -> None:
    """Wait until a client consumes a channel of a topic on one node."""

    def there() -> bool:
        found = [each.channel(channel) for each in stats(node, topic)]
        return any(each is not None and each.client_num > 0 for each in found)

    until(there, f"client of {topic}/{channel} on {node.address}")


def ask(
    address: str, method: str, path: str, query: Mapping[str, str], sent: bytes = b""
) -> bytes:
    """Return the answer to a request that must succeed."""
    status, body = answer(address, method, path, query, sent)
    assert status == OK, (method, path, dict(query), status, body)
    return body


def answer(
    address: str, method: str, path: str, query: Mapping[str, str], sent: bytes = b""
) -> tuple[int, bytes]:
    """Return status and body of the answer to a request."""
    token, _, address = address.rpartition("@")
    shown = {"Authorization": f"Bearer {token}"} if token else {}
    connection = http.client.HTTPConnection(address)
    try:
        connection.request(method, f"{path}?{urlencode(query)}", sent, {**_V1, **shown})
        given = connection.getresponse()
        return given.status, given.read()
    finally:
        connection.close()
