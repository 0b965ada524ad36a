"""Runs cases and records their observations.

A case runs in a thread with a deadline. A control round trip decides whether an overdue answer is
due to a slow machine; then the case is run again. A failure is repeated with new names. A death of
the target is charged to one case; cases that ran at the time, or cannot run afterwards, are
undecided. With a command that restarts the target, they run again.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import msgspec

from wireproof_kit.drivers.processor import LATENESS
from wireproof_kit.errors import Exhausted, KitError, is_exhausted, refuse_exhausted
from wireproof_kit.observation import Observation, observed
from wireproof_kit.processes.limits import fit_cases
from wireproof_kit.runner.deaths.culprits import Culprits, Tried
from wireproof_kit.runner.deaths.deaths import Deaths
from wireproof_kit.runner.deaths.gate import Gate
from wireproof_kit.runner.deaths.others import describe_others, may_have_sent
from wireproof_kit.runner.hurry import Hurry, hurry_with
from wireproof_kit.runner.instance import Instance, describe_stuck
from wireproof_kit.runner.line import Line
from wireproof_kit.runner.patience import hurry
from wireproof_kit.runner.records import judge_instance, make_record, seen_record
from wireproof_kit.runner.repeats import Repeats
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.runner.troubles import (
    FAR_S,
    Outcome,
    experiment,
    find_trouble,
    is_hurried,
    may_decide_later,
    note_runs,
    observe_late,
    record_hurried,
    record_trouble,
)
from wireproof_kit.runner.ways import Ways
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import (
    CONFORMING,
    EXHAUSTED,
    UNDECIDED,
    JudgeContext,
    JudgedRun,
    JudgedRuns,
    judge_run,
    signature,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import Deadline, Pauses, note_pauses
from wireproof_spec.record import CaseRecord, SeenRecord, Verdict

FEW = 3
"""The ended cases that are named beside a death, if no other case is open."""
DECIDING_RUNS = 5
"""How often a case is run, at most, while a trouble of the kit's own leaves it undecided."""
SIDE_BY_SIDE = 4
"""How many times more cases run in parallel then than waiting cases: they do little else."""


