"""The rules of content that need what a destination delivered before."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Entry
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_kit.oms.ledger.deliveries import AGAIN, OTHER_PARTITION, SECOND_GROUP, Delivery
from wireproof_kit.oms.ledger.events import Delivered, GroupEvent, Rejected, Settled, Unanswered
from wireproof_kit.oms.ledger.sends import Content
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

_ABSENT: Final = "nothing"
_ONCE: Final = {1: "oms.message.at-most-once", 2: "oms.message.exactly-once"}
"""The clauses that forbid a message to be consumed twice, by its qos."""


@dataclass(slots=True)
class _Seen:
    """The latest delivery of a message to a group."""

    event: Delivered
    count: JsonValue
    is_rejected: bool = False
    is_settled: bool = False
    is_followed: bool = True
    """False if a later receive has no answer, so that a delivery may have been missed."""


@dataclass(slots=True)
class _Group:
    """What a consumer group got, by the number of the entry."""

    seen: dict[int, _Seen] = field(default_factory=dict[int, _Seen])

    def follow(self, event: GroupEvent) -> None:
        """Follow an event that is no delivery."""
        for seen in self.seen.values():
            if isinstance(event, Unanswered):
                seen.is_followed = False
            elif isinstance(event, Rejected) and event.delivered is seen.event:
                seen.is_rejected = True
            elif isinstance(event, Settled) and event.delivered is seen.event:
                seen.is_settled = True


@dataclass(slots=True)
class Queue:
    """What one destination has delivered, and to which groups."""

    _groups: dict[str, _Group] = field(default_factory=dict[str, _Group])
    _places: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Where the first message of each messageKey came from."""
    _stored: dict[int, JsonValue] = field(default_factory=dict[int, JsonValue])
    """The storeTimestamp of each message as it was first told, by the number of the entry."""

    def follow(self, event: GroupEvent) -> None:
        """Follow an event that is no delivery."""
        self._group(event).follow(event)

    def is_again(self, event: Delivered, entry: Entry[Content]) -> bool:
        """Return True if the group got the message before."""
        return id(entry) in self._group(event).seen

    def was_delivered(self, entry: Entry[Content]) -> bool:
        """Return True if any group got the message before."""
        return any(id(entry) in group.seen for group in self._groups.values())

    def way(self, delivery: Delivery) -> frozenset[str]:
        """Return what is unusual in how a message came."""
        first = next(iter(self._groups), delivery.event.group)
        found = {
            AGAIN: delivery.is_again,
            SECOND_GROUP: delivery.event.group != first,
            OTHER_PARTITION: delivery.place not in (None, 0),
        }
        return frozenset(name for name, has in found.items() if has)

    def judge(
        self, delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
    ) -> Iterator[Finding]:
        """Yield what a delivery shows, given what the destination delivered before."""
        before = self._group(delivery.event).seen.get(id(entry))
        yield from _judge_once(entry.content.header.get(names.QOS), before)
        if names.DELIVERY_COUNT in claims:
            yield from _judge_count(delivery, before)
        if before is None and names.STORE_TIMESTAMP in claims:
            yield from self._judge_stable(delivery, entry)
        if before is None and {names.MESSAGE_KEY, "partitions"} <= claims:
            yield from self._judge_key(delivery, entry.content)

    def note(self, delivery: Delivery, entry: Entry[Content]) -> None:
        """Note a delivery."""
        count = delivery.attributes.get(names.DELIVERY_COUNT)
        self._group(delivery.event).seen[id(entry)] = _Seen(delivery.event, count)
        stored = delivery.attributes.get(names.STORE_TIMESTAMP)
        if not delivery.is_again and stored is not None:
            self._stored.setdefault(id(entry), stored)
        key = _key_of(entry.content)
        if key and not delivery.is_again and delivery.place is not None:
            self._places.setdefault(key, delivery.place)

    def _group(self, event: GroupEvent) -> _Group:
        return self._groups.setdefault(event.group, _Group())

    def _judge_stable(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        told, before = delivery.attributes.get(names.STORE_TIMESTAMP), self._stored.get(id(entry))
        is_delayed = bool(entry.content.attributes.get(names.DELAY_TIME))
        if told is None or before is None or is_delayed:
            return
        difference = Difference(names.STORE_TIMESTAMP, None, str(before), str(told))
        word = "" if told == before else "differs"
        yield Finding("oms.store.timestamp-stable", word, difference=difference)

    def _judge_key(self, delivery: Delivery, content: Content) -> Iterator[Finding]:
        before = self._places.get(_key_of(content))
        if before is None or delivery.place is None:
            return
        difference = Difference(names.PARTITION, None, str(before), str(delivery.place))
        word = "" if before == delivery.place else "spread"
        yield Finding("oms.message-key.one-partition", word, difference=difference)


def _judge_once(qos: JsonValue, before: _Seen | None) -> Iterator[Finding]:
    """Judge whether a message comes again that its group consumed, where its qos forbids that."""
    clause = _ONCE.get(qos) if isinstance(qos, int) else None
    if clause is not None and before is None:
        yield Finding(clause)
    elif clause is not None and before is not None and before.is_settled:
        yield Finding(clause, "twice")


def _judge_count(delivery: Delivery, before: _Seen | None) -> Iterator[Finding]:
    """Judge the deliveryCount: not negative, 1 or 0 at first, 1 more after each failure."""
    has_one = names.DELIVERY_COUNT in delivery.attributes
    count = delivery.attributes.get(names.DELIVERY_COUNT)
    if before is not None and before.is_rejected:
        word = ("" if _is_integer(count) else "other-type") if has_one else "dropped"
        yield _counted("present", word, "an Integer", count)
        yield _counted("claimed", "" if has_one else "dropped", "an Integer", count)
    if not isinstance(count, int) or not _is_integer(count):
        return
    yield _counted("not-negative", "negative" if count < 0 else "", "0 or more", count)
    if before is None:
        # Which of the two readings a system follows is shown by the cases of the clause.
        yield _counted("base", "" if count in (0, 1) else "other", "1 or 0", count)
    elif before.is_rejected and before.is_followed and isinstance(before.count, int):
        due = before.count + 1
        yield _counted("grows", "" if count == due else "otherwise", str(due), count)


def _counted(name: str, word: str, due: str, count: JsonValue) -> Finding:
    clause = "oms.round-trip.claimed" if name == "claimed" else f"oms.delivery-count.{name}"
    found = _ABSENT if count is None else str(count)
    return Finding(clause, word, difference=Difference(names.DELIVERY_COUNT, None, due, found))


def _key_of(content: Content) -> str:
    """Return the messageKey if it alone chooses the partition; otherwise an empty string."""
    key = content.attributes.get(names.MESSAGE_KEY)
    is_alone = not {names.PARTITION, names.PRIORITY} & content.attributes.keys()
    return key if isinstance(key, str) and is_alone else ""


def _is_integer(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
