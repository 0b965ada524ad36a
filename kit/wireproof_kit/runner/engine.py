"""Runs cases and records their observations.

A case runs in a thread with a deadline. A control round trip decides whether an overdue answer is
due to a slow machine; then the case is run again. A failure is repeated with new names. A death of
the target is charged to one case; cases that ran at the time, or cannot run afterwards, are
undecided.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import msgspec

from wireproof_kit.drivers.processor import LATENESS
from wireproof_kit.errors import (
    AllowedRefused,
    Exhausted,
    is_exhausted,
    refuse_exhausted,
)
from wireproof_kit.observation import Observation, observed
from wireproof_kit.processes.limits import fit_cases
from wireproof_kit.runner.deaths import Deaths
from wireproof_kit.runner.hurry import Hurry, hurry_with
from wireproof_kit.runner.instance import (
    Instance,
    describe_raised,
    describe_returned,
    describe_stuck,
)
from wireproof_kit.runner.line import Line
from wireproof_kit.runner.patience import hurry
from wireproof_kit.runner.records import judge_instance, make_record, seen_record
from wireproof_kit.runner.repeats import MOST_REPEATS, Repeats
from wireproof_kit.runner.troubles import (
    UNARRANGED,
    Outcome,
    find_trouble,
    may_decide_later,
    note_runs,
    observe_exhausted,
    observe_unarranged,
    record_hurried,
    record_trouble,
)
from wireproof_kit.runner.ways import Ways
from wireproof_kit.targets.process import TargetProcess
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import (
    CONFORMING,
    EXHAUSTED,
    KIT_ERROR,
    UNDECIDED,
    WITHHELD,
    JudgeContext,
    JudgedRun,
    JudgedRuns,
    judge_run,
    signature,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import Deadline, Pauses, note_pauses
from wireproof_spec.record import CaseRecord, SeenRecord, Verdict

CASE_TIMEOUT_S = 120.0
DECIDING_RUNS = 5
"""How often a case is run, at most, while a trouble of the kit's own leaves it undecided."""
FAR_S = 0.2
"""Seconds of a round trip from which on cases run faster in parallel."""
SIDE_BY_SIDE = 4
"""How many times more cases run in parallel then than waiting cases: they do little else."""
CLIENTS_AT_ONCE = 6
"""Cases of a client that may wait at once by default: each starts a process of its own."""
WAITING_SHARE = 0.5
"""If more than this share of a case's time passed in vain waits, the target caused it."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the engine runs cases; times are in seconds.

    ``repeats`` is the number of runs of a failing case; with 1, a failure that was seen once
    counts. ``most_repeats`` limits the further runs of all cases together. ``waiters`` is the
    number of cases that may wait at once. ``restart`` restarts a dead target and returns whether
    it is alive; ``process`` is the target's process, if the user named it. After ``hurry_after``
    overdue failures, or earlier, the kit waits as briefly as it can: a target that answers nothing
    would keep the kit waiting for hours. A ``patient`` run never does so. ``transcripts``: records
    keep the bytes sent and received.
    """

    repeats: int = 5
    most_repeats: int = MOST_REPEATS
    hurry_after: int = 40
    patient: bool = False
    waiters: int = 16
    case_timeout_s: float = CASE_TIMEOUT_S
    restart: Callable[[], bool] | None = None
    process: TargetProcess | None = None
    transcripts: bool = True


