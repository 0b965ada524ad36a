"""The ledger of an NSQ broker: reads cases, concludes what their deliveries show."""

from collections import Counter
from collections.abc import Container, Iterable

from wireproof_kit.ledger.entries import BOUND, Entry, Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes, count_broken
from wireproof_kit.nsq.broker import ORDERED
from wireproof_kit.nsq.ledger.channels import Channel
from wireproof_kit.nsq.ledger.deliveries import Delivery, Matcher, token_of
from wireproof_kit.nsq.ledger.events import Delivered
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.nsq.ledger.reading import FindTopic, Reading
from wireproof_kit.nsq.ledger.rules import RULES
from wireproof_kit.nsq.ledger.sequences import IDS, OFFSETS, judge_increase
from wireproof_kit.nsq.topics.sources import PREFIX
from wireproof_kit.wire.transcript import Step


class NsqLedger:
    """Judges what a broker delivered in the cases of one run."""

    def __init__(self, find_topic: FindTopic) -> None:
        self._reading = Reading(find_topic)
        self.outcomes = Outcomes()
        self.matcher = Matcher()
        self._ids: dict[int, tuple[int, Place]] = {}

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        """Read the steps of a case."""
        self._reading.read(case, steps)

    def conclude(self) -> Outcomes:
        """Judge all deliveries."""
        for entry in self._reading.entries:
            self.matcher.add(entry, token_of(entry.content.body.head))
        channels: dict[tuple[str, str], Channel] = {}
        unbound = {
            entry.content.topic for entry in self._reading.entries if entry.fate not in BOUND
        }
        published = Counter(entry.content.topic for entry in self._reading.entries)
        for event in self._reading.events:
            channel = channels.setdefault(event.by.place, Channel(published[event.by.topic]))
            if not isinstance(event, Delivered):
                channel.follow(event)
                continue
            delivery = self.matcher.match(event)
            if delivery is not None:
                self._judge(channel, delivery)
            else:
                self._judge_unmatched(event, unbound)
        self._judge_increase()
        return self.outcomes

    def _judge_unmatched(self, event: Delivered, unbound: Container[str]) -> None:
        """Judge a message that nobody published, on a topic that is the kit's own.

        What has the token of a body came from a probe, whose publishes no case has. Of topics with
        malformed publishes nothing is said.
        """
        topic = event.by.topic
        is_own = topic.startswith(PREFIX) and topic not in unbound
        if is_own and self.matcher.is_foreign(event):
            way = ("ordered",) if event.by.command in ORDERED else ()
            finding = Finding("smart.partition.own-messages", "foreign", "nobody published it")
            self.outcomes.add(finding, way, (*event.by.opening, event.at))

    def _judge_increase(self) -> None:
        entries = self._reading.entries
        offsets: dict[int, tuple[int, Place]] = {}
        for entry in entries:
            answer, at = entry.content.answer, entry.answered_at
            if answer is not None and at is not None:
                self._ids[id(entry)] = answer.internal_id, at
                offsets[id(entry)] = answer.disk_queue_offset, at
        for known, numbers in ((self._ids, IDS), (offsets, OFFSETS)):
            for finding, entry, at in judge_increase(
                entries, known, numbers, self._reading.changes
            ):
                self.outcomes.add(finding, entry.way, entry.evidence(at))

    def _judge(self, channel: Channel, delivery: Delivery) -> None:
        """Judge a delivery by the entry that explains it best."""
        bound = [entry for entry in delivery.entries if entry.fate in BOUND]
        if len(bound) < len(delivery.entries) or not bound:
            return
        explained = [(entry, _judge_alone(delivery, entry)) for entry in bound]
        if len(bound) == 1:
            explained[0][1].extend(channel.judge(delivery, bound[0]))
        entry, findings = min(explained, key=lambda each: count_broken(each[1]))
        way = entry.way | channel.way(delivery, entry)
        evidence = (*delivery.by.opening, *entry.evidence(delivery.at))
        for finding in findings:
            self.outcomes.add(finding, way, evidence)
        if len(bound) == 1:
            channel.note(delivery, entry)
            if not delivery.altered:
                self.matcher.learn(delivery, entry)
                self._ids.setdefault(id(entry), (delivery.message.internal_id, delivery.at))


def _judge_alone(delivery: Delivery, entry: Entry[Content]) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(delivery, entry)]
