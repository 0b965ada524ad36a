"""A client for the lookup servers of a cluster: find topics and leaders, create topics."""

import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.lookup.answer import Leader, Node, TopicInfo, read_nodes, read_topic
from wireproof_kit.nsq.lookup.creations import Creations
from wireproof_kit.nsq.lookup.errors import LookupRequest, Unusable
from wireproof_kit.nsq.lookup.reach import Reach
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.wire.address import is_loopback
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import until
from wireproof_spec.strict_json import JsonValue

EVERY_SECONDS = 0.5

_NUMBER = re.compile(r"[0-9]{1,9}")

# How many partitions of each topic.
Registered = Mapping[str, int]


class Registrations:
    """Caches which partitions are registered with lookup servers, for many waiting threads.

    It asks the servers at most twice a second.
    """

    def __init__(self, servers: Sequence[HttpClient]) -> None:
        self._servers = servers
        self._lock = threading.Lock()
        self._asked = float("-inf")
        self._known: Registered | None = None

    def has(self, name: str, partitions: int) -> bool:
        """Return True if enough partitions are registered, or if no server lists registrations."""
        known = self._list_registered()
        return known is None or known.get(name, 0) >= partitions

    def _list_registered(self) -> Registered | None:
        """Return the registered partitions; None when no server lists them."""
        with self._lock:
            if time.monotonic() - self._asked >= EVERY_SECONDS:
                self._known = self._ask()
                self._asked = time.monotonic()
            return self._known

    def _ask(self) -> Registered | None:
        for server in self._servers:
            data = server.request("GET", "/nodes", v1=True).data
            producers = data.get("producers") if isinstance(data, dict) else None
            nodes = producers if isinstance(producers, list) else []
            telling = [node for node in nodes if isinstance(node, dict) and "partitions" in node]
            if telling:
                led = {entry for node in telling for entry in _entries(node)}
                return Counter(name for name, _ in led)
        return None


def _entries(node: Mapping[str, JsonValue]) -> list[tuple[str, int]]:
    topics = node.get("partitions")
    return [
        (name, int(number))
        for name, numbers in (topics.items() if isinstance(topics, dict) else ())
        for number in (numbers if isinstance(numbers, list) else ())
        if isinstance(number, int | str) and _NUMBER.fullmatch(str(number))
    ]


CREATE_PATHS = ("/topic/create", "/topic/creat")
UPDATE_PATH = "/topic/meta/update"
DELETE_PATH = "/topic/delete"
TOMBSTONE_PATH = "/topic/tombstone"
DISABLE_PATH = "/disable/write"
# The measured lookup server looks after topics once a minute; those made while it looks cost it
# 1.5 s each before it comes to any other, so that 100 of them have taken 184 s to appear.
APPEAR_SECONDS = 330.0
POLL_SECONDS = 0.5
# The measured one looks after what its first attempt left half made once a minute.
REGISTER_SECONDS = 150.0
# So long may all servers give nothing but answers that nobody can use, as while they restart.
UNUSABLE_SECONDS = 10.0


