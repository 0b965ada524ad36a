"""Runs cases and records their observations.

A case runs in a thread with a deadline. A control round trip decides whether an overdue answer is
due to a slow machine. A failure is repeated with new names. A death of the target is charged to
one case; cases that ran at the time, or cannot run afterwards, are undecided.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import msgspec

from wireproof_kit.errors import ArrangementFailed, KitError, TargetSilent, TargetUnreachable
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.deaths import Deaths
from wireproof_kit.runner.hurry import Hurry, hurry_with
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.line import Line, has_reset
from wireproof_kit.runner.patience import hurry
from wireproof_kit.targets.process import TargetProcess
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import (
    CONFORMING,
    KIT_ERROR,
    UNAVAILABLE,
    UNDECIDED,
    WITHHELD,
    JudgeContext,
    JudgedRun,
    JudgedRuns,
    Judgement,
    judge,
    judge_run,
)
from wireproof_kit.wire.transcript import Step, Transcript
from wireproof_spec.record import (
    CaseRecord,
    DifferenceRecord,
    SeenRecord,
    StepRecord,
    TranscriptRecord,
    pack_bytes,
)

CASE_TIMEOUT_S = 120.0
FAR_S = 0.2
"""Seconds of a round trip from which on cases run faster in parallel."""
SIDE_BY_SIDE = 4
"""How many times more cases run in parallel then than waiting cases: they do little else."""
WAITING_SHARE = 0.5
"""If more than this share of a case's time passed in vain waits, the target caused it."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the engine runs cases; times are in seconds.

    ``repeats`` is the number of runs of a failing case. ``repeat_budget_s`` limits the time of
    these runs for one case, ``all_repeats_s`` for the whole run. ``waiters`` is the number of
    cases that may wait at once. ``restart`` restarts a dead target and returns whether it is
    alive; ``process`` is the target's process, if the user named it. After ``hurry_after`` overdue
    failures, or earlier, the kit waits as briefly as it can: a target that answers nothing would
    keep the kit waiting for hours. A ``patient`` run never does so. ``transcripts``: records keep
    the bytes sent and received.
    """

    repeats: int = 5
    repeat_budget_s: float = 20.0
    all_repeats_s: float = 60.0
    hurry_after: int = 40
    patient: bool = False
    waiters: int = 16
    case_timeout_s: float = CASE_TIMEOUT_S
    restart: Callable[[], bool] | None = None
    process: TargetProcess | None = None
    transcripts: bool = True


@dataclass(slots=True)
class _Outcome:
    observation: Observation
    transcript: Transcript = field(default_factory=Transcript)
    seconds: float = 0.0
    is_hurried: bool = False


@dataclass(slots=True)
class Engine:
    """Runs the cases of one run against one session, and judges them."""

    session: Session
    bench: JudgeContext
    options: RunOptions = RunOptions()
    _pools: list[ThreadPoolExecutor] = field(default_factory=list[ThreadPoolExecutor])
    _waiting: dict[str, Future[CaseRecord]] = field(default_factory=dict[str, Future[CaseRecord]])
    _repeating_s: float = 0.0
    _later: dict[str, Instance] = field(default_factory=dict[str, Instance])
    _hurry: Hurry = field(init=False)
    _deaths: Deaths = field(init=False)
    _line: Line = field(init=False)
    _running: set[SimpleQueue[Observation]] = field(default_factory=set[SimpleQueue[Observation]])

    def __post_init__(self) -> None:
        self._deaths = Deaths(self.session, self.options.restart, self.options.process)
        self._line = Line(self.session)
        self._hurry = hurry_with(
            self.session.patience, after=self.options.hurry_after, never=self.options.patient
        )

    def start(self, instances: Iterable[Instance]) -> None:
        """Start the waiting cases early, each in a thread of a bounded pool.

        The other cases are started early, too, if the target is far away or withholds answers: a
        thousand short waits, one after another, would take many minutes.
        """
        pool = ThreadPoolExecutor(self.options.waiters, thread_name_prefix="waiting-case")
        self._pools.append(pool)
        harmless = [item for item in instances if not (item.mark.alone or item.mark.hazard)]
        self._later = {item.id: item for item in harmless if not item.mark.waiting}
        for instance in harmless:
            if instance.mark.waiting:
                self._waiting[instance.id] = pool.submit(self._run, instance)
        if self._later and self.session.control().seconds >= FAR_S:
            self._start_the_rest()

    def run(self, instance: Instance) -> CaseRecord:
        """Run a case, or wait for it if it was started before; judge it and return its record."""
        self._later.pop(instance.id, None)
        if self._hurry.is_general:
            self._start_the_rest()
        started = self._waiting.pop(instance.id, None)
        return started.result() if started is not None else self._run(instance)

    def _start_the_rest(self) -> None:
        later, self._later = self._later, {}
        if not later:
            return
        workers = self.options.waiters * SIDE_BY_SIDE
        pool = ThreadPoolExecutor(workers, thread_name_prefix="hurried-case")
        self._pools.append(pool)
        for instance in later.values():
            self._waiting[instance.id] = pool.submit(self._run, instance)

    def close(self) -> None:
        """Abandon the cases that have not ended, so that the process can end without them."""
        for finished in list(self._running):
            finished.put(observed(f"{UNDECIDED}:given-up", note="the run ended first"))
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, instance: Instance) -> CaseRecord:
        since = self._deaths.begin()
        if since is None:
            empty = _Outcome(observed(UNDECIDED))
            return self._record(instance, self._undecided(instance), empty)
        outcome = self._perform(instance)
        runs = JudgedRuns(self._judge_run(instance, outcome, since))
        if runs.first.judgement.verdict == "fail" and not self._deaths.is_final:
            runs = self._repeat(instance, runs.first, outcome.seconds)
        is_other_death = self._deaths.number != since and not self._deaths.has_killed(instance.id)
        if is_other_death and _judge(instance, runs, self.bench).verdict not in CONFORMING:
            runs = self._undecided(instance, runs.first.seen.value)
        record = self._record(instance, runs, outcome)
        self._hurry.learn(instance, record)
        return record

    def _undecided(self, instance: Instance, seen: str = "") -> JudgedRuns:
        """Return the run of a case that another case's death of the target concerned."""
        undecided = self._deaths.make_undecided(seen)
        return JudgedRuns(judge_run(undecided, instance.law, self.bench))

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
        seconds = time.monotonic() - started
        return _Outcome(observation, transcript, seconds, self._hurry.applies(instance))

    def _late(self, transcript: Transcript) -> Observation:
        """Return the observation of a case that does not end: the target's fault or the kit's."""
        limit, waited = self.options.case_timeout_s, transcript.vain_s
        note = f"the case did not end within {limit:g} s"
        if waited < WAITING_SHARE * limit:
            is_far = self.session.control().seconds >= FAR_S
            return observed(f"{UNDECIDED if is_far else KIT_ERROR}:timeout", note=note)
        note = f"{note}: for {waited:.0f} s it waited in vain for what the target owed"
        return observed(WITHHELD, overdue=True, note=note)

    def _experiment(self, instance: Instance, transcript: Transcript) -> Observation:
        """Run the case's function once; the outermost loop of the kit."""
        arguments: dict[str, object] = {}
        with hurry(lambda: self._hurry.applies(instance)):
            try:
                arguments.update(self.session.arguments(instance.arguments, transcript))
                return instance.function(**arguments, **instance.parameters)
            except (ArrangementFailed, TargetUnreachable, TargetSilent) as error:
                return _observe_unarranged(error, transcript)
            except Exception as error:
                last = traceback.format_exception_only(error)[-1].strip()
                where = traceback.extract_tb(error.__traceback__)[-1]
                note = f"{last} ({where.name}, line {where.lineno})"
                return observed(f"{KIT_ERROR}:{type(error).__name__}", note=note)
            finally:
                self.session.release(arguments)

    def _judge_run(self, instance: Instance, outcome: _Outcome, since: int) -> JudgedRun:
        """Judge a run of a case; again if the target's state changes what was seen."""
        seen = msgspec.structs.replace(seen_record(outcome.observation), overdue=False)
        judged = judge_run(seen, instance.law, self.bench)
        conforms = judged.judgement.verdict in CONFORMING
        settled = self._settle(instance, outcome, since, conforms=conforms)
        return judged if settled is None else judge_run(settled, instance.law, self.bench)

    def _settle(
        self, instance: Instance, outcome: _Outcome, since: int, *, conforms: bool
    ) -> SeenRecord | None:
        """Return what was seen, given the target's state; None if the state changes nothing."""
        observation = outcome.observation
        if instance.mark.hazard or not conforms:
            found = self._deaths.notice(instance.id, observation, since=since)
            if found is not None:
                return found
            if has_reset(outcome.transcript) and self._line.is_bad():
                return _record_cut_off(observation)
            self._hurry.spend(instance, outcome.transcript.vain_s)
        if not observation.overdue:
            return None
        is_slow = observation.starved and not conforms
        control = "slow" if is_slow else self.session.control().state
        if control == "prompt" and outcome.is_hurried:
            return _record_hurried(observation)
        # A process that ends closes its listener last, which on a busy machine comes this late.
        found = None
        if control == "dead" and not conforms:
            found = self._deaths.notice(instance.id, observation, since=since)
        return found or msgspec.structs.replace(seen_record(observation), control=control)

    def _repeat(self, instance: Instance, first: JudgedRun, seconds: float) -> JudgedRuns:
        """Run a failing case again with fresh names; no repeat ever turns a failure green."""
        alike, others = 1, list[JudgedRun]()
        left = min(self.options.repeat_budget_s, self.options.all_repeats_s - self._repeating_s)
        while (
            alike + len(others) < self.options.repeats
            and seconds < left
            and self._hurry.repeats(instance)
        ):
            since = self._deaths.begin()
            if since is None:
                break
            outcome = self._perform(instance)
            run = self._judge_run(instance, outcome, since)
            left -= outcome.seconds
            self._repeating_s += outcome.seconds
            if run.seen.value == first.seen.value:
                alike += 1
            else:
                others.append(run)
        return JudgedRuns(first, tuple(others), alike)

    def _record(self, instance: Instance, runs: JudgedRuns, outcome: _Outcome) -> CaseRecord:
        if not self.options.transcripts:
            outcome.transcript = Transcript()
        return _make_record(instance, runs, outcome, self.bench)


