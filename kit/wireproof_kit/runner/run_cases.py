"""Runs the cases of a request in their order, and passes each record to listeners."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

import msgspec

from wireproof_kit.bundle.recorder import RunRecorder
from wireproof_kit.errors import RestartFailed, UsageFault
from wireproof_kit.runner.activity import Activity, Tell
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.exclusions import read_exclusions
from wireproof_kit.runner.instance import Instance, known_ids
from wireproof_kit.runner.patience import note_lengthening
from wireproof_kit.runner.records import record_unsupported
from wireproof_kit.runner.request import RunRequest
from wireproof_kit.runner.run import Choice, Run
from wireproof_kit.runner.ways import Ways
from wireproof_kit.verdicts.deviations import Deviation, apply, read_deviations, utc_date
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.catalogue import is_below
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord, Verdict, WayRecord

COUNTED: tuple[Verdict, ...] = ("fail", "error", "inconclusive", "unstable")
"""Verdicts that count for ``maxfail``, and whose cases ``--lf`` selects again."""


class Listener(Protocol):
    """Receives the events of a run of cases."""

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Receive the header when the target is open and probed and the cases are selected."""
        ...

    def case(self, record: CaseRecord) -> None:
        """Receive the record of a case that was run and judged."""
        ...


@dataclass(frozen=True, slots=True)
class RunRecords:
    """All records of a run, in the order of the bundle.

    ``left_behind`` names what the run made on the target and could not delete. ``lengthened`` is
    how many times waits were lengthened at most, since the machine was busy.
    """

    header: HeaderRecord
    cases: tuple[CaseRecord, ...]
    footer: FooterRecord
    ways: tuple[WayRecord, ...] = ()
    left_behind: tuple[str, ...] = ()
    lengthened: float = 1.0


@dataclass(slots=True)
class OpenRun:
    """An open target with the cases to run against it, in their order."""

    run: Run
    cases: tuple[Instance, ...]
    header: HeaderRecord
    deviations: tuple[Deviation, ...]
    _engine: Engine
    _choice: Choice
    _unsupported: frozenset[str]
    _activity: Activity
    _known: dict[str, CaseRecord] = field(default_factory=dict[str, CaseRecord])
    """The first known failure of each signature."""
    _lacking: int = 0
    """Cases told that were not run: the target lacks what they need."""

    @classmethod
    def open(
        cls,
        request: RunRequest,
        instances: Sequence[Instance],
        activity: Activity | None = None,
    ) -> Self:
        """Open the target of a request and select the cases to run.

        Raises:
            KitError: the deviations file is wrong, the target cannot be opened, or no case is
                left to run.
        """
        if not instances:
            raise UsageFault("no case was collected; see `wireproof list`")
        # Of narrowed cases nothing follows for an entry of another one.
        known = None if request.plan.narrowed else known_ids(instances)
        deviations = read_baseline(request, known)
        activity = activity or Activity()
        run = Run.open(request.plan, instances, activity)
        try:
            choice = run.choose(instances)
            activity.begin("the topics that the cases need")
            run.prepare(choice.run)
            for item in (*choice.run, *choice.unsupported):
                item.read_source()
            ways = Ways.open(run.target.protocol, run.bench, run.session)
            engine = Engine(run.session, run.bench, request.engine, ways)
            cases = _in_order(choice, instances)
            lacking = frozenset(item.id for item in choice.unsupported)
            header = run.header(choice)
            return cls(run, cases, header, deviations, engine, choice, lacking, activity)
        except BaseException:
            run.close()
            raise

    @property
    def supported(self) -> tuple[Instance, ...]:
        """Return the selected cases whose needed capabilities the target has, in order."""
        return self._choice.run

    def start(self) -> None:
        """Start the cases that mostly wait, each in a thread."""
        lacking = self._unsupported
        self._engine.start(item for item in self.cases if item.id not in lacking)

    def count_ended(self) -> int:
        """Return how many cases have ended; more than were told where cases run in parallel."""
        return self._lacking + self._engine.count_ended()

    def run_case(self, instance: Instance) -> CaseRecord:
        """Run and judge a case; a failure in the deviations file gets the verdict `known`."""
        self._activity.begin(instance.id)
        if instance.id in self._unsupported:
            record = record_unsupported(instance, self.run.bench)
            self._lacking += 1
        else:
            record = self._engine.run(instance)
        version = self.header.target.fingerprint.get("version", "")
        applied = apply((record,), self.deviations, version=version, today=utc_date())
        (result,) = applied.records
        if result.verdict == "known" and record.signature:
            self._known.setdefault(record.signature, result)
        return result

    def ways(self, *, repeats: bool = True) -> Iterator[WayRecord]:
        """Yield what all deliveries of the run showed of each clause, by way.

        A breach that was seen in one run of one case alone is repeated; it is decided at once if
        not ``repeats``.
        """
        if not repeats:
            self._engine.read_unfinished()
        ways, self._engine.ways = self._engine.ways, None
        if ways is None:
            return
        selected = frozenset(item.clause.id for item in self.cases)
        left_out = (*self.run.plan.exclude, *(exclusion.id for exclusion in read_exclusions()))
        again = self._exchange_again if repeats else None
        for way in ways.conclude(again, selected):
            if not any(is_below(name, each) for name in _names(way) for each in left_out):
                yield self._mark_known(way)

    def _exchange_again(self, case: str) -> Transcript | None:
        instance = next((item for item in self._choice.run if item.id == case), None)
        return None if instance is None else self._engine.exchange_again(instance)

    def _mark_known(self, way: WayRecord) -> WayRecord:
        """Give a way that the deviations file lists, or one of the same cause, that verdict."""
        version = self.header.target.fingerprint.get("version", "")
        (result,) = apply(
            (way.result,), self.deviations, version=version, today=utc_date()
        ).records
        cause = self._known.get(result.signature or "")
        if result.verdict == "fail" and cause is not None:
            result = msgspec.structs.replace(
                result, verdict="known", reason=cause.reason, deviation=cause.deviation
            )
        return msgspec.structs.replace(way, result=result)

    def close(self) -> None:
        """Abandon the cases that still wait, and close the target."""
        self._engine.close()
        self.run.close()


