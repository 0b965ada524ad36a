"""The lookup servers of a cluster: what topics it has, who leads them, and how to make more."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.http import HttpAnswer, HttpClient
from wireproof_kit.nsq.topics import Address
from wireproof_kit.nsq.waiting import until
from wireproof_kit.transcript import Transcript
from wireproof_spec.strict_json import JsonValue

CREATE_PATHS = ("/topic/create", "/topic/creat")
UPDATE_PATH = "/topic/meta/update"
DELETE_PATH = "/topic/delete"
# The measured lookup server looks after topics once a minute; those made while it looks cost it
# 1.5 s each before it comes to any other, so that 100 of them have taken 184 s to appear.
APPEAR_SECONDS = 330.0
POLL_SECONDS = 0.5
NO_CHANNEL = "has no channel"
LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Leader:
    """The node that leads a partition."""

    partition: int
    address: Address
    http_address: Address | None


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A lookup answer: the partitions that can be reached, and the topic's meta."""

    leaders: tuple[Leader, ...]
    meta: Mapping[str, JsonValue]


class LookupClient:
    """Several lookup servers as one: each step goes to the first that can do it."""

    def __init__(self, servers: Sequence[HttpClient]) -> None:
        self.servers = tuple(servers)
        self.given_up = threading.Event()

    def recording(self, transcript: Transcript) -> "LookupClient":
        """Return the client that records in another transcript."""
        return LookupClient([server.recording(transcript) for server in self.servers])

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        extend: bool = False,
        ordered: bool = False,
    ) -> HttpAnswer:
        """Ask for a topic; 200 does not say yet that it has appeared."""
        query = creation_query(
            name, partitions=partitions, replicas=replicas, extend=extend, ordered=ordered
        )
        answer = self._post(CREATE_PATHS[0], query)
        return self._post(CREATE_PATHS[1], query) if answer.status == 404 else answer

    def update_meta(self, name: str, **changes: str) -> HttpAnswer:
        """Change a topic's meta, e.g. ``upgradeext="true"``."""
        return self._post(UPDATE_PATH, {"topic": name, **changes})

    def delete(self, name: str) -> HttpAnswer:
        """Delete a topic with all its partitions."""
        return self._post(DELETE_PATH, {"topic": name, "partition": "**"})

    def lookup(self, name: str) -> TopicInfo | None:
        """Return who leads a topic for writing; None when nobody does yet.

        A server that wants a channel first, before it names anybody for writing, is asked for
        reading.
        """
        for server in self.servers:
            answer = ask_lookup(server, name, access="w")
            if answer.status == 404 and NO_CHANNEL in answer.code:
                answer = ask_lookup(server, name, access="r")
            info = read_lookup(answer)
            if info is not None and info.leaders:
                return info
        return None

    def wait_for(
        self, name: str, *, near: Address, partitions: int, seconds: float = APPEAR_SECONDS
    ) -> Leader:
        """Wait until a partition is led, best by the node at ``near``; return its leader.

        Raises:
            ArrangementFailed: none appeared in time.
        """

        def look() -> Leader | None:
            info = self.lookup(name)
            if info is None:
                return None
            nearest = [leader for leader in info.leaders if is_same(leader.address, near)]
            if nearest:
                return nearest[0]
            return info.leaders[0] if len(info.leaders) >= partitions else None

        leader = until(look, seconds=seconds, every=POLL_SECONDS, given_up=self.given_up)
        if leader is None:
            raise ArrangementFailed(f"topic {name} did not appear in {seconds:g} s")
        return leader

    def wait_for_extend(self, name: str, *, seconds: float = APPEAR_SECONDS) -> bool:
        """Wait until a topic's meta says extend_support; False when it never does."""

        def look() -> TopicInfo | None:
            info = self.lookup(name)
            return info if info and info.meta.get("extend_support") is True else None

        return until(look, seconds=seconds, every=POLL_SECONDS, given_up=self.given_up) is not None

    def node_count(self) -> int:
        """Return how many nodes are registered; 1 when that cannot be learned."""
        for server in self.servers:
            data = server.request("GET", "/nodes", v1=True).data
            producers = data.get("producers") if isinstance(data, dict) else None
            if isinstance(producers, list) and producers:
                return len(producers)
        return 1

    def _post(self, path: str, query: Mapping[str, str | int]) -> HttpAnswer:
        """Post to the first server that is the leader and reachable."""
        for server in self.servers[:-1]:
            answer = server.request("POST", path, query=query, v1=True)
            if answer.failure is None and "leader" not in answer.code.lower():
                return answer
        return self.servers[-1].request("POST", path, query=query, v1=True)


def creation_query(
    name: str, *, partitions: int, replicas: int = 1, extend: bool, ordered: bool
) -> dict[str, str | int]:
    """Return the parameters that create a topic."""
    query: dict[str, str | int] = {
        "topic": name,
        "partition_num": partitions,
        "replicator": replicas,
    }
    if extend:
        query["extend"] = "true"
    if ordered:
        query["orderedmulti"] = "true"
    return query


def ask_lookup(
    server: HttpClient, name: str, *, access: str = "r", metainfo: bool = True
) -> HttpAnswer:
    """Ask one server for a topic."""
    query = {"topic": name, "access": access}
    if metainfo:
        query["metainfo"] = "true"
    return server.request("GET", "/lookup", query=query, v1=True)


def read_lookup(answer: HttpAnswer) -> TopicInfo | None:
    """Read a lookup answer; None when it is none."""
    data = answer.data
    if answer.status != 200 or not isinstance(data, dict):
        return None
    partitions = data.get("partitions")
    nodes = partitions if isinstance(partitions, dict) else {}
    leaders = [_leader(number, node) for number, node in sorted(nodes.items())]
    meta = data.get("meta")
    return TopicInfo(
        leaders=tuple(leader for leader in leaders if leader is not None),
        meta=meta if isinstance(meta, dict) else {},
    )


def is_same(one: Address, other: Address) -> bool:
    """Tell whether two addresses are one; all names of the loopback are."""
    both_loopback = one[0].startswith(LOOPBACK) and other[0].startswith(LOOPBACK)
    return one[1] == other[1] and (one[0] == other[0] or both_loopback)


def _leader(number: str, node: JsonValue) -> Leader | None:
    if not isinstance(node, dict) or not number.isdecimal():
        return None
    host, port, http_port = (node.get(k) for k in ("broadcast_address", "tcp_port", "http_port"))
    if not isinstance(host, str) or not isinstance(port, int):
        return None
    http = (host, int(http_port)) if isinstance(http_port, int) and http_port else None
    return Leader(int(number), (host, port), http)
