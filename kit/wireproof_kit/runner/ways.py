"""Records what the ledger of a run concludes: one record for each clause and way."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from wireproof_kit.ledger.ledger import Ledger, OpensLedger
from wireproof_kit.ledger.outcomes import Outcome, name_run
from wireproof_kit.observation import observed
from wireproof_kit.runner.records import seen_record, steps_record
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import JudgeContext, JudgedRuns, judge, judge_run
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.catalogue import PASSING
from wireproof_spec.record import CaseRecord, WayRecord

CONFORMS = "conforms"


@dataclass(slots=True)
class Ways:
    """Reads the transcripts of a run's cases into its ledger; thread-safe."""

    protocol: str
    bench: JudgeContext
    _ledger: Ledger | None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _runs: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def open(cls, protocol: str, bench: JudgeContext, session: Session) -> "Ways":
        """Return the ways of a run; without rules of content for its target there are none."""
        ledger = session.open_ledger() if isinstance(session, OpensLedger) else None
        return cls(protocol, bench, ledger)

    def read(self, case: str, transcript: Transcript) -> None:
        """Read the steps of one run of a case."""
        if self._ledger is not None:
            with self._lock:
                self._runs[case] += 1
                run = name_run(case, self._runs[case])
                self._ledger.read(run, transcript.steps(), transcript.started_ms)

    def conclude(self) -> Iterator[WayRecord]:
        """Yield the records of the run, in the order of clauses and ways."""
        if self._ledger is None:
            return
        with self._lock:
            outcomes = self._ledger.conclude()
        for outcome in sorted(outcomes, key=lambda each: (each.clause, each.way)):
            yield self._record(outcome)

    def _record(self, outcome: Outcome) -> WayRecord:
        result = self._judge(outcome)
        return WayRecord(result, outcome.kept, outcome.broken, tuple(outcome.cases))

    def _judge(self, outcome: Outcome) -> CaseRecord:
        name = f"{self.protocol}{PASSING}{outcome.clause}/{outcome.way}"
        found = self.bench.catalogue.find_law(name)
        if found is None:
            raise LookupError(f"the catalogue has no clause for {name}")
        clause, law = found
        title = ", ".join(way.title for way in self.bench.catalogue.find_ways(name))
        finding = outcome.finding
        note = f"{outcome.kept} messages kept the clause, {outcome.broken} broke it"
        seen = observed(CONFORMS, note=note)
        if finding is not None:
            note = f"{finding.note}; {note}" if finding.note else note
            seen = observed(finding.value, difference=finding.difference, note=note)
        run = judge_run(seen_record(seen), law, self.bench)
        judgement = judge(JudgedRuns(run), clause, clause.needs, self.bench)
        steps = tuple(place.step for place in outcome.evidence)
        return CaseRecord(
            case=name,
            case_hash=hashlib.sha256(name.encode()).hexdigest()[:12],
            clause=clause.id,
            level=clause.level,
            title=f"{clause.law} ({title})",
            observation=run.seen.value,
            verdict=judgement.verdict,
            reason=judgement.reason,
            origin=clause.origin,
            difference=run.seen.difference,
            note=run.seen.note,
            signature=judgement.signature,
            accepted=judgement.accepted,
            needs=clause.needs,
            transcript=steps_record(steps),
            evidence=(len(steps) - 1,) if steps else (),
        )
