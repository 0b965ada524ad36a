"""Finds the nodes of a cluster through its lookup servers alone."""

import time
from collections.abc import Iterator, Sequence

from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.lookup.answer import Node, read_nodes, read_topic, read_topics
from wireproof_kit.nsq.lookup.errors import LookupRefused, LookupRequest, Unusable, read_payload
from wireproof_kit.nsq.lookup.reach import Reach
from wireproof_kit.nsq.topics.topic import Address
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient, path_with_query
from wireproof_kit.wire.address import format_address
from wireproof_kit.wire.transcript import Transcript

DISCOVERY_SECONDS = 15.0
ANSWER_SECONDS = 5.0
MOST_TOPICS = 20
# What any lookup server says something to; the published text names only the last two.
SMALL_QUESTIONS = ("/nodes", "/listlookup", "/lookup?topic=none&access=r&metainfo=true")


def discover(
    servers: Sequence[Address],
    *,
    seconds: float = DISCOVERY_SECONDS,
    reach: Reach | None = None,
) -> tuple[Node, ...]:
    """Return the distinct nodes registered with the lookup servers, in their order.

    ``reach`` decides which of them may be contacted; the others are left out.

    Each server is asked for /nodes and, if that names none, for its topics and their producers.
    Only the given addresses are asked, and no longer than ``seconds``.

    Raises:
        TargetUnreachable: no server accepts a connection.
        ArrangementFailed: no server names a node that may be contacted; the message has the answer
            of the first one.
    """
    search = _Search(time.monotonic() + seconds)
    reach = reach or Reach(host for host, _ in servers)
    found: dict[Address, Node] = {}
    left_out: dict[Address, Node] = {}
    for server in servers:
        nodes = search.nodes_of(server)
        left_out.update((node.address, node) for node in nodes)
        for node in reach.admit(server, nodes):
            found.setdefault(node.address, node)
    if found:
        return tuple(found.values())
    if left_out:
        names = ", ".join(printable(format_address(address)) for address in left_out)
        raise ArrangementFailed(
            f"the kit may not contact the nodes that the lookup servers name ({names}); "
            "name a node in the URL if it belongs to the target"
        )
    raise search.failure(servers)


def check_servers(servers: Sequence[Address], *, seconds: float = DISCOVERY_SECONDS) -> None:
    """Check that at least one server answers like a lookup server.

    Raises:
        TargetUnreachable: no server accepts a connection.
        ArrangementFailed: no server answers so; the message has the answer of the first one.
    """
    search = _Search(time.monotonic() + seconds)
    if not any(search.speaks(server) for server in servers):
        raise search.failure(servers)


class _Search:
    """One discovery: its remaining time, and the reasons why servers could not be used."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._faults: dict[Address, Unusable] = {}
        self._unreachable: set[Address] = set()

    def nodes_of(self, server: Address) -> tuple[Node, ...]:
        """Return the nodes that one server lists; none when the server cannot be used."""
        try:
            asked = LookupRequest(server, "GET /nodes")
            return read_nodes(self._ask(server, "/nodes"), asked) or self._by_topics(server)
        except Unusable as fault:
            self._faults.setdefault(server, fault)
        if server in self._unreachable:
            return ()
        try:
            return self._by_topics(server)
        except Unusable:
            return ()

    def speaks(self, server: Address) -> bool:
        """Return True if a server answers a simple request in JSON, with success or an error."""
        try:
            return any(self._has_word(server, target) for target in SMALL_QUESTIONS)
        except Unusable as fault:
            self._faults.setdefault(server, fault)
            return False

    def failure(self, servers: Sequence[Address]) -> Exception:
        """Return the error that explains why the discovery failed."""
        names = ", ".join(LookupRequest(server, "").text for server in servers)
        if self._unreachable == set(servers):
            return TargetUnreachable(
                f"cannot reach any lookup server at {names}: no connection is accepted; "
                "is an nsqlookupd running there, and is it its HTTP port?"
            )
        for server in servers:
            if server in self._faults and server not in self._unreachable:
                return ArrangementFailed(str(self._faults[server]))
        return ArrangementFailed(
            f"lookup servers {names} know no node; is a node running that registers with them?"
        )

    def _has_word(self, server: Address, target: str) -> bool:
        answer = self._ask(server, target)
        try:
            read_payload(answer, LookupRequest(server, f"GET {target}"))
        except Unusable as fault:
            if answer.failure is not None:
                raise
            self._faults.setdefault(server, fault)
            return isinstance(fault, LookupRefused) and bool(answer.code)
        return True

    def _by_topics(self, server: Address) -> tuple[Node, ...]:
        return tuple(node for nodes in self._producers(server) for node in nodes)

    def _producers(self, server: Address) -> Iterator[tuple[Node, ...]]:
        topics = read_topics(self._ask(server, "/topics"), LookupRequest(server, "GET /topics"))
        for topic in topics[:MOST_TOPICS]:
            target = path_with_query("/lookup", {"topic": topic})
            yield read_topic(
                self._ask(server, target), LookupRequest(server, f"GET {target}")
            ).nodes

    def _ask(self, server: Address, target: str) -> HttpAnswer:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise LookupRequest(server, f"GET {target}").unusable(
                "came too late, the time was over"
            )
        seconds = min(left, ANSWER_SECONDS)
        client = HttpClient(server, transcript=Transcript(), seconds=seconds)
        answer = client.request("GET", target, v1=True)
        if answer.failure == "unreachable":
            self._unreachable.add(server)
        return answer
