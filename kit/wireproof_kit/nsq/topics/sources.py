"""The methods of obtaining a topic, in the order in which they are tried."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from wireproof_kit.errors import ArrangementFailed, UsageFault
from wireproof_kit.nsq.lookup.servers import (
    CREATE_PATHS,
    DELETE_PATH,
    UPDATE_PATH,
    LookupClient,
    creation_query,
)
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.topics.topic import Address, LedPartition, Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq.error_codes import E_SUB_ORDER_IS_MUST

PREFIX = "wp_"
# The measured lookup server makes topics within 2 s while few are asked for at once. Of many, its
# watch over incomplete topics holds up each one it finds half made: 400 have taken 7 minutes.
CREATING = 8

GONE = (200, 404)
"""Statuses of a deletion after which the topic is there no longer."""


@dataclass(frozen=True, slots=True)
class TopicKind:
    """The properties of a topic that a case needs; a ``shared`` topic is used by many cases.

    ``partitions`` is the least number of partitions, ``replicas`` the number of nodes for each.
    """

    extend: bool = False
    ordered: bool = False
    shared: bool = False
    upgradable: bool = False
    upgraded: bool = False
    partitions: int = 1
    replicas: int = 1

    @property
    def words(self) -> str:
        """Return the kind as words of a sentence."""
        return f"{'ordered ' if self.ordered else ''}{'ext' if self.extend else 'plain'} topic"


KINDS: Mapping[str, TopicKind] = {
    "ext_topic": TopicKind(extend=True, shared=True),
    "plain_topic": TopicKind(shared=True),
    "fresh_ext_topic": TopicKind(extend=True),
    "other_fresh_ext_topic": TopicKind(extend=True),
    "fresh_plain_topic": TopicKind(),
    "fresh_ordered_topic": TopicKind(ordered=True),
    "fresh_ordered_ext_topic": TopicKind(extend=True, ordered=True),
    "upgradable_topic": TopicKind(upgradable=True),
    "shared_partitioned_topic": TopicKind(shared=True, partitions=2),
    "shared_partitioned_ext_topic": TopicKind(extend=True, shared=True, partitions=2),
    "shared_partitioned_ordered_topic": TopicKind(ordered=True, shared=True, partitions=2),
    "shared_replicated_topic": TopicKind(shared=True, replicas=2),
    "partitioned_topic": TopicKind(partitions=3),
    "partitioned_ext_topic": TopicKind(extend=True, partitions=3),
    "partitioned_ordered_topic": TopicKind(ordered=True, partitions=3),
    "replicated_topic": TopicKind(replicas=2),
    "replicated_ext_topic": TopicKind(extend=True, replicas=2),
    # Of these the leader is moved, by cases that run alone: a real cluster moves nothing until it
    # has looked through its topics after one was made.
    # A bug may sit in a partition that is neither the first nor the last, or the second.
    "wide_topic": TopicKind(shared=True, partitions=3),
    "wide_ext_topic": TopicKind(extend=True, shared=True, partitions=3),
    "wide_upgraded_topic": TopicKind(upgraded=True, shared=True, partitions=3),
    "fresh_wide_topic": TopicKind(partitions=3),
    "fresh_wide_ext_topic": TopicKind(extend=True, partitions=3),
    "fresh_wide_upgraded_topic": TopicKind(upgraded=True, partitions=3),
    "fresh_wide_ordered_topic": TopicKind(ordered=True, partitions=3),
    "fresh_wide_ordered_ext_topic": TopicKind(extend=True, ordered=True, partitions=3),
    "wide_ordered_topic": TopicKind(ordered=True, shared=True, partitions=3),
    "wide_ordered_ext_topic": TopicKind(extend=True, ordered=True, shared=True, partitions=3),
    "movable_topic": TopicKind(shared=True, replicas=2),
    "movable_ordered_topic": TopicKind(ordered=True, shared=True, replicas=2),
}

FEWEST = 2
"""The partitions of a topic of several, on a target that makes no more."""


@dataclass(frozen=True, slots=True)
class ReachableServices:
    """The services of a target by which topics can be created.

    These are the broker's port, with a function that connects and logs in, and the HTTP API and
    the lookup servers if they are known.
    """

    address: Address
    connect: Callable[[Transcript], Connection]
    http: HttpClient | None
    lookup: LookupClient | None
    transcript: Transcript = field(default_factory=Transcript)

    def record_to(self, transcript: Transcript) -> "ReachableServices":
        """Return the same services, recorded in another transcript."""
        return replace(
            self,
            http=self.http.record_to(transcript) if self.http else None,
            lookup=self.lookup.record_to(transcript) if self.lookup else None,
            transcript=transcript,
        )


class TopicMaker:
    """Creates, upgrades and deletes topics with the first method that the target accepts.

    ``given`` are topics the user named, NAME or NAME:PARTITION, by the name of their kind; see
    `check_given`.
    """

    def __init__(
        self, around: ReachableServices, *, run_token: str, given: Mapping[str, str] | None = None
    ) -> None:
        self._around = around
        self._given = dict(given or {})
        self._prefix = f"{PREFIX}{run_token}"
        # The measured lookup server refuses an upgrade while it is busy with another one.
        self._upgrading = threading.Lock()
        self._creating = threading.BoundedSemaphore(CREATING)
        self._nodes = around.lookup.node_count() if around.lookup else 1

    def name(self, number: int) -> str:
        """Return the name of the run's topic, by its number."""
        return f"{self._prefix}_{number}"

    def make(self, argument: str, name: str) -> Topic:
        """Create or find a topic of the kind that the name of a case's argument means.

        Raises:
            ArrangementFailed: no method led to a topic; the message has the result of each.
        """
        kind = KINDS[argument]
        if argument in self._given:
            return self._use_named(kind, self._given[argument])
        around = self._around.record_to(transcript := Transcript())
        try:
            topic = self._make(kind, name, around)
            if kind.ordered:
                _check_ordered(topic, around)
            if kind.upgraded:
                topic = self._upgrade(topic, transcript)
        except ArrangementFailed as error:
            hint = f"{error}; --topic {argument}=NAME names one that is there"
            raise ArrangementFailed(hint, transcript) from error
        return topic

    def _make(self, kind: TopicKind, name: str, around: "ReachableServices") -> Topic:
        if around.lookup is not None:
            return self._by_lookup(kind, name, around.lookup)
        tried: list[str] = []
        for way in (self._by_tcp, self._by_http):
            made = way(kind, name, around)
            if isinstance(made, Topic):
                return made
            tried.append(made)
        raise ArrangementFailed(f"no way to a fresh {kind.words}: {'; '.join(tried)}")

    def _upgrade(self, topic: Topic, transcript: Transcript) -> Topic:
        """Upgrade a topic that was made plain.

        Raises:
            ArrangementFailed: the target does not upgrade it.
        """
        answer = self.upgrade(topic, transcript)
        if answer.status != 200:
            raise ArrangementFailed(f"the upgrade: {observe_http(answer).describe()}")
        return replace(topic, extend=True)

    def upgrade(self, topic: Topic, transcript: Transcript) -> HttpAnswer:
        """Request extend support for an old topic and wait until lookups show it.

        Return the response to the request. The request is recorded in the case's transcript; the
        wait is not.

        Raises:
            ArrangementFailed: neither a lookup server nor an HTTP address is known.
        """
        around = self._around
        if around.lookup is not None:
            with self._upgrading:
                lookup = around.lookup.record_to(transcript)
                answer = lookup.update_meta(topic.name, upgradeext="true")
            if answer.status == 200:
                around.lookup.wait_for_extend(topic.name)
            return answer
        if around.http is None:
            raise ArrangementFailed("upgrading needs a lookup server or the broker's HTTP API")
        query = {"topic": topic.name, "upgradeext": "true"}
        client = around.http.at(topic.http_address).record_to(transcript)
        return client.request("POST", UPDATE_PATH, query=query)

    def future(self, name: str) -> Topic:
        """Return a topic that a case will create itself, so that the kit can delete it."""
        way = "lookupd" if self._around.lookup else "http"
        return self._topic(KINDS["plain_topic"], name, way, self._own_places(0))

    def delete(self, topic: Topic) -> bool:
        """Delete a topic of this run; return True if the target has it no longer."""
        if not topic.name.startswith(self._prefix):
            return True
        if self._around.lookup is not None:
            answer = self._around.lookup.delete(topic.name)
        elif self._around.http is not None:
            query = {"topic": topic.name, "partition": "**"}
            answer = self._around.http.request("POST", DELETE_PATH, query=query)
        else:
            return False
        return answer.status in GONE

    def _use_named(self, kind: TopicKind, text: str) -> Topic:
        """Return a topic that the user named."""
        name, _, partition = text.partition(":")
        lookup = self._around.lookup
        if lookup is None or partition:
            return self._topic(kind, name, "given", self._own_places(int(partition or 0)))
        return self._topic(kind, name, "given", self._places(name, 1, self._nodes, lookup))

    def _by_lookup(self, kind: TopicKind, name: str, lookup: LookupClient) -> Topic:
        """Create the topic on every node, so that the target leads one of its partitions.

        One that is to be copied has a single partition: there may be no room for more.
        """
        wanted = 1 if kind.replicas > 1 else max(self._nodes, kind.partitions)
        partitions = self._request(kind, name, lookup, wanted)
        lookup = self._around.lookup or lookup  # the waiting is not recorded
        lookup.wait_until_registered(name, partitions=partitions)
        try:
            least = partitions if kind.partitions > 1 else 1
            places = self._places(name, least, partitions, lookup)
        except ArrangementFailed:
            lookup.delete(name)  # it may yet appear, when nobody waits for it any more
            raise
        return self._topic(kind, name, "lookupd", places)

    def _request(self, kind: TopicKind, name: str, lookup: LookupClient, wanted: int) -> int:
        """Request the creation of a topic; return the number of partitions that was accepted.

        Raises:
            ArrangementFailed: the lookup server makes no such topic.
        """
        seen = ""
        for partitions in _counts(wanted):
            with self._creating:
                answer = lookup.create_topic(
                    name,
                    partitions=partitions,
                    replicas=kind.replicas,
                    extend=kind.extend,
                    ordered=kind.ordered,
                )
            if answer.status == 200:
                return partitions
            seen = observe_http(answer).describe()
        raise ArrangementFailed(f"the lookup server answered {seen} to the creation of a topic")

    def _places(
        self, name: str, partitions: int, expected: int, lookup: LookupClient
    ) -> tuple[LedPartition, ...]:
        """Wait until enough partitions have leaders; return the leaders, the target's node first.

        Until all ``expected`` partitions have leaders, one of them must be led by the target's own
        node.
        """
        leaders = lookup.wait_for(
            name, near=self._around.address, partitions=expected, least=partitions
        )
        return tuple(
            LedPartition(leader.partition, leader.address, leader.http_address)
            for leader in leaders
        )

    def _by_tcp(self, kind: TopicKind, name: str, around: ReachableServices) -> Topic | str:
        if kind.ordered:
            return "INTERNAL_CREATE_TOPIC makes no ordered topics"
        if kind.replicas > 1:
            return "INTERNAL_CREATE_TOPIC makes no copies"
        made: list[int] = []
        for partition in range(kind.partitions):
            command = frames.internal_create_topic(name, partition, extend=kind.extend)
            with around.connect(around.transcript) as connection:
                seen = observe(connection.ask(command))
            if seen.value == "ok":
                made.append(partition)
            elif partition < FEWEST:
                return f"INTERNAL_CREATE_TOPIC: {seen.describe()}"
        return self._topic(kind, name, "tcp", self._own_places(*made))

    def _by_http(self, kind: TopicKind, name: str, around: ReachableServices) -> Topic | str:
        if around.http is None:
            return "no HTTP address is known"
        if kind.replicas > 1:
            return "one node keeps no copies"
        seen = ""
        for partitions in _counts(kind.partitions):
            query = creation_query(
                name, partitions=partitions, extend=kind.extend, ordered=kind.ordered
            )
            answer = around.http.request("POST", CREATE_PATHS[0], query=query)
            if answer.status == 404:
                answer = around.http.request("POST", CREATE_PATHS[1], query=query)
            if answer.status == 200:
                return self._topic(kind, name, "http", self._own_places(*range(partitions)))
            seen = observe_http(answer).describe()
        return f"POST {CREATE_PATHS[0]}: {seen}"

    def _own_places(self, *partitions: int) -> tuple[LedPartition, ...]:
        """Return the partitions that the target itself leads."""
        around = self._around
        http_address = around.http.address if around.http else None
        return tuple(LedPartition(number, around.address, http_address) for number in partitions)

    def _topic(
        self,
        kind: TopicKind,
        name: str,
        way: str,
        places: tuple[LedPartition, ...],
    ) -> Topic:
        """Return the topic as seen at the first of its partitions."""
        http = self._around.http
        here = places[0]
        return Topic(
            name=name,
            partition=here.partition,
            extend=kind.extend,
            ordered=kind.ordered,
            # What a user names may hold others' messages, so each case looks for its own.
            shared=kind.shared or way == "given",
            address=here.address,
            http_address=here.http_address or (http.address if http else None),
            way=way,
            channel_prefix=f"{self._prefix}_c",
            places=tuple(sorted(places, key=lambda place: place.partition)),
        )


