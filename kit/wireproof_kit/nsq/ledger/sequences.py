"""The rules of content that compare messages of a partition with those published before."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from wireproof_kit.ledger.entries import Entry, Fate, Place
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.ledger.changes import Changes
from wireproof_kit.nsq.ledger.deliveries import Delivery
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.observation import Difference

Known = Mapping[int, tuple[int, Place]]
"""A number of an entry, and where it was shown, by the identity of the entry."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A number that increases from each message of a partition to the next, and its clause."""

    clause: str
    field: str
    at: int
    """Where it stands in a message or in an answer, in bytes."""
    equal: str
    falling: str


IDS: Final = Numbers("smart.message-id.increasing", "internal_id", 10, "equal", "falling")
OFFSETS: Final = Numbers(
    "smart.trace.offset", "disk_queue_offset", 18, "not-greater", "not-greater"
)


def is_before(first: Entry[Content], second: Entry[Content]) -> bool:
    """Return True if one message was certainly published before another to its partition.

    It was answered before the other was sent, or came before it on one connection: in a batch, or
    in commands that did not wait for their answers. Cases run side by side, so only messages of
    one run of a case can be compared. A partition that is not known may be that of the other.
    """
    one, other = first.content, second.content
    if (
        first.fate is not Fate.ACCEPTED
        or first.at.case != second.at.case
        or one.topic != other.topic
        or len({one.partition, other.partition} - {None}) > 1
    ):
        return False
    if one.conn == other.conn:
        return one.number < other.number
    return 0 < first.answered_order < second.order


def place_of(entry: Entry[Content]) -> tuple[int, int]:
    """Return what sorts entries by when they were sent."""
    return entry.order, entry.content.number


def judge_growth(before: Delivery, delivery: Delivery) -> Iterator[Finding]:
    """Judge whether offset and id of an ordered message are greater than those of one before it.

    Without a header, bytes that have the offset before the ext part may also be read as if it came
    behind, so that offsets are compared in one layout only.
    """
    if before.altered or delivery.altered:
        return
    one, other = before.message, delivery.message
    yield _judge_pair("internal_id", 10, one.internal_id, other.internal_id)
    low, high = one.disk_queue_offset, other.disk_queue_offset
    if before.layout == delivery.layout and low is not None and high is not None:
        yield _judge_pair("disk_queue_offset", 26, low, high)


def _judge_pair(name: str, at: int, low: int, high: int) -> Finding:
    if high > low:
        return Finding("smart.order.increasing")
    difference = Difference(name, at, f"more than {low}", str(high))
    word = f"{name.replace('_', '-')}-not-greater"
    return Finding("smart.order.increasing", word, difference=difference)


def judge_increase(
    entries: Iterable[Entry[Content]],
    known: Known,
    numbers: Numbers,
    changes: Mapping[str, Changes],
) -> Iterator[tuple[Finding, Entry[Content], Place]]:
    """Judge whether numbers grow from each message to the next one published.

    A message of a batch has no answer of its own. ``changes`` are those of each run of a case: of
    a topic that it deleted, numbers may begin anew.
    """
    partitions: dict[tuple[str, str, int | None], list[Entry[Content]]] = {}
    for entry in entries:
        case, topic = entry.at.case, entry.content.topic
        is_sure = entry.fate is Fate.ACCEPTED and entry.content.is_alone
        if is_sure and id(entry) in known and topic not in changes[case].deleted:
            partitions.setdefault((case, *_partition(entry)), []).append(entry)
    for (_, _, partition), published in partitions.items():
        if partition is not None:
            yield from _judge_partition(published, known, numbers)


def _judge_partition(
    published: list[Entry[Content]], known: Known, numbers: Numbers
) -> Iterator[tuple[Finding, Entry[Content], Place]]:
    answered = sorted(published, key=lambda entry: entry.answered_order)
    greatest, place = None, 0
    for entry in sorted(published, key=lambda entry: entry.order):
        while answered[place].answered_order < entry.order:
            before = known[id(answered[place])][0]
            greatest = before if greatest is None else max(greatest, before)
            place += 1
        found, shown_at = known[id(entry)]
        if greatest is None:
            continue
        word = numbers.equal if found == greatest else numbers.falling
        if found > greatest:
            yield Finding(numbers.clause), entry, shown_at
            continue
        difference = Difference(numbers.field, numbers.at, f"more than {greatest}", str(found))
        yield Finding(numbers.clause, word, difference=difference), entry, shown_at


def _partition(entry: Entry[Content]) -> tuple[str, int | None]:
    return entry.content.topic, entry.content.partition