@dataclass(slots=True)
class Engine:
    """Runs the cases of one run against one session, and judges them."""

    session: Session
    bench: JudgeContext
    options: RunOptions = field(default_factory=RunOptions)
    ways: Ways | None = None
    _pools: list[ThreadPoolExecutor] = field(default_factory=list[ThreadPoolExecutor])
    _waiting: dict[str, Future[CaseRecord]] = field(default_factory=dict[str, Future[CaseRecord]])
    _later: dict[str, Instance] = field(default_factory=dict[str, Instance])
    _hurry: Hurry = field(init=False)
    _gate: Gate = field(default_factory=Gate)
    _deaths: Deaths = field(init=False)
    _culprits: Culprits = field(init=False)
    _line: Line = field(init=False)
    _repeats: Repeats = field(init=False)
    _running: set[SimpleQueue[Observation]] = field(default_factory=set[SimpleQueue[Observation]])
    _unread: dict[SimpleQueue[Observation], tuple[str, Transcript]] = field(
        default_factory=dict[SimpleQueue[Observation], tuple[str, Transcript]]
    )
    """The cases that run whose exchanges the ways have not read yet."""
    _ended: deque[tuple[str, Transcript]] = field(default_factory=lambda: deque(maxlen=FEW))
    _done: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        restart, process = self.options.restart, self.options.process
        self._deaths = Deaths(self.session, restart, process, self._gate)
        self._culprits = Culprits(
            self._deaths, self._run_alone, lambda item, seen: judge_run(seen, item.law, self.bench)
        )
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
        self._gate.end(KitError("the run ended first"))
        for finished in list(self._running):
            finished.put(observed(f"{UNDECIDED}:given-up", note="the run ended first"))
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def count_ended(self) -> int:
        """Return how many cases have ended, also those whose turn to be told has not come."""
        return self._done

    def _run(self, instance: Instance) -> CaseRecord:
        try:
            return self._run_uncounted(instance)
        finally:
            with self._counting:
                self._done += 1

    def _run_uncounted(self, instance: Instance) -> CaseRecord:
        tried = self._run_in_company(instance, is_last_chance=False)
        tried = tried or self._run_in_company(instance, is_last_chance=True)
        assert tried is not None  # the last chance decides
        record = self._record(instance, tried.runs, tried.outcome)
        self._hurry.learn(instance, record)
        return record

    def _run_in_company(self, instance: Instance, *, is_last_chance: bool) -> Tried | None:
        """Return what a case showed; None if it is to run again, as another killed the target."""
        with self._gate.together() as stay:
            since = self._deaths.begin()
            if since is None:
                empty = Outcome(observed(UNDECIDED))
                return self._tried(instance, empty, self._undecided(instance))
            outcome, run = self._perform_until_decided(instance, since)
            runs = self._repeat(instance, run, outcome, since)
            tried = self._tried(instance, outcome, runs)
        if stay.is_due:
            return self._culprits.settle(instance, since + 1, tried, is_last_chance=is_last_chance)
        is_other_death = self._deaths.number != since and not self._deaths.has_killed(instance.id)
        if is_other_death and not tried.conforms:
            return self._tried(instance, outcome, self._undecided(instance, runs.first.seen.value))
        return tried

    def _run_alone(self, instance: Instance) -> Tried:
        """Return what a case shows while no other one runs, in as many repeats as ever."""
        since = self._deaths.number
        outcome, run = self._perform_until_decided(instance, since)
        if self._deaths.is_down and not self._deaths.has_killed(instance.id):
            outcome, run = self._perform_until_decided(instance, since)
        return self._tried(instance, outcome, self._repeat(instance, run, outcome, since))

    def _tried(self, instance: Instance, outcome: Outcome, runs: JudgedRuns) -> Tried:
        verdict = judge_instance(instance, runs, self.bench).verdict
        return Tried(outcome, runs, verdict in CONFORMING)

    def exchange_again(self, instance: Instance) -> Transcript | None:
        """Run a case once more and return its exchange; None if the target is dead."""
        with self._gate.together() as stay:
            since = self._deaths.begin()
            found = None if since is None else self._perform_once(instance, since)[0].transcript
        if stay.is_due:
            with self._gate.alone((0, 0.0)):
                self._deaths.bring_back()
        return found

    def _undecided(self, instance: Instance, seen: str = "") -> JudgedRuns:
        """Return the run of a case that another case's death of the target concerned."""
        undecided = self._deaths.make_undecided(instance.id, seen)
        return JudgedRuns(judge_run(undecided, instance.law, self.bench))

    def _perform_until_decided(self, instance: Instance, since: int) -> tuple[Outcome, JudgedRun]:
        """Run a case; run it again while a trouble of the kit's own leaves it undecided."""
        outcome, run = self._perform_once(instance, since)
        runs = 1
        while may_decide_later(run) and runs < DECIDING_RUNS and self._repeats.take():
            outcome, run = self._perform_once(instance, since)
            runs += 1
        if is_hurried(run) and self._hurry.may_wait_after_all(instance):
            outcome, run = self._perform_once(instance, since, patient=True)
        if runs > 1 and may_decide_later(run):
            run = judge_run(note_runs(run.seen, runs), instance.law, self.bench)
        return outcome, run

    def _perform_once(
        self, instance: Instance, since: int, *, patient: bool = False
    ) -> tuple[Outcome, JudgedRun]:
        """Run a case once and judge it; undecided if the kit has used something up."""
        outcome = Outcome(observed(EXHAUSTED))
        if self._deaths.alone:
            self._deaths.bring_back()
        try:
            outcome = self._perform(instance, patient=patient)
            return outcome, self._judge_run(instance, outcome, since)
        except Exhausted as error:
            observation = outcome.observation.describe(instance.id)
            seen = SeenRecord(EXHAUSTED, note=f"{error} (what the case observed: {observation})")
            return outcome, judge_run(seen, instance.law, self.bench)

    def _perform(self, instance: Instance, *, patient: bool = False) -> Outcome:
        def hurries() -> bool:
            return not patient and self._hurry.applies(instance)

        transcript, pauses = Transcript(), Pauses()
        finished: SimpleQueue[Observation] = SimpleQueue()
        started = time.monotonic()
        self._running.add(finished)
        self._unread[finished] = instance.id, transcript
        experiment = threading.Thread(
            target=lambda: finished.put(self._experiment(instance, transcript, pauses, hurries)),
            name=f"case-{instance.id}",
            daemon=True,
        )
        try:
            experiment.start()
            observation = self._await(finished)
            if observation is None:
                where = describe_stuck(experiment.ident, instance)
                observation = observe_late(
                    transcript, self.options.case_timeout_s, self.session, where
                )
        except RuntimeError as error:
            refuse_exhausted(error)
            raise
        finally:
            self._running.discard(finished)
            self._ended.append((instance.id, transcript))
            self._read(finished)
        seconds = time.monotonic() - started
        return Outcome(observation, transcript, seconds, hurries(), pauses)

    def _await(self, finished: SimpleQueue[Observation]) -> Observation | None:
        """Return what a case observed; None if it does not end in time."""
        deadline = Deadline(self.options.case_timeout_s)
        while left := deadline.left():
            with contextlib.suppress(Empty):
                return finished.get(timeout=left)
        return None

    def _experiment(
        self,
        instance: Instance,
        transcript: Transcript,
        pauses: Pauses,
        hurries: Callable[[], bool],
    ) -> Observation:
        """Run the case's function once; the outermost loop of the kit."""
        with hurry(hurries), note_pauses(pauses):
            return experiment(instance, self.session, transcript)

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
        if instance.mark.hazard or not conforms or self._deaths.looks_closely(observation):
            found = self._notice_death(instance, outcome, since)
            if found is not None:
                return found
        if not conforms:
            if trouble := find_trouble(outcome, verdict, self._line):
                return record_trouble(trouble, observation, instance.id)
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
            return record_hurried(observation, instance.id)
        # A process that ends closes its listener last, which on a busy machine comes this late.
        found = None
        if control == "dead" and not conforms:
            found = self._notice_death(instance, outcome, since)
        return found or msgspec.structs.replace(seen_record(observation), control=control)

    def _notice_death(self, instance: Instance, outcome: Outcome, since: int) -> SeenRecord | None:
        return self._deaths.notice(
            instance.id,
            outcome.observation,
            since=since,
            has_sent=may_have_sent(instance, outcome.transcript),
            describe_others=lambda: describe_others(
                instance.id, list(self._unread.values()), list(self._ended)
            ),
        )

    def _repeat(
        self, instance: Instance, first: JudgedRun, outcome: Outcome, since: int
    ) -> JudgedRuns:
        """Run a case again with fresh names if it failed."""
        if first.judgement.verdict != "fail" or self._deaths.is_final:
            return JudgedRuns(first)

        def again(patient: bool) -> JudgedRun | None:
            current = since if self._deaths.alone else self._deaths.begin()
            if current is None or not self._deaths.may_repeat(since):
                return None
            return self._perform_once(instance, current, patient=patient)[1]

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
