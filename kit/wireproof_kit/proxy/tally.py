"""What the traffic has shown of each clause, with the first evidence of it.

A clause deviates as soon as it was seen to deviate once; the evidence is then of that.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wireproof_kit.clients.again import observe_recorded
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Observation, observed
from wireproof_kit.proxy.checks import CONFORMS
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.records import seen_record, steps_record
from wireproof_kit.verdicts.judge import CONFORMING, JudgeContext, JudgedRuns, judge, judge_run
from wireproof_kit.wire.transcript import Step
from wireproof_spec.clauses.catalogue import CLIENT, PASSING, Catalogue, Clause, Law
from wireproof_spec.clauses.observations import load_observations
from wireproof_spec.record import CaseRecord, ClaimRecord


@dataclass(slots=True)
class Entry:
    """A clause's case with the number of times it was seen to conform and to deviate.

    ``observation`` and ``steps`` are the first deviation, or else the first evidence.
    """

    case: str
    clause: Clause
    law: Law
    title: str
    conforms: int = 0
    deviates: int = 0
    conn: str = ""
    observation: Observation = field(default_factory=lambda: observed(CONFORMS))
    steps: tuple[Step, ...] = ()

    @property
    def what(self) -> str:
        """How the clause was broken first, in words; empty if it was not."""
        seen = self.observation
        if not self.deviates or seen.note:
            return seen.note if self.deviates else ""
        protocol, _, _ = self.case.partition("/")
        words = load_observations(protocol).sentence(seen.value, self.case) or seen.value
        if (found := seen.difference) is None:
            return words
        return f"{words}: {found.field}: expected {found.expected}, found {found.found}"


class Tally:
    """Counts, for each clause, how often passing traffic conformed and deviated."""

    def __init__(
        self, protocol: str, catalogue: Catalogue, opening: Iterable[Instance] = ()
    ) -> None:
        self._protocol = protocol
        self._catalogue = catalogue
        self._opening = {instance.id: instance for instance in opening}
        self._bench = JudgeContext(catalogue, claim_all(catalogue), {})
        self._entries: dict[str, Entry] = {}

    def add(self, found: Finding, conn: str, steps: Iterable[Step]) -> Entry | None:
        """Count a clause shown to be kept or broken.

        Return its entry if broken for the first time. ``steps`` are only read if this is the first
        evidence.
        """
        case = f"{self._protocol}{PASSING}{found.clause}"
        seen = observed(found.value or CONFORMS, difference=found.difference, note=found.note)
        return self._count(case, seen, conn, steps, holds=found.holds)

    def add_opening(
        self, cases: Sequence[str], conn: str, steps: Sequence[Step]
    ) -> Iterator[Entry]:
        """Observe cases at the start of a connection; yield the entries of first deviations."""
        record = steps_record(steps)
        for case in cases:
            instance = self._opening.get(case)
            seen = observe_recorded(instance, record)
            if instance is None or seen is None:
                continue
            run = judge_run(seen_record(seen), instance.law, self._bench)
            verdict = run.judgement.verdict
            if verdict == "fail" or verdict in CONFORMING:
                holds = verdict != "fail"
                first = self._count(case, seen, conn, steps, holds=holds)
                if first is not None:
                    yield first

    def entries(self) -> Sequence[Entry]:
        """Return the entries, those of clients first, in the order of the catalogue."""
        order = {clause.id: place for place, clause in enumerate(self._catalogue.clauses())}

        def key(entry: Entry) -> tuple[bool, int]:
            return entry.clause.role != CLIENT, order[entry.clause.id]

        return sorted(self._entries.values(), key=key)

    def list_unseen(self, clauses: Iterable[str]) -> list[str]:
        """Return which of these clauses were neither seen kept nor broken."""
        seen = {entry.clause.id for entry in self._entries.values()}
        return [clause for clause in clauses if clause not in seen]

    def records(self) -> Iterator[CaseRecord]:
        """Return the judged record of each entry."""
        return map(self._record, self.entries())

    def claims(self) -> Mapping[str, ClaimRecord]:
        """Return all capabilities as claimed: clauses seen in traffic need no probes."""
        return self._bench.claims

    def _count(
        self, case: str, seen: Observation, conn: str, steps: Iterable[Step], *, holds: bool
    ) -> Entry | None:
        entry = self._entries.get(case)
        is_new = entry is None
        if entry is None:
            law = self._catalogue.find_law(case)
            if law is None:
                raise LookupError(f"the catalogue has no clause for {case}")
            instance = self._opening.get(case)
            entry = Entry(case, *law, instance.title if instance else law[0].law)
            self._entries[case] = entry
        is_first = not holds and not entry.deviates
        if is_new or is_first:
            entry.conn, entry.observation, entry.steps = conn, seen, tuple(steps)
        entry.conforms += holds
        entry.deviates += not holds
        return entry if is_first else None

    def _record(self, entry: Entry) -> CaseRecord:
        count = f"seen to conform {entry.conforms} times, to deviate {entry.deviates} times"
        told = entry.observation.note
        noted = replace(entry.observation, note=f"{told}; {count}" if told else count)
        run = judge_run(seen_record(noted), entry.law, self._bench)
        instance = self._opening.get(entry.case)
        needs = instance.needs if instance else entry.clause.needs
        own_hash = hashlib.sha256(entry.case.encode()).hexdigest()[:12]
        judgement = judge(JudgedRuns(run), entry.clause, needs, self._bench)
        return CaseRecord(
            case=entry.case,
            case_hash=instance.hash if instance else own_hash,
            clause=entry.clause.id,
            level=entry.clause.level,
            title=entry.title,
            observation=run.seen.value,
            verdict=judgement.verdict,
            reason=judgement.reason,
            origin=entry.clause.origin,
            overdue=run.seen.overdue,
            difference=run.seen.difference,
            note=run.seen.note,
            reading=judgement.reading,
            signature=judgement.signature,
            accepted=judgement.accepted,
            needs=needs,
            transcript=steps_record(entry.steps),
        )


def claim_all(catalogue: Catalogue) -> Mapping[str, ClaimRecord]:
    """Return every capability as shown: what is observed needs what it needs."""
    return {
        capability.id: ClaimRecord(
            "shown", next(iter(capability.shown_by), ""), note="by the traffic"
        )
        for capability in catalogue.capabilities
    }
