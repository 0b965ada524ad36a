"""Runs cases and writes down what was observed.

A case runs in a thread with a deadline; what it owes to the target's slowness is settled by a
control round trip; a failure is repeated with fresh names; a death of the target is charged to
one case, and what ran at the time or cannot run afterwards says so.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import msgspec

from wireproof_kit.errors import ArrangementFailed, TargetSilent, TargetUnreachable
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.deaths import Deaths
from wireproof_kit.runner.instance import Instance
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import (
    CONFORMING,
    KIT_ERROR,
    UNAVAILABLE,
    UNDECIDED,
    WITHHELD,
    JudgeContext,
    judge,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.record import (
    CaseRecord,
    DifferenceRecord,
    RepeatsRecord,
    SeenRecord,
    StepRecord,
    TranscriptRecord,
    pack_bytes,
)

CASE_TIMEOUT_S = 120.0
HURRY = 0.1
WAITING_SHARE = 0.5
"""A case that spends more of its time than this waiting in vain was kept waiting by the target."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How cases are run.

    ``repeats`` counts the runs of a failing case in all; ``repeat_budget_s`` bounds the time
    they may take for one case, ``all_repeats_s`` for the run; ``waiters`` is how many cases may
    wait at once; ``restart`` brings a dead target back and returns whether it is alive again.
    ``hurry_after`` overdue answers the kit waits a tenth of its patience and no longer fails
    what is overdue: a target that owes everything would keep it waiting for hours.
    ``transcripts`` tells whether records keep what was sent and received.
    """

    repeats: int = 5
    repeat_budget_s: float = 20.0
    all_repeats_s: float = 60.0
    hurry_after: int = 40
    waiters: int = 16
    case_timeout_s: float = CASE_TIMEOUT_S
    restart: Callable[[], bool] | None = None
    transcripts: bool = True


@dataclass(slots=True)
class _Outcome:
    observation: Observation
    transcript: Transcript
    seconds: float


@dataclass(slots=True)
class Engine:
    """Runs instances against one session; one per run."""

    session: Session
    bench: JudgeContext
    options: RunOptions = RunOptions()
    _pool: ThreadPoolExecutor | None = None
    _waiting: dict[str, Future[CaseRecord]] = field(default_factory=dict[str, Future[CaseRecord]])
    _repeating_s: float = 0.0
    _overdue: int = 0
    _deaths: Deaths = field(init=False)
    _running: set[SimpleQueue[Observation]] = field(default_factory=set[SimpleQueue[Observation]])

    def __post_init__(self) -> None:
        self._deaths = Deaths(self.session, self.options.restart)

    def start(self, instances: Iterable[Instance]) -> None:
        """Start waiting cases early, each in a thread of a bounded pool."""
        self._pool = ThreadPoolExecutor(self.options.waiters, thread_name_prefix="waiting-case")
        for instance in instances:
            self._waiting[instance.id] = self._pool.submit(self._run, instance)

    def run(self, instance: Instance) -> CaseRecord:
        """Run a case, or collect it if it was started before, and judge it."""
        started = self._waiting.pop(instance.id, None)
        return started.result() if started is not None else self._run(instance)

    def close(self) -> None:
        """Give up what was not collected: the process must not outlast its waits."""
        for finished in list(self._running):
            finished.put(observed(f"{UNDECIDED}:given-up", note="the run ended first"))
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, instance: Instance) -> CaseRecord:
        if self._deaths.is_final:
            empty = _Outcome(observed(UNDECIDED), Transcript(), 0.0)
            return self._undecided(instance, empty)
        since = self._deaths.number
        outcome = self._perform(instance)
        first = self._record_seen(instance, outcome, since)
        record = self._record(instance, first, outcome)
        if judge(record, self.bench).verdict == "fail" and not self._deaths.is_final:
            record = self._repeat(instance, record, outcome.seconds)
        record = judge_record(record, self.bench)
        is_other_death = self._deaths.number != since and not self._deaths.has_killed(instance.id)
        if is_other_death and record.verdict not in CONFORMING:
            return self._undecided(instance, outcome, first.value)
        return record

    def _undecided(self, instance: Instance, outcome: _Outcome, seen: str = "") -> CaseRecord:
        """Return the record of a case that another case's death of the target concerned."""
        return judge_record(
            self._record(instance, self._deaths.undecided(seen), outcome), self.bench
        )

    def _perform(self, instance: Instance) -> _Outcome:
        transcript = Transcript()
        finished: SimpleQueue[Observation] = SimpleQueue()
        started = time.monotonic()
        self._running.add(finished)
        threading.Thread(
            target=lambda: finished.put(self._experiment(instance, transcript)),
            name=f"case-{instance.id}",
            daemon=True,
        ).start()
        try:
            observation = finished.get(timeout=self.options.case_timeout_s)
        except Empty:
            observation = self._late(transcript)
        finally:
            self._running.discard(finished)
        return _Outcome(observation, transcript, time.monotonic() - started)

    def _late(self, transcript: Transcript) -> Observation:
        """Return what is seen of a case that does not end: the target's fault, or ours."""
        limit, waited = self.options.case_timeout_s, transcript.vain_s
        note = f"the case did not end within {limit:g} s"
        if waited < WAITING_SHARE * limit:
            return observed(f"{KIT_ERROR}:timeout", note=note)
        note = f"{note}: for {waited:.0f} s it waited in vain for what the target owed"
        return observed(WITHHELD, overdue=True, note=note)

    def _experiment(self, instance: Instance, transcript: Transcript) -> Observation:
        """Run the case's function once; the outermost loop of the kit."""
        arguments: dict[str, object] = {}
        try:
            arguments = self.session.arguments(instance.arguments, transcript)
            return instance.function(**arguments, **instance.parameters)
        except ArrangementFailed as error:
            if error.transcript is not None:
                transcript.extend(error.transcript)
            return observed(f"{UNDECIDED}:arrangement", note=str(error))
        except (TargetUnreachable, TargetSilent) as error:
            return observed(f"{UNDECIDED}:arrangement", note=str(error))
        except Exception as error:
            last = traceback.format_exception_only(error)[-1].strip()
            where = traceback.extract_tb(error.__traceback__)[-1]
            note = f"{last} ({where.name}, line {where.lineno})"
            return observed(f"{KIT_ERROR}:{type(error).__name__}", note=note)
        finally:
            self.session.release(arguments)

    def _record_seen(self, instance: Instance, outcome: _Outcome, since: int) -> SeenRecord:
        observation = outcome.observation
        seen = SeenRecord(
            value=observation.value,
            overdue=observation.overdue,
            difference=difference_record(observation.difference),
            note=observation.note,
        )
        if instance.mark.hazard or not self._conforms(instance, seen):
            found = self._deaths.notice(instance.id, observation, since=since)
            if found is not None:
                return found
        if not observation.overdue:
            return seen
        control = self.session.control().state
        if control == "prompt" and self._hurries():
            return _record_hurried(observation, self.options.hurry_after)
        return msgspec.structs.replace(seen, control=control)

    def _conforms(self, instance: Instance, seen: SeenRecord) -> bool:
        nothing = _Outcome(observed(seen.value), Transcript(), 0.0)
        record = self._record(instance, seen, nothing)
        return judge(record, self.bench).verdict in CONFORMING

    def _hurries(self) -> bool:
        """Count an overdue answer; tell whether the kit had already begun to hurry."""
        self._overdue += 1
        if self._overdue == self.options.hurry_after:
            self.session.patience = self.session.patience.cut(HURRY)
        return self._overdue > self.options.hurry_after

    def _repeat(self, instance: Instance, record: CaseRecord, seconds: float) -> CaseRecord:
        """Run a failing case again with fresh names; no repeat ever turns a failure green."""
        first, *_ = record.list_seen()
        same, others = 1, list[SeenRecord]()
        left = min(self.options.repeat_budget_s, self.options.all_repeats_s - self._repeating_s)
        while same + len(others) < self.options.repeats and seconds < left:
            since = self._deaths.number
            outcome = self._perform(instance)
            seen = self._record_seen(instance, outcome, since)
            left -= outcome.seconds
            self._repeating_s += outcome.seconds
            if seen.value == first.value:
                same += 1
            else:
                others.append(seen)
            if self._deaths.is_final:
                break
        repeats = RepeatsRecord(runs=same + len(others), same=same, others=tuple(others))
        return _with(record, repeats=repeats)

    def _record(self, instance: Instance, seen: SeenRecord, outcome: _Outcome) -> CaseRecord:
        return CaseRecord(
            case=instance.id,
            case_hash=instance.hash,
            clause=instance.clause.id,
            level=instance.clause.level,
            title=instance.title,
            observation=seen.value,
            verdict="error",
            reason="not judged yet",
            overdue=seen.overdue,
            control=seen.control,
            difference=seen.difference,
            note=seen.note,
            needs=instance.needs,
            hazard=instance.mark.hazard,
            duration_us=int(outcome.seconds * 1_000_000),
            transcript=transcript_record(
                outcome.transcript if self.options.transcripts else Transcript()
            ),
        )


