"""Records what the ledger of a run concludes: one record for each clause and way."""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import msgspec

from wireproof_kit.ledger.ledger import Ledger, OpensLedger
from wireproof_kit.ledger.outcomes import Outcome, name_run
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.records import seen_record, steps_record
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import JudgeContext, JudgedRun, JudgedRuns, judge, judge_run
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.catalogue import PASSING
from wireproof_spec.record import CaseRecord, WayRecord

CONFORMS = "conforms"
RUNS = 5
"""How often a case with a breach is run in all, as a failing case is."""
MOST_AGAIN = 60
"""How many cases are run again, at most, for all breaches of a run that one case alone showed."""
CANNOT = "its case cannot run again"

ExchangeAgain = Callable[[str], Transcript | None]
"""Runs a case again by its id and returns its exchange; None if that is not possible."""


@dataclass(slots=True)
class Ways:
    """Reads the transcripts of a run's cases into its ledger; thread-safe."""

    protocol: str
    bench: JudgeContext
    _ledger: Ledger | None
    _open: Callable[[], Ledger] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _runs: Counter[str] = field(default_factory=Counter[str])
    _confirmed: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _left: int = MOST_AGAIN

    @classmethod
    def open(cls, protocol: str, bench: JudgeContext, session: Session) -> "Ways":
        """Return the ways of a run; without rules of content for its target there are none."""
        if not isinstance(session, OpensLedger):
            return cls(protocol, bench, None)
        return cls(protocol, bench, session.open_ledger(), session.open_ledger)

    def read(self, case: str, transcript: Transcript) -> None:
        """Read the steps of one run of a case."""
        if self._ledger is not None:
            with self._lock:
                self._runs[case] += 1
                run = name_run(case, self._runs[case])
                self._ledger.read(run, transcript.steps(), transcript.started_ms)

    def conclude(
        self, again: ExchangeAgain | None, selected: AbstractSet[str]
    ) -> Iterator[WayRecord]:
        """Yield the records of the run, in the order of clauses and ways.

        Ways of the ``selected`` clauses count. What cannot be decided has no record. Without
        ``again``, a breach that was seen once is decided.
        """
        if self._ledger is None:
            return
        with self._lock:
            outcomes = self._ledger.conclude()
        # First what many runs showed: it confirms the same flaw on ways that no repeat may take.
        judged = [
            (outcome, self._judge(outcome, again))
            for outcome in sorted(outcomes, key=lambda each: -len(each.runs))
        ]
        for outcome, result in sorted(judged, key=lambda pair: (pair[0].clause, pair[0].way)):
            if result.verdict != "inconclusive":
                is_counted = outcome.clause in selected
                cases = tuple(outcome.cases)
                yield WayRecord(result, outcome.kept, outcome.broken, cases, is_counted)

    def _judge(self, outcome: Outcome, again: ExchangeAgain | None) -> CaseRecord:
        name = f"{self.protocol}{PASSING}{outcome.clause}/{outcome.way}"
        found = self.bench.catalogue.find_law(name)
        if found is None:
            raise LookupError(f"the catalogue has no clause for {name}")
        clause, law = found
        title = ", ".join(way.title for way in self.bench.catalogue.find_ways(name))
        run = judge_run(seen_record(_observe(outcome)), law, self.bench)
        runs = JudgedRuns(run)
        if outcome.finding is not None and again is not None:
            kept = judge_run(seen_record(observed(CONFORMS)), law, self.bench)
            runs = self._repeat(name, outcome, run, kept, again)
        judgement = judge(runs, clause, clause.needs, self.bench)
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
            repeats=runs.record(),
            transcript=steps_record(steps),
            evidence=(len(steps) - 1,) if steps else (),
        )

    def _repeat(
        self, name: str, outcome: Outcome, run: JudgedRun, kept: JudgedRun, again: ExchangeAgain
    ) -> JudgedRuns:
        """Repeat a breach that one run of one case alone has shown."""
        cause = outcome.clause, run.seen.value
        if len(outcome.runs) >= RUNS:
            self._confirmed.setdefault(cause, name)
        if len(outcome.runs) > 1:
            return JudgedRuns(run, alike=min(len(outcome.runs), RUNS))
        if by := self._confirmed.get(cause):
            return JudgedRuns(run, confirmed_by=by)
        seen = [self._sees_again(outcome, case, again) for case in outcome.cases[:1] * (RUNS - 1)]
        decided = [each for each in seen if each is not None]
        alike = 1 + sum(decided)
        if decided and all(decided):
            self._confirmed[cause] = name
        others = (kept,) * (len(decided) - sum(decided))
        return JudgedRuns(run, others, alike, unrepeated="" if decided else CANNOT)

    def _sees_again(self, outcome: Outcome, case: str, again: ExchangeAgain) -> bool | None:
        """Return True if a case shows the breach when it runs again; None if it cannot."""
        if not self._left:
            return None
        self._left -= 1
        transcript = again(case)
        if transcript is None or self._open is None:
            return None
        ledger = self._open()
        ledger.read(case, transcript.steps(), transcript.started_ms)
        place = outcome.clause, outcome.way
        return any((each.clause, each.way) == place and each.broken for each in ledger.conclude())


def join_ways(one: WayRecord, other: WayRecord) -> WayRecord:
    """Return what two parts of a run showed together of one clause on one way."""
    shown = one if one.broken or not other.broken else other
    return msgspec.structs.replace(
        shown,
        kept=one.kept + other.kept,
        broken=one.broken + other.broken,
        cases=(*one.cases, *other.cases),
    )


def _observe(outcome: Outcome) -> Observation:
    total = outcome.kept + outcome.broken
    note = f"broken by {outcome.broken} of {total} messages"
    finding = outcome.finding
    if finding is None:
        return observed(CONFORMS, note=note)
    note = f"{note}, first in {outcome.cases[0]}" if outcome.cases else note
    note = f"{finding.note}; {note}" if finding.note else note
    return observed(finding.value, difference=finding.difference, note=note)
