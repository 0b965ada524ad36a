"""The rules of content that need what the channel delivered before."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Entry
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
from wireproof_kit.nsq.ledger.holding import Holding
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.nsq.ledger.sequences import is_before, judge_growth, place_of
from wireproof_kit.observation import Difference
from wireproof_spec.nsq.limits import MAX_ATTEMPTS

AGAIN, LATER_CLIENT = "again", "later-client"
"""What the way of a delivery can have besides the usual: the first, to the first client."""
_HIGH_BITS: Final = 0xF000


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
    has_left: bool = False
    """True once a client left; the broker may give it messages until it notices."""
    _holding: Holding = field(default_factory=Holding)
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
        elif isinstance(event, Left):
            self.has_left |= self.members.pop(event.by, None) is not None
        elif (member := self.members.get(event.by)) is None:
            return
        elif isinstance(event, Ready):
            member.ready_since = member.ready_since if member.ready else event.order
            member.ready = event.count
        elif isinstance(event, Acknowledged):
            self._holding.command(event)
        elif isinstance(event, Answered):
            self._holding.answer(event)
        elif isinstance(event, Objected):
            self._holding.object(event.by)

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
        is_alone = len(self.members) == 1 and not self.has_left
        if least <= found and (found <= last + 1 or not is_alone):
            yield Finding(clause)
        else:
            due = str(least) if is_alone else f"at least {least}"
            yield Finding(clause, "attempts:other", difference=_count(due, found))

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