@dataclass(slots=True)
class Engine:
    """Runs the cases of one run against one session, and judges them."""

    session: Session
    bench: JudgeContext
    options: RunOptions = RunOptions()
    ways: Ways | None = None
    _pools: list[ThreadPoolExecutor] = field(default_factory=list[ThreadPoolExecutor])
    _waiting: dict[str, Future[CaseRecord]] = field(default_factory=dict[str, Future[CaseRecord]])
    _later: dict[str, Instance] = field(default_factory=dict[str, Instance])
    _hurry: Hurry = field(init=False)
    _deaths: Deaths = field(init=False)
    _line: Line = field(init=False)
    _repeats: Repeats = field(init=False)
    _running: set[SimpleQueue[Observation]] = field(default_factory=set[SimpleQueue[Observation]])
    _unread: dict[SimpleQueue[Observation], tuple[str, Transcript]] = field(
        default_factory=dict[SimpleQueue[Observation], tuple[str, Transcript]]
    )
    """The cases that run whose exchanges the ways have not read yet."""
    _ended: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._deaths = Deaths(self.session, self.options.restart, self.options.process)
        self._line = Line(self.session)
        LATENESS.start()
        self._repeats = Repeats(self.options.repeats, self.options.most_repeats)
        self._hurry = hurry_with(
            self.session.patience, after=self.options.hurry_after, never=self.options.patient
        )

    def start(self, instances: Iterable[Instance]) -> None:
        """Start the waiting cases early, each in a thread of a bounded pool.

        The other cases are started early, too, if the target is far away or withholds answers: a
        thousand short waits, one after another, would take many minutes.
        """
        waiters = fit_cases(self.options.waiters)
        pool = ThreadPoolExecutor(waiters, thread_name_prefix="waiting-case")
        self._pools.append(pool)
        harmless = [item for item in instances if not (item.mark.alone or item.mark.hazard)]
        self._later = {item.id: item for item in harmless if not item.mark.waiting}
        self._submit(pool, [item for item in harmless if item.mark.waiting])
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
        workers = fit_cases(self.options.waiters * SIDE_BY_SIDE)
        pool = ThreadPoolExecutor(workers, thread_name_prefix="hurried-case")
        self._pools.append(pool)
        self._submit(pool, later.values())

    def _submit(self, pool: ThreadPoolExecutor, instances: Iterable[Instance]) -> None:
        """Start cases in a pool; without a thread for one, it is run in its turn."""
        for instance in instances:
            try:
                self._waiting[instance.id] = pool.submit(self._run, instance)
            except RuntimeError as error:
                if is_exhausted(error):
                    return
                raise

    def read_unfinished(self) -> None:
        """Read into the ways what the cases that still run have exchanged so far.

        Another case may have got a message of theirs: cases share topics.
        """
        for finished in list(self._unread):
            self._read(finished)

    def _read(self, finished: SimpleQueue[Observation]) -> None:
        """Read the exchange of a case into the ways, once."""
        unread = self._unread.pop(finished, None)
        if unread is not None and self.ways is not None:
            self.ways.read(*unread)

    def close(self) -> None:
        """Abandon the cases that have not ended, so that the process can end without them."""
        self._repeats.most = 0
        for finished in list(self._running):
            finished.put(observed(f"{UNDECIDED}:given-up", note="the run ended first"))
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def count_ended(self) -> int:
        """Return how many cases have ended, also those whose turn to be told has not come."""
        return self._ended

    def _run(self, instance: Instance) -> CaseRecord:
        try:
            return self._run_uncounted(instance)
        finally:
            with self._counting:
                self._ended += 1

    def _run_uncounted(self, instance: Instance) -> CaseRecord:
        since = self._deaths.begin()
        if since is None:
            empty = Outcome(observed(UNDECIDED))
            return self._record(instance, self._undecided(instance), empty)
        outcome, run = self._perform_until_decided(instance, since)
        runs = self._repeat(instance, run, outcome)
        is_other_death = self._deaths.number != since and not self._deaths.has_killed(instance.id)
        if is_other_death and judge_instance(instance, runs, self.bench).verdict not in CONFORMING:
            runs = self._undecided(instance, runs.first.seen.value)
        record = self._record(instance, runs, outcome)
        self._hurry.learn(instance, record)
        return record

    def exchange_again(self, instance: Instance) -> Transcript | None:
        """Run a case once more and return its exchange; None if the target is dead."""
        since = self._deaths.begin()
        return None if since is None else self._perform_once(instance, since)[0].transcript

    def _undecided(self, instance: Instance, seen: str = "") -> JudgedRuns:
        """Return the run of a case that another case's death of the target concerned."""
        undecided = self._deaths.make_undecided(seen)
        return JudgedRuns(judge_run(undecided, instance.law, self.bench))

    def _perform_until_decided(self, instance: Instance, since: int) -> tuple[Outcome, JudgedRun]:
        """Run a case; run it again while a trouble of the kit's own leaves it undecided."""
        outcome, run = self._perform_once(instance, since)
        runs = 1
        while may_decide_later(run) and runs < DECIDING_RUNS and self._repeats.take():
            outcome, run = self._perform_once(instance, since)
            runs += 1
        if runs > 1 and may_decide_later(run):
            run = judge_run(note_runs(run.seen, runs), instance.law, self.bench)
        return outcome, run

    def _perform_once(
        self, instance: Instance, since: int, *, patient: bool = False
    ) -> tuple[Outcome, JudgedRun]:
        """Run a case once and judge it; undecided if the kit has used something up."""
        outcome = Outcome(observed(EXHAUSTED))
        try:
            outcome = self._perform(instance, patient=patient)
            return outcome, self._judge_run(instance, outcome, since)
        except Exhausted as error:
            seen = SeenRecord(EXHAUSTED, note=f"{error} (seen: {outcome.observation.value})")
            return outcome, judge_run(seen, instance.law, self.bench)

    def _perform(self, instance: Instance, *, patient: bool = False) -> Outcome:
        def is_hurried() -> bool:
            return not patient and self._hurry.applies(instance)

        transcript, pauses = Transcript(), Pauses()
        finished: SimpleQueue[Observation] = SimpleQueue()
        started = time.monotonic()
        self._running.add(finished)
        self._unread[finished] = instance.id, transcript
        experiment = threading.Thread(
            target=lambda: finished.put(
                self._experiment(instance, transcript, pauses, is_hurried)
            ),
            name=f"case-{instance.id}",
            daemon=True,
        )
        try:
            experiment.start()
            observation = self._await(finished)
            if observation is None:
                observation = self._late(transcript, describe_stuck(experiment.ident, instance))
        except RuntimeError as error:
            refuse_exhausted(error)
            raise
        finally:
            self._running.discard(finished)
            self._read(finished)
        seconds = time.monotonic() - started
        return Outcome(observation, transcript, seconds, is_hurried(), pauses)

    def _await(self, finished: SimpleQueue[Observation]) -> Observation | None:
        """Return what a case observed; None if it does not end in time."""
        deadline = Deadline(self.options.case_timeout_s)
        while left := deadline.left():
            with contextlib.suppress(Empty):
                return finished.get(timeout=left)
        return None

    def _late(self, transcript: Transcript, where: str) -> Observation:
        """Return the observation of a case that does not end: the target's fault or the kit's."""
        limit, waited = self.options.case_timeout_s, transcript.vain_s
        note = f"the case did not end within {limit:g} s"
        if waited < WAITING_SHARE * limit:
            note = f"{note}{where and '; it waits at '}{where}"
            is_far = self.session.control().seconds >= FAR_S
            return observed(f"{UNDECIDED if is_far else KIT_ERROR}:timeout", note=note)
        note = f"{note}: for {waited:.0f} s it waited in vain for what the target owed"
        return observed(WITHHELD, overdue=True, note=note)

    def _experiment(
        self,
        instance: Instance,
        transcript: Transcript,
        pauses: Pauses,
        is_hurried: Callable[[], bool],
    ) -> Observation:
        """Run the case's function once; the outermost loop of the kit."""
        arguments: dict[str, object] = {}
        with hurry(is_hurried), note_pauses(pauses):
            try:
                arguments.update(self.session.arguments(instance.arguments, transcript))
                found: object = instance.function(**arguments, **instance.parameters)
                # Authors of cases elsewhere may have no type checker.
                if isinstance(found, Observation):  # pyright: ignore[reportUnnecessaryIsInstance]
                    return found
                note = describe_returned(found, instance)
                return observed(f"{KIT_ERROR}:return", note=note)
            except AllowedRefused as refused:
                return refused.observation
            except UNARRANGED as error:
                return observe_unarranged(error, transcript)
            # A thread would end in silence with SystemExit, and the run wait for the case.
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                if isinstance(error, Exhausted) or is_exhausted(error):
                    return observe_exhausted(error)
                note = describe_raised(error, instance)
                return observed(f"{KIT_ERROR}:{type(error).__name__}", note=note)
            finally:
                self.session.release(arguments)

    def _judge_run(self, instance: Instance, outcome: Outcome, since: int) -> JudgedRun:
        """Judge a run of a case; again if the target's state changes what was seen."""
        seen = msgspec.structs.replace(seen_record(outcome.observation), overdue=False)
        judged = judge_run(seen, instance.law, self.bench)
        settled = self._settle(instance, outcome, since, judged.judgement.verdict)
        return judged if settled is None else judge_run(settled, instance.law, self.bench)

    def _settle(
        self, instance: Instance, outcome: Outcome, since: int, verdict: Verdict
    ) -> SeenRecord | None:
        """Return what was seen, given the target's state; None if the state changes nothing."""
        observation, conforms = outcome.observation, verdict in CONFORMING
        if instance.mark.hazard or not conforms:
            found = self._deaths.notice(instance.id, observation, since=since)
            if found is not None:
                return found
        if not conforms:
            if trouble := find_trouble(outcome, verdict, self._line):
                return record_trouble(trouble, observation)
            self._hurry.spend(instance, outcome.transcript.vain_s)
        return self._settle_overdue(instance, outcome, since, conforms=conforms)

    def _settle_overdue(
        self, instance: Instance, outcome: Outcome, since: int, *, conforms: bool
    ) -> SeenRecord | None:
        """Return what was seen if it was overdue, given a control round trip; else None."""
        observation = outcome.observation
        if not observation.overdue:
            return None
        is_slow = observation.starved and not conforms
        control = "slow" if is_slow else self.session.control().state
        if control == "prompt" and outcome.is_hurried:
            return record_hurried(observation)
        # A process that ends closes its listener last, which on a busy machine comes this late.
        found = None
        if control == "dead" and not conforms:
            found = self._deaths.notice(instance.id, observation, since=since)
        return found or msgspec.structs.replace(seen_record(observation), control=control)

    def _repeat(self, instance: Instance, first: JudgedRun, outcome: Outcome) -> JudgedRuns:
        """Run a case again with fresh names if it failed."""
        if first.judgement.verdict != "fail" or self._deaths.is_final:
            return JudgedRuns(first)

        def again(patient: bool) -> JudgedRun | None:
            since = self._deaths.begin()
            if since is None:
                return None
            return self._perform_once(instance, since, patient=patient)[1]

        name = signature(instance.clause.id, first.seen, self.bench.catalogue)
        return self._repeats.repeat(
            instance,
            first,
            name,
            again,
            lambda: not (outcome.is_hurried or self._hurry.repeats(instance)),
        )

    def _record(self, instance: Instance, runs: JudgedRuns, outcome: Outcome) -> CaseRecord:
        if not self.options.transcripts:
            outcome.transcript = Transcript()
        return make_record(instance, runs, outcome, self.bench)
