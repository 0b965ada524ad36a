"""A cluster without sockets, in a time of its own: what the tests drive."""

import json
from collections.abc import Callable
from typing import cast

from nsq_bench import SECOND, START, Client, identified

from wireproof_reference_impl.nsq import control, presets
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.control import Control
from wireproof_reference_impl.nsq.core import broker
from wireproof_reference_impl.nsq.core.log import MemoryStorage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.http import http_api
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.options import PUBLISHED
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.served import NEVER_NS, Link, Source
from wireproof_spec.nsq.names import MAGIC

V1 = "Accept: application/vnd.nsq; version=1.0\r\n"


class NodeBench:
    """One node of the cluster as its clients see it; a bench for `Client`."""

    def __init__(self, cluster: "ClusterBench", member: Member) -> None:
        self.node = member.node
        self.member = member
        self._cluster = cluster
        self._connect = broker.connector(member.node)

    @property
    def now_ns(self) -> int:
        return self._cluster.now_ns

    def step(self, until_ns: int) -> bool:
        return self._cluster.step(until_ns)

    def connect(self, *, magic: bool = True) -> Client:
        client = Client(self, self._connect("127.0.0.1:1", self.now_ns))
        if magic:
            client.send(MAGIC)
        return client

    def consumer(self, topic: str, partition: int = 0, *, channel: str = "ch") -> Client:
        client = self.connect()
        assert client.ask(identified("{}")) == "OK"
        assert client.ask(f"SUB {topic} {channel} {partition}\n".encode()) == "OK"
        client.send(b"RDY 100\n")
        return client


class ClusterBench:
    """Nodes at ports 1.., lookup servers at ports 101.., a control."""

    def __init__(
        self,
        nodes: int = 2,
        lookupds: int = 2,
        *,
        dialect: str = PUBLISHED,
        variants: tuple[str, ...] = (),
    ) -> None:
        self.now_ns = START
        behaviour = presets.build(dialect, fault_names=(), variant_names=variants)
        self.members = [
            Member(
                Node(MemoryStorage(), behaviour=behaviour, limits=Limits(), now_ns=START), number
            )
            for number in range(1, nodes + 1)
        ]
        self.cluster = Coordinator(self.members, behaviour)
        for member in self.members:
            member.tcp = ("127.0.0.1", member.number)
            member.http = ("127.0.0.1", 50 + member.number)
        numbers = range(1, lookupds + 1)
        self.servers = tuple(LookupServer(self.cluster, each, Limits()) for each in numbers)
        for server in self.servers:
            server.http = ("127.0.0.1", 100 + server.number)
            server.servers = self.servers
        self.control = Control(self.cluster, self.servers)
        self.nodes = [NodeBench(self, member) for member in self.members]

    def step(self, until_ns: int) -> bool:
        """Go on to the next thing that happens; False when nothing does until then."""
        sources: list[Source] = [*(each.node for each in self.members), *self.servers]
        next_ns = min(each.agenda.due_ns for each in sources)
        if next_ns > until_ns:
            self.now_ns = max(self.now_ns, until_ns)
            return False
        self.now_ns = max(self.now_ns, next_ns)
        for each in sources:
            each.agenda.due_ns = NEVER_NS
            each.run_timers(self.now_ns)
        return True

    def wait(self, seconds: float) -> None:
        until_ns = self.now_ns + int(seconds * SECOND)
        while self.step(until_ns):
            pass

    def ask(
        self, path: str, *, method: str = "GET", v1: bool = True, server: int = 0
    ) -> tuple[int, object]:
        """Return status and JSON of a lookup server's answer; None for an empty body."""
        connect = api.connector(self.servers[server])
        status, _, body = parsed(exchange(connect, self.now_ns, request(method, path, v1=v1)))
        return status, json.loads(body) if body else None

    def post(self, path: str, *, server: int = 0) -> tuple[int, object]:
        return self.ask(path, method="POST", server=server)

    def create(self, name: str, parameters: str = "") -> None:
        """Make a topic of one partition and one copy, or as the parameters say."""
        defaults = "" if "partition_num" in parameters else "&partition_num=1"
        defaults += "" if "replicator" in parameters else "&replicator=1"
        found = self.post(f"/topic/create?topic={name}{defaults}&{parameters}".rstrip("&"))
        assert found == (200, None)

    def order(self, path: str, *, method: str = "POST") -> tuple[int, dict[str, object]]:
        """Return status and JSON of the control's answer."""
        connect = control.connector(self.control)
        status, _, body = parsed(exchange(connect, self.now_ns, request(method, path)))
        return status, cast(dict[str, object], json.loads(body))

    def leader(self, topic: str, partition: int = 0) -> NodeBench:
        """Return the node that a lookup names for a partition."""
        _, found = self.ask(f"/lookup?topic={topic}")
        record = cast(dict[str, dict[str, dict[str, int]]], found)["partitions"][str(partition)]
        return self.nodes[record["tcp_port"] - 1]

    def http(self, node: int, path: str, *, method: str = "POST", body: bytes = b"") -> int:
        """Return the status of a node's answer."""
        connect = http_api.connector(self.members[node].node)
        return parsed(exchange(connect, self.now_ns, request(method, path, body=body)))[0]


def request(method: str, path: str, *, v1: bool = True, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{V1 if v1 else ''}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def exchange(connect: Callable[[str, int], Link], now_ns: int, data: bytes) -> bytes:
    """Return what comes back at once."""
    link = connect("127.0.0.1:1", now_ns)
    link.receive(data, now_ns)
    return link.take_output()


def parsed(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers with lower-case names, and body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body