def record_unsupported(instance: Instance, bench: JudgeContext) -> CaseRecord:
    """Return the record of a case that is not run because the target lacks a capability."""
    runs = JudgedRuns(judge_run(SeenRecord(UNAVAILABLE), instance.law, bench))
    return _make_record(instance, runs, _Outcome(observed(UNAVAILABLE)), bench)


def _judge(instance: Instance, runs: JudgedRuns, bench: JudgeContext) -> Judgement:
    return judge(runs, instance.clause, instance.needs, bench)


def _make_record(
    instance: Instance, runs: JudgedRuns, outcome: _Outcome, bench: JudgeContext
) -> CaseRecord:
    seen, judgement = runs.first.seen, _judge(instance, runs, bench)
    return CaseRecord(
        case=instance.id,
        case_hash=instance.hash,
        clause=instance.clause.id,
        level=instance.clause.level,
        title=instance.title,
        observation=seen.value,
        verdict=judgement.verdict,
        reason=judgement.reason,
        origin=instance.clause.origin,
        overdue=seen.overdue,
        control=seen.control,
        difference=seen.difference,
        note=seen.note,
        evidence=seen.evidence,
        reading=judgement.reading,
        signature=judgement.signature,
        accepted=judgement.accepted,
        needs=instance.needs,
        repeats=runs.record(),
        hazard=instance.mark.hazard,
        duration_us=int(outcome.seconds * 1_000_000),
        transcript=transcript_record(outcome.transcript),
    )