class LookupClient:
    """Sends each request to the first lookup server that can serve it."""

    def __init__(self, servers: Sequence[HttpClient], reach: Reach | None = None) -> None:
        self.servers = tuple(servers)
        self.reach = reach or Reach(server.address[0] for server in servers)
        self.given_up = threading.Event()
        self._doubt = _Doubt()
        self._registrations = Registrations(self.servers)
        self._creations = Creations(self._create)

    def record_to(self, transcript: Transcript) -> "LookupClient":
        """Return a client that records in another transcript."""
        client = LookupClient(
            [server.record_to(transcript) for server in self.servers], self.reach
        )
        client.given_up, client._doubt = self.given_up, self._doubt
        client._creations = self._creations
        return client

    def close(self) -> None:
        """Close the connections that are kept open."""
        for server in self.servers:
            server.close()

    def check_hope(self) -> None:
        """Check that a lookup server gives a usable answer, so that it is worth waiting.

        Raises:
            Unusable: no server gave a usable answer; the message has the answer of the first one.
        """
        if self._doubt.certain is not None:
            raise self._doubt.certain

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        extend: bool = False,
        ordered: bool = False,
    ) -> HttpAnswer:
        """Request the creation of a topic; status 200 does not mean that it exists yet."""
        query = creation_query(
            name, partitions=partitions, replicas=replicas, extend=extend, ordered=ordered
        )
        answer = self._create(query)
        if answer.status != 200 and partitions > 1 and not ordered:
            # Measured: without it a topic needs as many nodes as partitions; no text knows it.
            query["multipart"] = "true"
            answer = self._create(query)
        if answer.status == 200:
            self._creations.add(name, query)
        return answer

    def update_meta(self, name: str, **changes: str) -> HttpAnswer:
        """Change a topic's metadata, such as ``upgradeext="true"``; return the response."""
        return self._post(UPDATE_PATH, {"topic": name, **changes})

    def delete(self, name: str) -> HttpAnswer:
        """Delete a topic with all its partitions, and return the response."""
        self._creations.forget(name)
        return self._post(DELETE_PATH, {"topic": name, "partition": "**"})

    def lookup(self, name: str) -> TopicInfo | None:
        """Look up a topic's partition leaders for publishing; return None if there are none."""
        return self._look(name)[0]

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes listed by the first server that lists any."""
        for server in self.servers:
            try:
                answer = server.request("GET", "/nodes", v1=True)
                nodes = read_nodes(answer, LookupRequest(server.address, "GET /nodes"))
            except Unusable:
                continue
            if admitted := self.reach.admit(server.address, nodes):
                return admitted
        return ()

    def confine_to_loopback(self) -> bool:
        """Contact only nodes on loopback from now on; return False if others are named already."""
        for server in self.servers:
            answer = server.request("GET", "/nodes", v1=True)
            try:
                nodes = read_nodes(answer, LookupRequest(server.address, "GET /nodes"))
            except Unusable:
                continue
            if not all(is_loopback(node.address[0]) for node in nodes):
                return False
        self.reach.confine()
        return True

    def wait_for(
        self,
        name: str,
        *,
        near: Address,
        partitions: int,
        least: int = 1,
        seconds: float = APPEAR_SECONDS,
    ) -> tuple[Leader, ...]:
        """Wait until ``least`` partitions have leaders, one of them the node at ``near``.

        Once all ``partitions`` have leaders, the node at ``near`` need not be one. Return the
        leaders, beginning with the one at ``near``.

        Raises:
            ArrangementFailed: the leaders did not appear in time, or no server answers usably.
        """
        most = 0

        def look() -> tuple[Leader, ...] | None:
            nonlocal most
            asked_at = time.monotonic()
            info, fault = self._look(name)
            self._doubt.weigh(fault, asked_at=asked_at)
            leaders = info.leaders if info else ()
            most = max(most, len(leaders))
            nearest = sorted(leaders, key=lambda each: not is_same(each.address, near))
            is_near = bool(nearest) and is_same(nearest[0].address, near)
            enough = least if is_near else max(least, partitions)
            return tuple(nearest) if len(nearest) >= max(1, enough) else None

        leaders = until(look, seconds=seconds, every=POLL_SECONDS, given_up=self.given_up)
        if leaders is None and most:
            raise ArrangementFailed(
                f"of topic {name} only {most} of {partitions} partitions are led"
            )
        if leaders is None:
            raise ArrangementFailed(f"topic {name} did not appear in {seconds:g} s")
        return leaders

    def wait_until_registered(
        self, name: str, *, partitions: int, seconds: float = REGISTER_SECONDS
    ) -> bool:
        """Wait until nodes have registered enough partitions; return False if time runs out.

        Before that, nodes may refuse messages. Requests that create topics are repeated from time
        to time.
        """

        def look() -> bool | None:
            if self._registrations.has(name, partitions):
                return True
            self.remind(name)
            return None

        return bool(until(look, seconds=seconds, every=POLL_SECONDS, given_up=self.given_up))

    def remind(self, name: str) -> None:
        """Make the lookup servers check a topic again, at most once every few seconds."""
        self._creations.remind(name)

    def wait_for_extend(self, name: str, *, seconds: float = APPEAR_SECONDS) -> bool:
        """Wait until a topic's metadata has extend_support; return False if it never does."""

        def look() -> TopicInfo | None:
            info = self.lookup(name)
            return info if info and info.meta.get("extend_support") is True else None

        return until(look, seconds=seconds, every=POLL_SECONDS, given_up=self.given_up) is not None

    def node_count(self) -> int:
        """Return the number of registered nodes; 1 when it is unknown."""
        return self.listed_nodes() or 1

    def listed_nodes(self) -> int | None:
        """Return the number of nodes that a lookup server lists; None when none lists any."""
        for server in self.servers:
            data = server.request("GET", "/nodes", v1=True).data
            producers = data.get("producers") if isinstance(data, dict) else None
            if isinstance(producers, list) and producers:
                return len(producers)
        return None

    def _look(self, name: str) -> tuple[TopicInfo | None, Unusable | None]:
        """Look the topic up on one server after another; also return why none could answer.

        A server that refuses to name anybody for writing, perhaps because it wants a channel
        first, is asked for reading.
        """
        faults: list[Unusable] = []
        for server in self.servers:
            try:
                info = self._info(server, name)
            except Unusable as fault:
                faults.append(fault)
                continue
            if info.leaders:
                return info, None
            if info.is_disabled:
                faults.append(
                    _describe_request(server, name).unusable("names nobody, writing is disabled")
                )
        return None, faults[0] if len(faults) == len(self.servers) > 0 else None

    def _info(self, server: HttpClient, name: str) -> TopicInfo:
        """Return a server's lookup answer, with the leaders that may be contacted."""
        info = _info(server, name)
        return replace(info, leaders=self.reach.admit(server.address, info.leaders))

    def _create(self, query: Mapping[str, str | int]) -> HttpAnswer:
        answer = self._post(CREATE_PATHS[0], query)
        return self._post(CREATE_PATHS[1], query) if answer.status == 404 else answer

    def _post(self, path: str, query: Mapping[str, str | int]) -> HttpAnswer:
        """POST to one server after another until one accepts; slaves refuse in any wording.

        When none does, the answer is the last that does not speak of leaders, if there is one.
        """
        answers: list[HttpAnswer] = []
        for server in self.servers:
            answers.append(server.request("POST", path, query=query, v1=True))
            if answers[-1].status == 200:
                return answers[-1]
        return best_refusal(answers)


