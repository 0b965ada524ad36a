"""The rules of content that need what the channel delivered before."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Entry, Place
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.broker import ORDERED
from wireproof_kit.nsq.ledger.deliveries import Delivery
from wireproof_kit.nsq.ledger.events import (
    Acknowledged,
    Answered,
    ChannelEvent,
    Joined,
    Left,
    Objected,
    Ready,
    Subscription,
)
from wireproof_kit.nsq.ledger.flights import Flights
from wireproof_kit.nsq.ledger.holding import Holding
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.nsq.ledger.sequences import is_before, judge_growth, place_of
from wireproof_kit.observation import Difference
from wireproof_spec.nsq.limits import MAX_ATTEMPTS

AGAIN, LATER_CLIENT = "again", "later-client"
"""What the way of a delivery can have besides the usual: the first, to the first client."""
_HIGH_BITS: Final = 0xF000
_SHORTEST_MS: Final = 1000
"""A time-out that is not known is taken to be this one."""


@dataclass(slots=True)
class _Member:
    """A client of a channel."""

    number: int
    ready: int = 0
    ready_since: int = 0
    """The step of all cases with the first RDY after which it was always ready."""


@dataclass(slots=True)
class Channel:
    """What one channel has delivered, and to whom.

    The steps of a transcript are in the order in which the kit read them. That is the order in
    which the broker sent only for one connection.
    """

    published: int
    """How many messages its topic got in the run."""
    members: dict[Subscription, _Member] = field(default_factory=dict[Subscription, _Member])
    joined: int = 0
    _takers: dict[Subscription, None] = field(default_factory=dict[Subscription, None])
    """Clients that were ever ready, also those that left: until the broker notices, it may give
    them messages."""
    _holding: Holding = field(default_factory=Holding)
    _flights: Flights = field(default_factory=Flights)
    _seen: dict[int, tuple[int, Place]] = field(default_factory=dict[int, tuple[int, Place]])
    """The most attempts of each entry on any subscription, and where it was delivered last."""
    _ids: dict[int, bytes] = field(default_factory=dict[int, bytes])
    _latest: dict[Subscription, tuple[Entry[Content], Delivery]] = field(
        default_factory=dict[Subscription, tuple[Entry[Content], Delivery]]
    )
    """The message published last of those that came on a subscription."""

    def follow(self, event: ChannelEvent) -> None:
        """Follow an event that is no delivery."""
        if isinstance(event, Joined):
            self.members[event.by] = _Member(self.joined)
            self.joined += 1
            if event.by.command in ORDERED:
                self._takers[event.by] = None  # it may need no RDY
        elif isinstance(event, Left):
            self.members.pop(event.by, None)
            self._flights.leave(event.by)
        elif event.by in self.members:
            self._follow_member(event)

    def _follow_member(self, event: ChannelEvent) -> None:
        if isinstance(event, Ready):
            member = self.members[event.by]
            member.ready_since = member.ready_since if member.ready else event.order
            member.ready = event.count
            self._flights.ready(event)
            if event.count:
                self._takers[event.by] = None
        elif isinstance(event, Acknowledged):
            self._holding.command(event)
            self._flights.command(event)
        elif isinstance(event, Answered):
            self._holding.answer(event)
            self._flights.answer(event)
        elif isinstance(event, Objected):
            self._holding.object(event.by)
            self._flights.leave(event.by)

    def way(self, delivery: Delivery, entry: Entry[Content]) -> frozenset[str]:
        """Return what is unusual in how a message came."""
        member = self.members.get(delivery.by)
        found = {
            AGAIN: id(entry) in self._ids,
            LATER_CLIENT: member is not None and member.number > 0,
            "ordered": delivery.by.command in ORDERED,
        }
        return frozenset(name for name, has in found.items() if has)

    def judge(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        """Yield what a delivery shows, given what the channel delivered before."""
        yield from self._judge_attempts(delivery, entry)
        yield from self._flights.judge(delivery, entry)
        if self._holding.is_finished(delivery, entry):
            yield Finding("smart.message-id.finish", "again")
        if (before := self._ids.get(id(entry))) is not None:
            yield from _judge_same_id(delivery, before)
        elif delivery.by.is_ordered:
            yield from self._judge_order(delivery, entry)
        yield from self._judge_tag(delivery, entry)

    def note(self, delivery: Delivery, entry: Entry[Content]) -> None:
        """Note a delivery."""
        self._holding.note(delivery, entry)
        self._flights.note(delivery, entry)
        most, _ = self._seen.get(id(entry), (0, None))
        self._seen[id(entry)] = max(most, delivery.message.attempts), delivery.at
        self._ids.setdefault(id(entry), delivery.message.message_id)
        latest = self._latest.get(delivery.by)
        if latest is None or place_of(entry) > place_of(latest[0]):
            self._latest[delivery.by] = entry, delivery

    def _judge_attempts(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        """Judge attempts: 1 at first, then 1 more; another client may have had it meanwhile."""
        found, clause = delivery.message.attempts, _attempts_clause(delivery)
        before = self._holding.find(delivery, entry)
        last = before.attempts if before else 0
        if last >= MAX_ATTEMPTS and found in (0, 1, last, last + 1):
            return  # no text says how a count goes on that leaves 12 bits no room
        if found & _HIGH_BITS:
            what = "high-bits" if delivery.layout.extend else "attempts:other"
            yield Finding(clause, what, difference=_count("below 4096", found))
            return
        # Whether a time-out ended between two deliveries rests on time, so that no rule asks it.
        least = last + (before is None or before.is_counted)
        most = self._most_attempts(delivery, entry)
        if least <= found and (most is None or found <= most):
            yield Finding(clause)
            return
        due = f"at least {least}" if most is None or found < least else f"at most {most}"
        yield Finding(clause, "attempts:other", difference=_count(due, found))

    def _most_attempts(self, delivery: Delivery, entry: Entry[Content]) -> int | None:
        """Return how often a message may have been delivered; None if that is not known.

        To each other client that was ever ready it may have been sent once since it came last,
        and once more for each time-out since then.
        """
        by = delivery.by
        seen, last_at = self._seen.get(id(entry), (0, entry.at))
        others = [taker for taker in self._takers if taker != by and _may_share(taker, by)]
        if not others:
            return seen + 1
        if {last_at.case, *(other.case for other in others)} != {by.case}:
            return None
        passed_ms = (delivery.at.step.at_us - last_at.step.at_us) // 1000
        shortest = (other.timeout_ms or _SHORTEST_MS for other in others)
        return seen + 1 + sum(1 + passed_ms // timeout_ms for timeout_ms in shortest)

    def _judge_order(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        """Judge a message that comes for the first time by what came before on its connection."""
        if delivery.by not in self._latest:
            return
        latest, before = self._latest[delivery.by]
        leader = delivery.event.new_leader
        clause = f"smart.cluster.{leader}-order" if leader else "smart.order.in-order"
        if is_before(entry, latest):
            yield Finding(clause, "out-of-order")
        elif is_before(latest, entry):
            yield Finding(clause)
            if not leader:
                yield from judge_growth(before, delivery)

    def _judge_tag(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        own, tag = delivery.by.tag, entry.content.tag
        if not own or not tag:
            return
        if own.lower() == tag.lower():
            yield Finding("ext.dispatch.never-other-tag")
            return
        # The kit may have read none of its messages yet: it is surely ready if RDY allows all. Of
        # a client that was ready later, the message may have been on its way before.
        is_other = any(
            not by.tag
            and by.partition == delivery.by.partition
            and member.ready >= self.published
            and member.ready_since < entry.order
            for by, member in self.members.items()
        )
        clause = "ext.dispatch.never-other-tag" if is_other else "ext.dispatch.other-tag-alone"
        yield Finding(clause, "to:other", difference=Difference("tag", None, own, tag))


def _may_share(one: Subscription, other: Subscription) -> bool:
    """Return True if two subscriptions to a channel may be of the same partition."""
    return None in (one.partition, other.partition) or one.partition == other.partition


def _attempts_clause(delivery: Delivery) -> str:
    if delivery.layout.extend:
        return "ext.consume.attempts"
    return "smart.order.attempts" if delivery.by.is_ordered else "ext.consume.plain-topic"


def _judge_same_id(delivery: Delivery, before: bytes) -> Iterator[Finding]:
    found = delivery.message.message_id
    if found == before:
        yield Finding("smart.message-id.again")
    else:
        difference = Difference("message_id", 10, before.hex(), found.hex())
        yield Finding("smart.message-id.again", "other", difference=difference)


def _count(due: str, found: int) -> Difference:
    return Difference("attempts", 8, due, str(found))
