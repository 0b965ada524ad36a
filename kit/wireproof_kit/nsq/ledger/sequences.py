"""The rules of content that compare messages of a partition with those published before."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from wireproof_kit.ledger.entries import Entry, Fate, Place
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.observation import Difference

ID_AT: Final = 10
Known = Mapping[int, tuple[int, Place]]
"""The internal id of an entry, and where it was shown, by the identity of the entry."""


def is_before(first: Entry[Content], second: Entry[Content]) -> bool:
    """Return True if one message was certainly published before another to its partition.

    Cases run side by side, so only messages of one run of a case can be compared.
    """
    return (
        first.fate is Fate.ACCEPTED
        and first.at.case == second.at.case
        and _partition(first) == _partition(second)
        and first.content.partition is not None
        and 0 < first.answered_order < second.order
    )


def judge_increase(
    entries: Iterable[Entry[Content]], known: Known, deleted: Iterable[tuple[str, str]]
) -> Iterator[tuple[Finding, Entry[Content], Place]]:
    """Judge whether internal ids grow from each message to the next one published.

    A message of a batch has no answer of its own. ``deleted`` are case and topic of topics whose
    ids may begin anew.
    """
    left_out = set(deleted)
    partitions: dict[tuple[str, str, int | None], list[Entry[Content]]] = {}
    for entry in entries:
        case, topic = entry.at.case, entry.content.topic
        is_sure = entry.fate is Fate.ACCEPTED and entry.content.is_alone
        if is_sure and id(entry) in known and (case, topic) not in left_out:
            partitions.setdefault((case, *_partition(entry)), []).append(entry)
    for (_, _, partition), published in partitions.items():
        if partition is not None:
            yield from _judge_partition(published, known)


def _judge_partition(
    published: list[Entry[Content]], known: Known
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
        word = "" if found > greatest else "equal" if found == greatest else "falling"
        difference = Difference("internal_id", ID_AT, f"more than {greatest}", str(found))
        clause = "smart.message-id.increasing"
        yield Finding(clause, word, difference=difference if word else None), entry, shown_at


def _partition(entry: Entry[Content]) -> tuple[str, int | None]:
    return entry.content.topic, entry.content.partition
