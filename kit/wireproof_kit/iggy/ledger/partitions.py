"""The rules of content that need what polls of the partition returned before."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wireproof_kit.iggy.ledger.deliveries import Delivery, Match
from wireproof_kit.iggy.ledger.events import Changed, OffsetStored, OffsetTold, PollAnswered
from wireproof_kit.iggy.ledger.rules import Change, is_of_odd_width
from wireproof_kit.iggy.observe.observations import as_set
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.kinds import CONSUMER_KIND, NEXT, OFFSET
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.names import MESSAGE_FIELDS

AGAIN = "again"
"""What the way of a message can have besides the usual: it was polled before."""


@dataclass(slots=True)
class Partition:
    """What polls of one partition returned, and what its consumers stored."""

    changes: dict[int, Change] = field(default_factory=dict[int, Change])
    """By offset."""
    stored: dict[Consumer, int | None] = field(default_factory=dict[Consumer, int | None])
    """The offset of each consumer, None if it is not known."""
    _committed: set[Consumer] = field(default_factory=set[Consumer])
    """The consumers whose offset a poll committed."""
    _seen: dict[tuple[bool, int], Delivery] = field(
        default_factory=dict[tuple[bool, int], Delivery]
    )
    """The first delivery of each offset, over HTTP or over TCP."""
    _latest: dict[tuple[bool, int], Delivery] = field(
        default_factory=dict[tuple[bool, int], Delivery]
    )
    """The last one: two different messages of one poll never have the same offset."""
    _alike: dict[tuple[bool, int, bytes], list[Delivery]] = field(
        default_factory=dict[tuple[bool, int, bytes], list[Delivery]]
    )
    """The same, by id and payload."""
    _offsets: dict[tuple[bool, int, bytes], set[int]] = field(
        default_factory=dict[tuple[bool, int, bytes], set[int]]
    )
    """All offsets that polls told of a message, by id and payload."""
    _generated: dict[int, Delivery] = field(default_factory=dict[int, Delivery])

    def change(self, event: Changed) -> None:
        """Follow what the control API may have done."""
        change = self.changes.setdefault(event.offset, Change())
        if event.state is None:
            change.is_payload_changed = True
            return
        change.is_state_set = True
        change.is_state_certain = event.is_certain
        change.state = event.state

    def store(self, event: OffsetStored) -> None:
        """Follow that a consumer may have stored an offset."""
        if event.consumer is None:
            self.stored.clear()
            return
        self.stored[event.consumer] = event.offset
        (self._committed.add if event.by_poll else self._committed.discard)(event.consumer)

    def judge_told(self, event: OffsetTold) -> Iterator[Finding]:
        """Judge whether the offset told is the one that the consumer stored last."""
        due = self.stored.get(event.consumer)
        if due is None:
            return
        is_committed = event.consumer in self._committed
        clause = "iggy.poll.auto-commit" if is_committed else "iggy.poll.stored-offset"
        word = "" if due == event.offset else "offset:other"
        difference = Difference("offset", 4, str(due), str(event.offset)) if word else None
        yield Finding(clause, word, difference=difference)

    def judge_beginning(self, event: PollAnswered, first: Delivery) -> Iterator[Finding]:
        """Judge with which message a poll by offset or for the next messages begins."""
        poll, message = event.poll, first.message
        of_consumer = poll.consumer.kind == CONSUMER_KIND
        if poll.strategy == NEXT and of_consumer and not first.over_http:
            stored = self.stored.get(poll.consumer)
            if stored is not None:
                word = "delivered:id" if message.offset <= stored else ""
                difference = Difference("offset", 0, f"more than {stored}", str(message.offset))
                yield Finding("iggy.poll.strategy-next", word, difference=difference)
        known = self._seen.get((first.over_http, poll.value))
        if poll.strategy != OFFSET or known is None or poll.value in self.changes:
            return
        if _key(known) == _key(first):
            if message.offset > poll.value and not self._is_of_another(first):
                return  # it may be stored twice, and the first copy be gone
            word = "" if message.offset == poll.value else "offset:leads-astray"
            difference = Difference("offset", 0, str(poll.value), str(message.offset))
            yield Finding("iggy.message.offset", word, difference=difference)
        elif message.offset != poll.value:
            difference = Difference("offset", 0, str(poll.value), str(message.offset))
            yield Finding("iggy.poll.strategy-offset", "delivered:id", difference=difference)

    def is_again(self, delivery: Delivery) -> bool:
        """Return True if a message with this offset was polled before."""
        return any((way, delivery.message.offset) in self._seen for way in (True, False))

    def judge(self, delivery: Delivery) -> Iterator[Finding]:
        """Yield what a message shows, given what polls returned before."""
        if delivery.message.offset in self.changes:
            return
        place = delivery.over_http, delivery.message.offset
        before, latest = self._seen.get(place), self._latest.get(place)
        if latest is not None and latest.event is delivery.event:
            before = latest
        other_offset = self._find_astray(delivery, before)
        if other_offset is not None:
            found = f"offsets {other_offset} and {delivery.message.offset}"
            difference = delivery.differ("offset", "one offset of a message", found)
            yield Finding("iggy.message.offset", "offset:leads-astray", difference=difference)
        elif before is not None:
            yield from _judge_again(delivery, before)
        other = self._find_other(delivery)
        if other is not None:
            yield from _judge_same(delivery, other)
        if _is_generated(delivery):
            known = self._generated.setdefault(delivery.message.id, delivery)
            is_own = known.entries == delivery.entries
            yield Finding("iggy.message.generated-id", "" if is_own else "id:repeated")

    def note(self, delivery: Delivery) -> None:
        """Note a message."""
        place = delivery.over_http, delivery.message.offset
        self._latest[place] = delivery
        self._offsets.setdefault(_key(delivery), set()).add(delivery.message.offset)
        if place not in self._seen:
            self._seen[place] = delivery
            self._alike.setdefault(_key(delivery), []).append(delivery)

    def _is_of_another(self, delivery: Delivery) -> bool:
        """Return True if the same transport told the offset of a message for another one."""
        latest = self._latest.get((delivery.over_http, delivery.message.offset))
        return latest is not None and _key(latest) != _key(delivery)

    def _find_astray(self, delivery: Delivery, before: Delivery | None) -> int | None:
        """Return the other offset of a message of which polls told two, if one is of another too.

        A message that is stored twice has two offsets, but at neither is another message.
        """
        own, offset = _key(delivery), delivery.message.offset
        told = self._offsets.get(own, set()) - {offset} - self.changes.keys()
        for other in sorted(told):
            if _key(self._latest[delivery.over_http, other]) != own:
                return other
        if before is not None and _key(before) != own and before.event is not delivery.event:
            return min(told or self._offsets[_key(before)] - {offset}, default=None)
        return None

    def _find_other(self, delivery: Delivery) -> Delivery | None:
        """Return the same message as the other transport returned it."""
        over_http, number, payload = _key(delivery)
        alike = self._alike.get((not over_http, number, payload), [])
        of_offset = self._seen.get((not over_http, delivery.message.offset))
        if of_offset in alike:
            return of_offset
        if len(alike) != 1:
            return None
        # A message that is stored twice has two offsets: this may be the other copy.
        is_copy = alike[0].message.offset in self._offsets.get(_key(delivery), ())
        return None if is_copy else alike[0]


def _key(delivery: Delivery) -> tuple[bool, int, bytes]:
    return delivery.over_http, delivery.message.id, delivery.message.payload


def _is_generated(delivery: Delivery) -> bool:
    return (
        delivery.match is Match.PAYLOAD
        and len(delivery.entries) == 1
        and delivery.entries[0].content.id == 0
        and delivery.message.id != 0
    )


def _judge_again(delivery: Delivery, before: Delivery) -> Iterator[Finding]:
    """Judge whether a message is the same as in an earlier poll over the same transport."""
    first = [name for name in _differing(before.message, delivery.message) if name != "timestamp"]
    if delivery.event is before.event and first:
        found = f"offset {delivery.message.offset} of two messages of one poll"
        difference = delivery.differ("offset", "one message at an offset", found)
        yield Finding("iggy.message.offset", "offset:leads-astray", difference=difference)
        return
    was, now = before.message.timestamp, delivery.message.timestamp
    if not first and was != now:
        difference = delivery.differ("timestamp", str(was), str(now))
        yield Finding("iggy.message.timestamp-kept", "timestamp:changed", difference=difference)
    if not first:
        yield Finding("iggy.poll.again")
        return
    difference = delivery.differ(first[0], *_show(before, delivery, first[0]))
    yield Finding("iggy.poll.again", "different", difference=difference)


def _judge_same(delivery: Delivery, other: Delivery) -> Iterator[Finding]:
    """Judge whether a message is the same over TCP and over HTTP."""
    headers = (header for entry in delivery.entries for header in entry.content.headers)
    is_odd = any(is_of_odd_width(header.kind, header.value) for header in headers)
    differing = _differing(other.message, delivery.message)
    if is_odd and "headers" in differing:
        return  # no text gives the widths of the kinds
    if not differing:
        yield Finding("iggy.json.same-as-binary")
        return
    name = differing[0]
    difference = delivery.differ(name, *_show(other, delivery, name))
    yield Finding("iggy.json.same-as-binary", f"different:{name}", difference=difference)


def _differing(one: Message, other: Message) -> list[str]:
    """Return the fields in which two messages differ; the order of headers does not count."""
    return [name for name in MESSAGE_FIELDS if _value(one, name) != _value(other, name)]


def _value(message: Message, name: str) -> object:
    return as_set(message.headers) if name == "headers" else getattr(message, name)


def _show(one: Delivery, other: Delivery, name: str) -> tuple[str, str]:
    found = (str(_value(each.message, name)) for each in (one, other))
    before, after = (text if len(text) <= 80 else f"{text[:80]}…" for text in found)
    return before, after
