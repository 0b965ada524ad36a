"""Operations of a case on a cluster, and their reversal at the end of the case.

Leaders are moved and writing is disabled by what real lookup servers offer, or by a control API
where there is one; partitions are made unwritable, nodes taken away and lookups distorted by a
control API only. What the target does not offer raises ArrangementFailed with what it answered.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.lookup.answer import Node, TopicInfo, read_topic
from wireproof_kit.nsq.lookup.errors import LookupRequest, Unusable
from wireproof_kit.nsq.lookup.servers import DISABLE_PATH, LookupClient, ask_lookup, is_same
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire.address import format_address
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import until
from wireproof_spec.strict_json import JsonValue

MOVE_PATH = "/topic/partition/move"
# The measured lookup server refuses to move anything while it checks its topics.
BUSY = ("unstable", "balance")
MISSING = "MISSING_ARG"
# Measured clusters took up to 90 s to show a new partition; after 120 s a case is given up.
SETTLE_SECONDS = 110.0
POLL_SECONDS = 0.2


class Cluster:
    """One case's access to an NSQ cluster; closing it reverses every change that the case made."""

    def __init__(
        self,
        *,
        lookup: LookupClient | None,
        control: HttpClient | None,
        transcript: Transcript,
        patience: Patience,
    ) -> None:
        self._lookup = lookup.record_to(transcript) if lookup else None
        self._quiet = lookup.record_to(Transcript()) if lookup else None
        self._control = control.record_to(transcript) if control else None
        self._patience = patience
        self._mends: list[Callable[[], object]] = []

    @property
    def lookup(self) -> LookupClient:
        """Return the client of the cluster's lookup servers.

        Raises:
            ArrangementFailed: no lookup server was given.
        """
        if self._lookup is None:
            raise ArrangementFailed("no lookup server of the target is known; give --lookupd")
        return self._lookup

    @property
    def control(self) -> HttpClient:
        """Return the client of the control API.

        Raises:
            ArrangementFailed: no control API was given.
        """
        if self._control is None:
            raise ArrangementFailed("the target offers no control API; give --control")
        return self._control

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes that the lookup servers list."""
        return self.lookup.nodes()

    def elsewhere(self, topic: Topic) -> Topic:
        """Return the topic with the address of a node that does not lead it.

        Raises:
            ArrangementFailed: there is no other node.
        """
        others = self.others(topic)
        if not others:
            raise ArrangementFailed("the cluster has no node besides the leader")
        return others[0]

    def others(self, topic: Topic) -> list[Topic]:
        """Return the topic once for each node that does not lead it, with that node's address."""
        nodes = [node for node in self.nodes() if not is_same(node.address, topic.address)]
        return [
            replace(topic, address=node.address, http_address=node.http_address) for node in nodes
        ]

    def leader_of(self, topic: Topic, *, access: str = "r") -> Topic | None:
        """Return the topic with the address of its present leader; None when lookups name none."""
        return self._leader(self.lookup, topic, access)

    def move_leader(self, topic: Topic) -> Topic:
        """Move the partition's leadership to another node; return the topic with that address.

        Raises:
            ArrangementFailed: the move failed; the message has the answer.
        """
        self.begin_move(topic)
        moved = self.next_leader(topic)
        if moved is None:
            raise ArrangementFailed(f"no lookup named another leader of {topic.name}")
        return moved

    def move_offer(self) -> HttpAnswer | None:
        """Ask whether the target can move leaders; return None, or the response that refuses."""
        if self._control is not None:
            answer = self.control.request("GET", "/control/state")
            return None if answer.status == 200 else answer
        answer = self.lookup.servers[0].request("POST", MOVE_PATH, v1=True)
        return None if MISSING in answer.code else answer

    def begin_move(self, topic: Topic) -> None:
        """Request another leader for a partition; lookups may name the new leader only later.

        Raises:
            ArrangementFailed: the request failed; the message has the answer.
        """
        if self._control is not None:
            self._order("leader", topic=topic.name, partition=topic.partition)
        else:
            self._move_by_lookup(topic, self.elsewhere(topic))

    def next_leader(self, topic: Topic, *, access: str = "r") -> Topic | None:
        """Wait until lookups name a new leader; return the topic with its address, or None."""

        def look() -> Topic | None:
            leader = self._leader(self._quiet, topic, access) if self._quiet else None
            moved = leader is not None and not is_same(leader.address, topic.address)
            return leader if moved else None

        found = until(look, seconds=self._seconds(), every=POLL_SECONDS)
        return found and (self._leader(self.lookup, topic, access) or found)

    def make_unwritable(self, topic: Topic) -> None:
        """Make a partition reject messages until the case ends."""
        self._order("writable", topic=topic.name, partition=topic.partition, writable="false")
        self._mends.append(lambda: self.make_writable(topic))

    def make_writable(self, topic: Topic) -> None:
        """Make a partition accept messages again."""
        self._order("writable", topic=topic.name, partition=topic.partition, writable="true")

    def node_down(self, topic: Topic) -> None:
        """Stop the node at the topic's address until the case ends."""
        self._order("node", node=format_address(topic.address), state="down")
        self._mends.append(lambda: self.node_up(topic))

    def node_up(self, topic: Topic) -> None:
        """Start the node at the topic's address again."""
        self._order("node", node=format_address(topic.address), state="up")

    def disable_writes(self, which: str = "all") -> None:
        """Make lookups for writing return no nodes until the case ends.

        ``which`` is ``all`` topics or only ``ordered`` ones.
        """
        self._mends.append(self.enable_writes)
        answers = [
            server.request("POST", DISABLE_PATH, query={"type": which}, v1=True)
            for server in self.lookup.servers
        ]
        if all(answer.status != 200 for answer in answers):
            raise _make_failure(f"POST {DISABLE_PATH}", answers[0])

    def enable_writes(self) -> None:
        """Make lookups for writing return nodes again."""
        for server in self.lookup.servers:
            server.request("POST", DISABLE_PATH, query={"type": "none"}, v1=True)

    def lookup_answers(self, server: Address, answer: str, *, delay_ms: int = 0) -> None:
        """Make a lookup server answer wrongly, slowly or not at all until the case ends."""
        delay = {"delay_ms": delay_ms} if delay_ms else {}
        self._mends.append(
            lambda: self._order("lookup", lookupd=format_address(server), answer="right")
        )
        self._order("lookup", lookupd=format_address(server), answer=answer, **delay)

    def close(self) -> None:
        """Reverse all changes made by the case, the last one first; errors are ignored."""
        while self._mends:
            try:
                self._mends.pop()()
            except ArrangementFailed:
                continue

    def _order(self, what: str, **query: str | int) -> HttpAnswer:
        answer = self.control.request("POST", f"/control/{what}", query=query)
        if answer.status != 200:
            raise _make_failure(f"POST /control/{what}", answer)
        return answer

    def _move_by_lookup(self, topic: Topic, to: Topic) -> None:
        """Request the move from the master lookup server, and retry while it is busy."""
        query = {
            "topic": topic.name,
            "partition": topic.partition,
            "move_leader": "true",
            "move_from": self._node_id(topic.address),
            "move_to": self._node_id(to.address),
        }

        def ask() -> HttpAnswer | None:
            answers = [
                server.request("POST", MOVE_PATH, query=query, v1=True)
                for server in self.lookup.servers
            ]
            done = [answer for answer in answers if answer.status == 200]
            if not done and any(word in answer.code for answer in answers for word in BUSY):
                self.lookup.remind(topic.name)
                return None
            return (done or answers)[0]

        answer = until(ask, seconds=SETTLE_SECONDS, every=1.0)
        if answer is None:
            raise ArrangementFailed(f"the cluster was not stable within {SETTLE_SECONDS:g} s")
        if answer.status != 200:
            raise _make_failure(f"POST {MOVE_PATH}", answer)

    def _node_id(self, address: Address) -> str:
        """Return the id that lookup servers use for a node, found among the partitions it leads.

        Raises:
            ArrangementFailed: the node leads nothing.
        """
        for record in self._producers():
            topics = record.get("topics")
            if record.get("tcp_port") != address[1] or not isinstance(topics, list):
                continue
            for name in topics:
                id = self._id_in(str(name), address)
                if id:
                    return id
        raise ArrangementFailed(
            f"nothing is led by {format_address(address)}, so its id is not known"
        )

    def _producers(self) -> list[Mapping[str, JsonValue]]:
        data = self.lookup.servers[0].request("GET", "/nodes", v1=True).data
        producers = data.get("producers") if isinstance(data, dict) else None
        records = producers if isinstance(producers, list) else []
        return [record for record in records if isinstance(record, dict)]

    def _id_in(self, name: str, address: Address) -> str:
        data = ask_lookup(self.lookup.servers[0], name).data
        producers = data.get("producers") if isinstance(data, dict) else None
        for record in producers if isinstance(producers, list) else []:
            if isinstance(record, dict) and record.get("tcp_port") == address[1]:
                return str(record.get("distributed_id") or "")
        return ""

    def _leader(self, lookup: LookupClient, topic: Topic, access: str) -> Topic | None:
        for server in lookup.servers:
            info = _info(server, topic.name, access)
            leaders = lookup.reach.admit(server.address, info.leaders) if info else ()
            for leader in leaders:
                if leader.partition == topic.partition:
                    http = leader.http_address
                    return replace(topic, address=leader.address, http_address=http)
        return None

    def _seconds(self) -> float:
        return self._patience.settling_seconds()


def _info(server: HttpClient, name: str, access: str) -> TopicInfo | None:
    answer = ask_lookup(server, name, access=access)
    try:
        return read_topic(answer, LookupRequest(server.address, f"GET /lookup?topic={name}"))
    except Unusable:
        return None


def _make_failure(what: str, answer: HttpAnswer) -> ArrangementFailed:
    said = f", {answer.code}" if answer.code else ""
    return ArrangementFailed(f"{what} was answered {observe_http(answer).describe()}{said}")
