"""The run inside a pytest session: opened after collection, its cases run as pytest's items."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import msgspec
import pytest

from wireproof_kit.bundle.recorder import RunRecorder
from wireproof_kit.errors import KitError, RestartFailed
from wireproof_kit.protocols import case_arguments
from wireproof_kit.pytest_plugin.options import make_request, narrowing_options
from wireproof_kit.runner.pytest_items import INSTANCE
from wireproof_kit.runner.request import RunRequest
from wireproof_kit.runner.run import Run
from wireproof_kit.runner.run_cases import COUNTED, OpenRun, read_baseline, turn
from wireproof_kit.runner.ways import join_ways
from wireproof_kit.verdicts.deviations import utc_date
from wireproof_spec.record import CaseRecord, HeaderRecord, WayRecord, list_broken

CASE_FIELD = "wireproof_case"
FAULT_FIELD = "wireproof_fault"
HEADER_FIELD = "wireproof_header"
WAYS_FIELD = "wireproof_ways"


def give_up(config: pytest.Config, items: list[pytest.Item], sentence: str) -> None:
    """End the pytest session with a usage error.

    An error in an xdist worker would look like a crash: the worker runs nothing, and its
    controller raises the error when it is reported.
    """
    config.hook.pytest_wireproof_fault(sentence=sentence)
    output = worker_output(config)
    if output is None:
        raise pytest.UsageError(sentence)
    output[FAULT_FIELD] = sentence
    items.clear()


def worker_output(config: pytest.Config) -> dict[str, str] | None:
    """Return what an xdist worker sends to its controller at its end; None elsewhere."""
    return getattr(config, "workeroutput", None)


class Conductor:
    """Opens the target, keeps the selected cases, and runs each case when pytest runs its item.

    There is one in each process that runs items: the only process, or each xdist worker.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.opened: OpenRun | None = None
        self._alone: Run | None = None
        self._narrowed: tuple[str, ...] = ()

    @property
    def run(self) -> Run | None:
        """Return the open target; any test of the session may use its kit objects."""
        return self._alone if self.opened is None else self.opened.run

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Store which of pytest's own options left out cases before the target is open."""
        if self.opened is None and any(INSTANCE in item.stash for item in items):
            self._narrowed = narrowing_options(self._config)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Open the target; keep only the selected cases, sorted by when they may run."""
        instances = [item.stash[INSTANCE] for item in items if INSTANCE in item.stash]
        try:
            request = make_request(self._config)
            if items and not instances:
                self._open_for_others(request, items)
                return
            request = replace(request, plan=replace(request.plan, narrowed=self._narrowed))
            opened = self.opened = OpenRun.open(request, instances)
        except KitError as error:
            give_up(self._config, items, str(error))
            return
        self._arrange(items, {item.id for item in opened.cases})
        self._announce(opened)
        opened.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a case; leave other test functions to pytest."""
        instance = pyfuncitem.stash.get(INSTANCE, None)
        if instance is None or self.opened is None:
            return None
        try:
            record = self.opened.run_case(instance)
        except RestartFailed as failed:
            pytest.exit(str(failed), returncode=pytest.ExitCode.INTERRUPTED)
        pyfuncitem.user_properties.append((CASE_FIELD, msgspec.json.encode(record).decode()))
        self._config.hook.pytest_wireproof_judged(header=self.opened.header, record=record)
        tell(record)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Conclude what the messages of all cases showed, and close the target."""
        if self.opened is not None:
            is_whole = exitstatus != pytest.ExitCode.INTERRUPTED
            self._tell_ways(tuple(self.opened.ways(repeats=is_whole)))
            self.opened.close()
        if self._alone is not None:
            self._alone.close()

    def _tell_ways(self, ways: tuple[WayRecord, ...]) -> None:
        output = worker_output(self._config)
        if output is not None:
            output[WAYS_FIELD] = msgspec.json.encode(ways).decode()
        else:
            self._config.hook.pytest_wireproof_ways(ways=ways)

    def _open_for_others(self, request: RunRequest, items: Sequence[pytest.Item]) -> None:
        """Open the target for tests that are no cases; without any there is nothing to judge."""
        used = {name for item in items for name in getattr(item, "fixturenames", ())}
        if used & case_arguments():
            self._alone = Run.open(request.plan)

    def _arrange(self, items: list[pytest.Item], chosen: set[str]) -> None:
        dropped = [item for item in items if not _is_kept(item, chosen)]
        if dropped:
            self._config.hook.pytest_deselected(items=dropped)
        items[:] = sorted((item for item in items if _is_kept(item, chosen)), key=_turn)

    def _announce(self, opened: OpenRun) -> None:
        output = worker_output(self._config)
        if output is not None:
            output[HEADER_FIELD] = msgspec.json.encode(opened.header).decode()
            return
        hook = self._config.hook
        hook.pytest_wireproof_header(header=opened.header, selected=len(opened.cases))


class Recorder:
    """Collects the records of a run, in the only process or in the xdist controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._interrupted = False
        self._recorder: RunRecorder | None = None
        self._told = 0
        self._shortcoming = ""
        self._ways: dict[str, WayRecord] = {}

    def pytest_sessionstart(self) -> None:
        """Read the deviations file and begin to collect records."""
        try:
            request = make_request(self._config)
            deviations = read_baseline(request, known_ids=None)
        except KitError as error:
            give_up(self._config, [], str(error))
            return
        self._recorder = RunRecorder(request.bundle, deviations, request.allow_unstable)

    @pytest.hookimpl(tryfirst=True)
    def pytest_wireproof_header(self, header: HeaderRecord) -> None:
        """Write the header to the bundle."""
        if self._recorder is not None and self._recorder.header is None:
            self._recorder.begin(header)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the record of a case from its test report, whichever process ran it."""
        if report.when != "call" or self._recorder is None:
            return
        for name, value in report.user_properties:
            if name == CASE_FIELD:
                record = msgspec.json.decode(cast(str, value), type=CaseRecord)
                self._recorder.case(record)
                self._told += 1
                self._config.hook.pytest_wireproof_case(record=record)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Pass on the header when the first xdist worker that has it ends, and each one's ways."""
        output: dict[str, str] = getattr(node, "workeroutput", {})
        is_first = self._recorder is not None and self._recorder.header is None
        if HEADER_FIELD in output and is_first:
            header = msgspec.json.decode(output[HEADER_FIELD], type=HeaderRecord)
            self._config.hook.pytest_wireproof_header(header=header, selected=self._told)
        if WAYS_FIELD in output:
            ways = msgspec.json.decode(output[WAYS_FIELD], type=tuple[WayRecord, ...])
            self._config.hook.pytest_wireproof_ways(ways=ways)

    @pytest.hookimpl(tryfirst=True)
    def pytest_wireproof_ways(self, ways: Sequence[WayRecord]) -> None:
        """Keep the ways; each xdist worker has those of its own cases."""
        for way in ways:
            before = self._ways.get(way.result.case)
            self._ways[way.result.case] = way if before is None else join_ways(before, way)

    def pytest_keyboard_interrupt(self) -> None:
        """Store that the run was interrupted; the bundle is completed all the same."""
        self._interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Conclude the run and close the bundle.

        pytest's exit code is 0 if all cases are skipped. It is replaced if the run judged nothing
        of the selection, or if listed deviations are outdated.
        """
        if self._recorder is None:
            return
        for name in sorted(self._ways):
            self._recorder.way(self._ways[name])
        footer = self._recorder.close(today=utc_date(), interrupted=self._interrupted)
        if footer is None:
            return
        self._config.hook.pytest_wireproof_footer(footer=footer)
        if footer.exit and session.exitstatus == pytest.ExitCode.OK:
            self._shortcoming = footer.statement
            executed = set(footer.verdicts) - {"unsupported"}
            code = pytest.ExitCode.TESTS_FAILED if executed else pytest.ExitCode.NO_TESTS_COLLECTED
            session.exitstatus = code

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write why the run is not a success, if no failed test shows it."""
        for record in list_broken(self._ways.values()):
            terminalreporter.write_line(f"{describe(record)}: {record.note}", red=True)
        if self._shortcoming:
            terminalreporter.write_line(f"wireproof: {self._shortcoming}", red=True)


def tell(record: CaseRecord) -> None:
    """Pass, fail, skip or xfail the current pytest test, according to the case's verdict."""
    if record.verdict in COUNTED:
        pytest.fail(f"{describe(record)}\n{record.title}\n{record.reason}", pytrace=False)
    if record.verdict == "known":
        pytest.xfail(record.reason)
    if record.verdict == "unsupported":
        pytest.skip(record.reason)


def describe(record: CaseRecord) -> str:
    """Return verdict, id, level and clause of a record in one line."""
    return f"{record.verdict.upper()} {record.case} ({record.level} {record.clause})"


def _is_kept(item: pytest.Item, chosen: set[str]) -> bool:
    return INSTANCE not in item.stash or item.stash[INSTANCE].id in chosen


def _turn(item: pytest.Item) -> tuple[int, bool]:
    """Return the turn of an item: plain tests first, cases in their own order."""
    return turn(item.stash[INSTANCE]) if INSTANCE in item.stash else (0, False)