def judge_record(record: CaseRecord, bench: JudgeContext) -> CaseRecord:
    """Return the record with the judge's verdict and today's clause, its level and origin."""
    judgement = judge(record, bench)
    clause = bench.catalogue.clause_of(record.case)
    return _with(
        record,
        clause=clause.id if clause else record.clause,
        level=clause.level if clause else record.level,
        origin=clause.origin if clause else record.origin,
        verdict=judgement.verdict,
        reason=judgement.reason,
        reading=judgement.reading,
        accepted=judgement.accepted,
        signature=judgement.signature,
        deviation=None,
    )


def record_unsupported(instance: Instance, bench: JudgeContext) -> CaseRecord:
    """Return the record of a case that is not run because the target lacks what it needs."""
    empty = _Outcome(observed(UNAVAILABLE), Transcript(), 0.0)
    record = CaseRecord(
        case=instance.id,
        case_hash=instance.hash,
        clause=instance.clause.id,
        level=instance.clause.level,
        title=instance.title,
        observation=empty.observation.value,
        verdict="unsupported",
        reason="",
        needs=instance.needs,
        hazard=instance.mark.hazard,
    )
    return judge_record(record, bench)


def transcript_record(transcript: Transcript) -> TranscriptRecord:
    """Turn a transcript into what a bundle keeps; nothing is left out."""
    return TranscriptRecord(
        steps=tuple(
            StepRecord(
                at_us=step.at_us,
                conn=step.connection,
                kind=step.kind,
                length=len(step.data),
                parts=tuple((p.offset, p.length, p.label, p.wrong) for p in step.parts),
                note=step.note,
                **pack_bytes(step.data),
            )
            for step in transcript.steps()
        )
    )


def _record_hurried(observation: Observation, after: int) -> SeenRecord:
    note = (
        f"saw {observation.value}, but the kit no longer waits long after {after} overdue answers"
    )
    return SeenRecord(value=f"{UNDECIDED}:hurried", note=note)


def difference_record(difference: Difference | None) -> DifferenceRecord | None:
    """Return what a bundle keeps of a difference."""
    if difference is None:
        return None
    return DifferenceRecord(
        difference.field, difference.offset, difference.expected, difference.found
    )


def _with(record: CaseRecord, **changes: object) -> CaseRecord:
    return msgspec.structs.replace(record, **changes)