def run_cases(
    request: RunRequest,
    instances: Sequence[Instance],
    listeners: Sequence[Listener],
    *,
    is_stopped: Callable[[], bool],
    tell_wait: Tell = lambda what, seconds: None,
    tell_ended: Callable[[int], None] = lambda count: None,
    tell_lengthened: Callable[[float], None] = lambda load: None,
) -> RunRecords:
    """Run the requested cases until ``is_stopped``, which is called after every case.

    Return all records. ``tell_wait`` is called with the current step and its seconds while a step
    takes long; ``tell_ended`` before each record, with the number of cases that have ended;
    ``tell_lengthened`` when a wait is first lengthened, with how many times.

    Raises:
        KitError: the deviations file is wrong, the target cannot be opened, or no case is
            left to run; or a dead target does not come back, and the bundle holds what was run.
        KeyboardInterrupt: interrupted before the first case.
    """
    activity = Activity()
    with (
        activity.watch(tell_wait),
        note_lengthening(tell_lengthened) as noted,
        contextlib.closing(OpenRun.open(request, instances, activity)) as opened,
    ):
        recorder = RunRecorder(request.bundle, opened.deviations, request.allow_unstable)
        told = [recorder, *listeners]
        for listener in told:
            listener.begin(opened.header, selected=len(opened.cases))
        try:
            interrupted = _run_all(opened, request.maxfail, told, is_stopped, tell_ended)
            for way in opened.ways(repeats=not interrupted):
                recorder.way(way)
        except RestartFailed:
            recorder.close(today=utc_date(), interrupted=True)
            raise
    footer = recorder.close(today=utc_date(), interrupted=interrupted)
    assert footer is not None  # the recorder has begun
    return RunRecords(
        opened.header,
        tuple(recorder.records),
        footer,
        tuple(recorder.ways),
        opened.run.list_left(),
        noted.most,
    )


def _names(way: WayRecord) -> tuple[str, str]:
    """Return the id and the clause of a way."""
    return way.result.case, way.result.clause


def read_baseline(request: RunRequest, known_ids: Sequence[str] | None) -> tuple[Deviation, ...]:
    """Return the entries of the deviations file; ids are checked against the known ones, if given.

    Raises:
        UsageFault: the file is missing or invalid, or an id is unknown.
    """
    if request.baseline is None:
        return ()
    return read_deviations(request.baseline, known_ids=known_ids, today=utc_date())


def _run_all(
    opened: OpenRun,
    maxfail: int | None,
    listeners: Sequence[Listener],
    is_stopped: Callable[[], bool],
    tell_ended: Callable[[int], None],
) -> bool:
    """Run the cases in their order; return True if interrupted."""
    failures = 0
    try:
        opened.start()
        for instance in opened.cases:
            record = opened.run_case(instance)
            tell_ended(opened.count_ended())
            for listener in listeners:
                listener.case(record)
            failures += record.verdict in COUNTED and _counts(opened.header, record)
            if failures == maxfail:
                return False
            if is_stopped():
                return True
    except KeyboardInterrupt:
        return True
    return False


def _counts(header: HeaderRecord, record: CaseRecord) -> bool:
    """Return True if a failure counts; an error of ours always does."""
    return record.verdict == "error" or header.counts(record.level, record.origin)


def _in_order(choice: Choice, instances: Sequence[Instance]) -> tuple[Instance, ...]:
    """Return the chosen cases, those of one turn in the order of the files."""
    chosen = {item.id for item in (*choice.run, *choice.unsupported)}
    return tuple(sorted((item for item in instances if item.id in chosen), key=turn))


def turn(instance: Instance) -> tuple[int, bool]:
    """Return the sort key of a case: quick, waiting, disturbing, then hazardous cases.

    In each of these, cases of core clauses come first: what the target withholds in them it
    withholds in the rest of their group, which then gets short waits.
    """
    is_other = not instance.clause.core
    if instance.mark.hazard:
        return 3, is_other
    return (2 if instance.mark.alone else int(instance.mark.waiting)), is_other