def _counts(wanted: int) -> tuple[int, ...]:
    """Return the numbers of partitions to try: a target may allow two where three are wanted."""
    return (wanted,) if wanted <= FEWEST else (wanted, FEWEST)


def _check_ordered(topic: Topic, around: ReachableServices) -> None:
    """Check that a topic that was asked to be ordered is so; no text says how to ask for it.

    Raises:
        ArrangementFailed: neither meta nor a plain SUB shows that the topic is ordered.
    """
    info = around.lookup.lookup(topic.name) if around.lookup else None
    if info is not None and info.meta.get("ordered") is True:
        return
    with around.connect(around.transcript) as connection:
        seen = observe(connection.ask(frames.subscribe(topic, topic.channel())))
    if seen.value != f"error:{E_SUB_ORDER_IS_MUST}":
        raise ArrangementFailed(
            f"a topic was made with orderedmulti=true, but nothing shows that it is ordered "
            f"(a plain SUB: {seen.describe()})"
        )


def check_given(topics: Mapping[str, str]) -> None:
    """Check the topics that the user named, NAME or NAME:PARTITION, by the name of their kind.

    Raises:
        UsageFault: a topic has no known kind, or its partition is no number.
    """
    for argument, text in topics.items():
        where = f"--topic {argument}={text}"
        if argument not in KINDS:
            raise UsageFault(f"{where}: expected one of {', '.join(KINDS)}; found {argument!r}")
        name, colon, partition = text.partition(":")
        if not name or (colon and not (partition.isascii() and partition.isdigit())):
            raise UsageFault(f"{where}: expected {argument}=NAME or {argument}=NAME:PARTITION")
