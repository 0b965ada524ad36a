"""The ledger of an Iggy server: reads cases, concludes what their polls show."""

import sys
from collections.abc import Iterable, Iterator, Sequence

from wireproof_kit.iggy.forms import Forms
from wireproof_kit.iggy.ledger.contents import Content
from wireproof_kit.iggy.ledger.deliveries import Delivery, Match, Matcher
from wireproof_kit.iggy.ledger.events import (
    Changed,
    OffsetStored,
    OffsetTold,
    PollAnswered,
    TopicEvent,
)
from wireproof_kit.iggy.ledger.objects import judge_form, read_object
from wireproof_kit.iggy.ledger.partitions import AGAIN, Partition
from wireproof_kit.iggy.ledger.polls import judge_answer, judge_messages, way_of_poll
from wireproof_kit.iggy.ledger.reading import Reading
from wireproof_kit.iggy.ledger.rules import (
    RULES,
    Change,
    judge_checksum,
    judge_keys,
    judge_state,
    judge_timestamp,
)
from wireproof_kit.iggy.ledger.topics import TopicLife
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.ledger.entries import Entry, Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes, count_broken
from wireproof_kit.wire.transcript import Step
from wireproof_spec.iggy.states import STATES

Partitions = dict[tuple[TopicLife, int | None], Partition]
_UNCHANGED = Change()


class IggyLedger:
    """Judges what a server returned to the polls of one run, in the forms bound for the run."""

    def __init__(self, forms: Forms) -> None:
        self.reading = Reading(forms)
        self.outcomes = Outcomes()
        self.matcher = Matcher()
        self._changed = set[TopicLife]()
        """The topics in which the control API may have changed a message."""

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        """Read the steps of a case."""
        self.reading.read(case, steps)

    def conclude(self) -> Outcomes:
        """Judge all polls and all stored offsets."""
        for entry in self.reading.entries:
            self.matcher.add(entry)
        partitions: Partitions = {}
        for event in self.reading.events:
            place = event.topic, event.partition
            self._see(partitions.setdefault(place, Partition()), event)
        return self.outcomes

    def _see(self, partition: Partition, event: TopicEvent) -> None:
        if isinstance(event, Changed):
            partition.change(event)
            self._changed.add(event.topic)
        elif isinstance(event, OffsetStored):
            partition.store(event)
        elif isinstance(event, OffsetTold):
            self._add(partition.judge_told(event), (), [event.at])
        elif isinstance(event, PollAnswered):
            self._judge_poll(partition, event)

    def _judge_poll(self, partition: Partition, event: PollAnswered) -> None:
        self._add(judge_answer(event), (), [event.at])
        deliveries = [*self._deliveries(partition, event)]
        messages = [each.message for each in deliveries]
        is_alone = event.partition is not None
        found = judge_messages(event.poll, messages, of_one_partition=is_alone)
        self._add(found, (), [event.at])
        if event.partition is not None and deliveries:
            self._add(partition.judge_beginning(event, deliveries[0]), (), [event.at])
        for delivery in deliveries:
            self._judge(partition, delivery)

    def _deliveries(self, partition: Partition, event: PollAnswered) -> Iterator[Delivery]:
        """Yield the messages of a poll; judge the form of those in JSON."""
        result = event.result
        if isinstance(result, Polled):
            is_present = result.layout != "old"
            for seen in result.seen if is_present else ():
                yield self.matcher.match(event, seen.message, seen)
            return
        for found in result.objects:
            offset = found.get("offset")
            change = partition.changes.get(offset) if isinstance(offset, int) else None
            is_known = change is None or (change.is_state_certain and change.state in STATES)
            self._add(judge_form(found, is_state_known=is_known), (), [event.at])
            message = read_object(found)
            if message is not None:
                yield self.matcher.match(event, message, found)

    def _judge(self, partition: Partition, delivery: Delivery) -> None:
        """Judge a message by what was sent and explains it best."""
        change = partition.changes.get(delivery.message.offset, _UNCHANGED)
        is_placed = delivery.event.partition is not None
        findings = [*judge_timestamp(delivery), *judge_keys(delivery)]
        if is_placed or delivery.event.topic not in self._changed:
            findings += judge_state(delivery, change)
            findings += judge_checksum(delivery, change)
        entry, of_entry = _explain_best(delivery, change)
        findings += of_entry
        way = frozenset(way_of_poll(delivery.event.poll))
        way |= frozenset() if entry is None else entry.way
        if is_placed:
            findings += partition.judge(delivery)
            way |= {AGAIN} if partition.is_again(delivery) else frozenset()
            partition.note(delivery)
        at = delivery.event.at
        self._add(findings, way, (at,) if entry is None else entry.evidence(at))

    def _add(
        self, findings: Iterable[Finding], way: Iterable[str], evidence: Sequence[Place]
    ) -> None:
        way = [*way]
        for finding in findings:
            self.outcomes.add(finding, way, evidence)


def _explain_best(
    delivery: Delivery, change: Change
) -> tuple[Entry[Content] | None, list[Finding]]:
    """Return the entry that explains a message with the fewest breaches, and what it shows.

    Of several with as few, one that has the id of the message is taken.
    """
    if delivery.match is Match.NONE or change.is_payload_changed:
        return None, []
    number, fewest = delivery.message.id, sys.maxsize
    best: tuple[Entry[Content] | None, list[Finding]] = None, []
    for entry in sorted(delivery.entries, key=lambda each: each.content.id != number):
        findings = [finding for rule in RULES for finding in rule(delivery, entry)]
        broken = count_broken(findings)
        if broken < fewest:
            best, fewest = (entry, findings), broken
        if not broken:
            break
    return best