def creation_query(
    name: str, *, partitions: int, replicas: int = 1, extend: bool, ordered: bool
) -> dict[str, str | int]:
    """Return the query parameters of the HTTP request that creates a topic."""
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
    """GET /lookup for a topic from one lookup server, and return the response."""
    query = {"topic": name, "access": access}
    if metainfo:
        query["metainfo"] = "true"
    return server.request("GET", "/lookup", query=query, v1=True)


def best_refusal(answers: Sequence[HttpAnswer]) -> HttpAnswer:
    """Return the most informative of several refusals: one other than "not the leader", if any."""

    def worth(answer: HttpAnswer) -> tuple[bool, bool]:
        return answer.failure is None, "leader" not in answer.code.lower()

    return max(answers, key=worth)


def is_same(one: Address, other: Address) -> bool:
    """Return True if two addresses are equal; all loopback names count as one host."""
    if one[1] != other[1] or one[0] == other[0]:
        return one == other
    return is_loopback(one[0]) and is_loopback(other[0])


def home_of(address: Address, topics: Sequence[Topic]) -> Address:
    """Return a target's address, or that of the first topic's leader if it leads none of them."""
    if not topics or any(is_same(topic.address, address) for topic in topics):
        return address
    return topics[0].address


def _describe_request(server: HttpClient, name: str) -> LookupRequest:
    return LookupRequest(server.address, f"GET /lookup?topic={name}")


def _info(server: HttpClient, name: str) -> TopicInfo:
    """Return a server's lookup answer; empty while the server does not know the topic.

    Raises:
        Unusable: the server refuses for another reason, or its answer is unusable.
    """
    answer = ask_lookup(server, name, access="w")
    if answer.status >= 400:
        answer = ask_lookup(server, name, access="r")
    if answer.status == 404:
        return TopicInfo(leaders=(), meta={})
    return read_topic(answer, _describe_request(server, name))


class _Doubt:
    """Ends waiting once every server has given only unusable answers for some time.

    All waits share it, so that only the first of them takes that time.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self.certain: Unusable | None = None

    def weigh(self, fault: Unusable | None, *, asked_at: float) -> None:
        if fault is None:
            self._since = self.certain = None
            return
        since = self._since = asked_at if self._since is None else self._since
        if time.monotonic() - since >= UNUSABLE_SECONDS:
            self.certain = fault
            raise fault