def transcript_record(transcript: Transcript) -> TranscriptRecord:
    """Return a transcript in the form that a bundle stores; nothing is left out."""
    return steps_record(transcript.steps())


def steps_record(steps: Iterable[Step]) -> TranscriptRecord:
    """Return steps of a transcript in the form that a bundle stores."""
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
            for step in steps
        )
    )


def _record_hurried(observation: Observation) -> SeenRecord:
    note = f"saw {observation.value}, but the kit no longer waits long: the target owes too much"
    return SeenRecord(value=f"{UNDECIDED}:hurried", note=note)


def _record_cut_off(observation: Observation) -> SeenRecord:
    note = f"saw {observation.value}, but the way to the target resets connections by itself"
    return SeenRecord(value=f"{UNDECIDED}:cut-off", note=note)


def _observe_unarranged(error: KitError, transcript: Transcript) -> Observation:
    """Return what is seen when a case could not be prepared, with the exchange that failed."""
    if isinstance(error, ArrangementFailed) and error.transcript is not None:
        transcript.extend(error.transcript)
    return observed(f"{UNDECIDED}:arrangement", note=str(error))


def seen_record(observation: Observation) -> SeenRecord:
    """Return an observation in the form that a bundle stores."""
    return SeenRecord(
        value=observation.value,
        overdue=observation.overdue,
        difference=difference_record(observation.difference),
        note=observation.note,
        evidence=observation.evidence,
    )


def difference_record(difference: Difference | None) -> DifferenceRecord | None:
    """Return a difference in the form that a bundle stores."""
    if difference is None:
        return None
    return DifferenceRecord(
        difference.field, difference.offset, difference.expected, difference.found
    )
