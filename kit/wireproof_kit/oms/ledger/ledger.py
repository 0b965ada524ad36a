"""The ledger of an OpenMessaging system: reads cases, concludes what their deliveries show."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from wireproof_kit.ledger.entries import BOUND, Entry, Fate, Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes, count_broken
from wireproof_kit.oms.ledger.deliveries import ANSWERED, Delivery, Matcher
from wireproof_kit.oms.ledger.events import Delivered
from wireproof_kit.oms.ledger.queues import Queue
from wireproof_kit.oms.ledger.reading import Reading
from wireproof_kit.oms.ledger.rules import RULES, judge_answered_id
from wireproof_kit.oms.ledger.sends import Content
from wireproof_kit.oms.ledger.times import RunClock, Times
from wireproof_kit.wire.transcript import Step
from wireproof_spec.oms import names

_Late = tuple[Finding, frozenset[str], Sequence[Place]]


class OmsLedger:
    """Judges what a system delivered in the cases of one run.

    ``claims`` are the words that its adapter claims.
    """

    def __init__(self, claims: frozenset[str], clock: RunClock) -> None:
        self.reading = Reading()
        self.matcher = Matcher()
        self.outcomes = Outcomes()
        self._claims = claims
        self._times = Times(clock)
        self._ahead_ms = clock.ahead_ms
        self._expired: list[_Late] = []
        self._has_aged = False
        # No text says that the ids of two destinations differ.
        self._owners: dict[tuple[str, str], Entry[Content]] = {}

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        """Read the steps of a case, and when it started by the kit's clock if that is known."""
        if started_ms is not None:
            self._times.begin(case, started_ms + self._ahead_ms)
        self.reading.read(case, steps)

    def conclude(self) -> Outcomes:
        """Judge all deliveries."""
        for entry in self.reading.entries:
            self.matcher.add(entry)
        for entry in self.reading.entries:
            self._judge_answer(entry)
        queues: dict[str, Queue] = {}
        for event in self.reading.events:
            queue = queues.setdefault(event.destination, Queue())
            if not isinstance(event, Delivered):
                queue.follow(event)
            elif (delivery := self.matcher.match(event)) is not None:
                self._judge(queue, delivery)
        if self._has_aged:
            # Messages came that had expired by either reading, so the system follows none.
            for finding, way, evidence in self._expired:
                self.outcomes.add(finding, way, evidence)
        return self.outcomes

    def _judge_answer(self, entry: Entry[Content]) -> None:
        """Judge a message as its sender has it after the call."""
        if entry.fate is not Fate.ACCEPTED or entry.answered_at is None:
            return
        for finding in (*judge_answered_id(entry), *self._times.judge_answer(entry)):
            self.outcomes.add(finding, entry.way | {ANSWERED}, (entry.at, entry.answered_at))

    def _judge(self, queue: Queue, delivery: Delivery) -> None:
        """Judge a delivery by the entry that explains it best."""
        bound = [entry for entry in delivery.entries if entry.fate in BOUND]
        if len(bound) < len(delivery.entries):
            return
        is_alone = len(bound) == 1
        is_again = any(queue.is_again(delivery.event, entry) for entry in bound)
        delivery = replace(delivery, is_again=is_again)
        explained = [(entry, self._judge_alone(delivery, entry)) for entry in bound]
        entry, findings = min(explained, key=lambda each: count_broken(each[1]))
        way = entry.way | queue.way(delivery)
        if is_alone:
            findings += queue.judge(delivery, entry, self._claims)
            findings += self._times.judge(delivery, entry, self._claims)
            findings += self._judge_unique(delivery, entry)
        evidence = entry.evidence(delivery.at)
        for finding in findings:
            self.outcomes.add(finding, way, evidence)
        if is_alone:
            if not queue.was_delivered(entry) and names.EXPIRE_TIME in self._claims:
                self._see_expiry(delivery, entry, way)
            queue.note(delivery, entry)

    def _judge_alone(self, delivery: Delivery, entry: Entry[Content]) -> list[Finding]:
        return [finding for rule in RULES for finding in rule(delivery, entry, self._claims)]

    def _judge_unique(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        told = delivery.header.get(names.MESSAGE_ID)
        theirs = entry.content.header.get(names.MESSAGE_ID)
        if not isinstance(told, str) or told in ("", theirs):
            return
        place = delivery.event.destination, told
        if self._owners.setdefault(place, entry) is not entry:
            yield Finding("oms.message.message-id-assigned", "same-id", told)

    def _see_expiry(self, delivery: Delivery, entry: Entry[Content], way: frozenset[str]) -> None:
        expiry = self._times.is_expired(delivery, entry)
        if expiry is None:
            return
        if not expiry.is_absolute:
            self._has_aged = True
            return
        finding = Finding("oms.expire.discarded", "delivered", difference=expiry.difference)
        self._expired.append((finding, way, entry.evidence(delivery.at)))
