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
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.nsq.ledger.sequences import is_before
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
class _Seen:
    """The latest delivery of a message on one subscription."""

    message_id: bytes
    attempts: int
    at_us: int
    copies: int = 1
    """How often it came without being finished or given back."""
    is_returned: bool = False
    finished: int = 0
    """When FIN was sent in time, as the count of the steps of all cases; 0 if it was not."""
    is_finished: bool = False
    """True if a later answer on the connection shows that the broker has read FIN."""


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
    _seen: dict[tuple[int, Subscription], _Seen] = field(
        default_factory=dict[tuple[int, Subscription], _Seen]
    )
    _ids: dict[int, bytes] = field(default_factory=dict[int, bytes])
    _latest: dict[Subscription, Entry[Content]] = field(
        default_factory=dict[Subscription, Entry[Content]]
    )
    """The message published last of those that came on a subscription."""
    _finished: dict[Subscription, list[_Seen]] = field(
        default_factory=dict[Subscription, list[_Seen]]
    )
    """The messages for which FIN was sent on a subscription."""
    _held: dict[tuple[Subscription, bytes], _Seen] = field(
        default_factory=dict[tuple[Subscription, bytes], _Seen]
    )

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
            self._acknowledge(event)
        else:
            self._hear(event)

    def _hear(self, event: ChannelEvent) -> None:
        """Follow an answer, which shows that the broker has read what came before, or an error."""
        if isinstance(event, Answered):
            for seen in self._finished.get(event.by, ()):
                seen.is_finished |= seen.finished < event.asked
        elif isinstance(event, Objected):
            for seen in self._finished.pop(event.by, ()):
                seen.is_finished = False

    def _acknowledge(self, event: Acknowledged) -> None:
        seen = self._held.get((event.by, event.message_id))
        if seen is None:
            return
        if event.command == "REQ":
            seen.is_returned = True
        elif event.command == "FIN" and _is_certain(seen, event):
            seen.finished = event.order
            self._finished.setdefault(event.by, []).append(seen)

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
        seen = self._seen.get((id(entry), delivery.by))
        if seen is not None and seen.is_finished:
            yield Finding("smart.message-id.finish", "again")
        if (before := self._ids.get(id(entry))) is not None:
            yield from _judge_same_id(delivery, before)
        elif delivery.by.command in ORDERED:
            yield from self._judge_order(delivery, entry)
        yield from self._judge_tag(delivery, entry)

    def note(self, delivery: Delivery, entry: Entry[Content]) -> None:
        """Note a delivery."""
        name, message = delivery.message.message_id, delivery.message
        seen = _Seen(name, message.attempts, delivery.at.step.at_us)
        before = self._held.get((delivery.by, name))
        if before is not None and not (before.is_returned or before.finished):
            seen.copies += before.copies
        self._seen[id(entry), delivery.by] = self._held[delivery.by, name] = seen
        self._ids.setdefault(id(entry), name)
        latest = self._latest.setdefault(delivery.by, entry)
        if entry.order > latest.order:
            self._latest[delivery.by] = entry

    def _judge_attempts(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        """Judge attempts: 1 at first, then 1 more; another client may have had it meanwhile."""
        found, clause = delivery.message.attempts, _attempts_clause(delivery)
        before = self._seen.get((id(entry), delivery.by))
        last = before.attempts if before else 0
        if last >= MAX_ATTEMPTS and found in (0, 1, last, last + 1):
            return  # no text says how a count goes on that leaves 12 bits no room
        if found & _HIGH_BITS:
            what = "high-bits" if delivery.layout.extend else "attempts:other"
            yield Finding(clause, what, difference=_count("below 4096", found))
            return
        # A real broker sometimes sends the first message of a channel twice at once, as attempt 1.
        # Whether a time-out ended between two deliveries rests on time, so that no rule asks it.
        is_counted = before is None or before.is_returned
        least = last + is_counted
        is_alone = len(self.members) == 1 and not self.has_left
        if least <= found and (found <= last + 1 or not is_alone):
            yield Finding(clause)
        else:
            due = str(least) if is_alone else f"at least {least}"
            yield Finding(clause, "attempts:other", difference=_count(due, found))

    def _judge_order(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        """Judge a message that comes for the first time by what came before on its connection."""
        latest = self._latest.get(delivery.by)
        if latest is None or latest.content.partition != entry.content.partition:
            return
        word = "out-of-order" if is_before(entry, latest) else ""
        if word or is_before(latest, entry):
            yield Finding("smart.order.in-order", word)

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


def _is_certain(seen: _Seen, event: Acknowledged) -> bool:
    """Return True if FIN finishes a message if the broker reads it soon.

    It was sent in the first half of the time-out for a message that came once.
    """
    timeout_ms = event.by.timeout_ms
    if timeout_ms is None or seen.copies > 1 or seen.is_returned:
        return False
    return (event.at.step.at_us - seen.at_us) * 2 < timeout_ms * 1000


def _attempts_clause(delivery: Delivery) -> str:
    if delivery.layout.extend:
        return "ext.consume.attempts"
    is_ordered = delivery.by.command in ORDERED
    return "smart.order.attempts" if is_ordered else "ext.consume.plain-topic"


def _judge_same_id(delivery: Delivery, before: bytes) -> Iterator[Finding]:
    found = delivery.message.message_id
    if found == before:
        yield Finding("smart.message-id.again")
    else:
        difference = Difference("message_id", 10, before.hex(), found.hex())
        yield Finding("smart.message-id.again", "other", difference=difference)


def _count(due: str, found: int) -> Difference:
    return Difference("attempts", 8, due, str(found))
