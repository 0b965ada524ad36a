"""Conducts one run inside pytest: opens it after collection and runs cases in their turn."""

from collections.abc import Sequence
from typing import cast

import msgspec
import pytest

from wireproof_kit.bundle.recorder import Ledger
from wireproof_kit.errors import KitError
from wireproof_kit.pytest_plugin.options import (
    baseline,
    bundle_path,
    make_plan,
    make_run_options,
    today,
)
from wireproof_kit.runner.engine import Engine, unsupported
from wireproof_kit.runner.instance import Instance, known_ids
from wireproof_kit.runner.run import Choice, Run
from wireproof_kit.verdicts.deviations import Deviation, apply, read_deviations
from wireproof_spec.record import CaseRecord, HeaderRecord

INSTANCE: pytest.StashKey[Instance] = pytest.StashKey()
CASE_FIELD = "wireproof_case"
HEADER_FIELD = "wireproof_header"


def give_up(config: pytest.Config, sentence: str) -> pytest.UsageError:
    """Tell the watchers why the run cannot be done and return the error to raise."""
    config.hook.pytest_wireproof_fault(sentence=sentence)
    return pytest.UsageError(sentence)


class Conductor:
    """Opens the target, keeps what is selected, hands each case to the engine.

    It lives in the process that runs the items: the only one, or an xdist worker.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.run: Run | None = None
        self._engine: Engine | None = None
        self._unsupported: frozenset[str] = frozenset()
        self._deviations: tuple[Deviation, ...] = ()
        self._header: HeaderRecord | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Open the target and keep only what is selected, in the order in which cases may run."""
        cases = [item for item in items if INSTANCE in item.stash]
        if not cases:
            raise give_up(self._config, "no case was collected; see `wireproof list`")
        try:
            self._open(items, cases)
        except KitError as error:
            raise give_up(self._config, str(error)) from error

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a case through the engine; other functions are pytest's own affair."""
        instance = pyfuncitem.stash.get(INSTANCE, None)
        if instance is None or self._engine is None or self.run is None:
            return None
        if instance.id in self._unsupported:
            record = unsupported(instance, self.run.bench)
        else:
            record = self._engine.run(instance)
        record = self._known(record)
        pyfuncitem.user_properties.append((CASE_FIELD, msgspec.json.encode(record).decode()))
        self._config.hook.pytest_wireproof_judged(header=self._header, record=record)
        tell(record)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Close the target."""
        if self._engine is not None:
            self._engine.close()
        if self.run is not None:
            self.run.close()

    def _open(self, items: list[pytest.Item], cases: Sequence[pytest.Item]) -> None:
        instances = [item.stash[INSTANCE] for item in cases]
        path = baseline(self._config)
        if path is not None:
            known = known_ids(instances)
            self._deviations = read_deviations(path, known_ids=known, today=today())
        run = self.run = Run.open(make_plan(self._config), instances)
        choice = run.choose(instances)
        self._arrange(items, choice)
        run.prepare(choice.run)
        self._engine = Engine(run.session, run.bench, make_run_options(self._config))
        self._unsupported = frozenset(item.id for item in choice.unsupported)
        self._header = run.header(choice)
        self._announce(self._header, len(choice.run) + len(choice.unsupported))
        self._engine.start(item for item in choice.run if item.mark.waiting)

    def _arrange(self, items: list[pytest.Item], choice: Choice) -> None:
        chosen = {instance.id for instance in (*choice.run, *choice.unsupported)}
        dropped = [item for item in items if not _is_kept(item, chosen)]
        if dropped:
            self._config.hook.pytest_deselected(items=dropped)
        items[:] = sorted((item for item in items if _is_kept(item, chosen)), key=_turn)

    def _announce(self, header: HeaderRecord, selected: int) -> None:
        output = cast(dict[str, str] | None, getattr(self._config, "workeroutput", None))
        if output is not None:
            output[HEADER_FIELD] = msgspec.json.encode(header).decode()
            return
        self._config.hook.pytest_wireproof_header(header=header, selected=selected)

    def _known(self, record: CaseRecord) -> CaseRecord:
        version = self.run.session.fingerprint().get("version", "") if self.run else ""
        applied = apply((record,), self._deviations, version=version, today=today())
        return applied.records[0]


class Recorder:
    """Keeps the ledger where the bundle is written: the only process, or xdist's controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._interrupted = False
        self._ledger: Ledger | None = None
        self._told = 0
        self._shortcoming = ""

    def pytest_sessionstart(self) -> None:
        """Open the ledger."""
        path = baseline(self._config)
        try:
            entries = read_deviations(path, known_ids=None, today=today()) if path else ()
        except KitError as error:
            raise give_up(self._config, str(error)) from error
        allow = bool(self._config.getoption("--allow-unstable"))
        self._ledger = Ledger(bundle_path(self._config), entries, allow)

    @pytest.hookimpl(tryfirst=True)
    def pytest_wireproof_header(self, header: HeaderRecord) -> None:
        """Start the bundle."""
        if self._ledger is not None and self._ledger.header is None:
            self._ledger.begin(header)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a case's record from its report, wherever it ran."""
        if report.when != "call" or self._ledger is None:
            return
        for name, value in report.user_properties:
            if name == CASE_FIELD:
                record = msgspec.json.decode(cast(str, value), type=CaseRecord)
                self._ledger.add(record)
                self._told += 1
                self._config.hook.pytest_wireproof_case(record=record)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take the run's header from the first xdist worker that ends, and tell it."""
        output = cast(dict[str, str], getattr(node, "workeroutput", {}))
        is_first = self._ledger is not None and self._ledger.header is None
        if HEADER_FIELD in output and is_first:
            header = msgspec.json.decode(output[HEADER_FIELD], type=HeaderRecord)
            self._config.hook.pytest_wireproof_header(header=header, selected=self._told)

    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the run was cut off; the bundle is closed all the same."""
        self._interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Draw the conclusion and close the bundle.

        pytest finds no fault with skipped cases; a run that judged nothing of what was selected,
        or whose deviations stand no more, does not end well all the same.
        """
        if self._ledger is None:
            return
        footer = self._ledger.close(today=today(), interrupted=self._interrupted)
        if footer is None:
            return
        self._config.hook.pytest_wireproof_footer(footer=footer)
        if footer.exit and session.exitstatus == pytest.ExitCode.OK:
            self._shortcoming = footer.statement
            executed = set(footer.verdicts) - {"unsupported"}
            code = pytest.ExitCode.TESTS_FAILED if executed else pytest.ExitCode.NO_TESTS_COLLECTED
            session.exitstatus = code

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what no failed test shows."""
        if self._shortcoming:
            terminalreporter.write_line(f"wireproof: {self._shortcoming}", red=True)


def tell(record: CaseRecord) -> None:
    """Give pytest the outcome that stands for a verdict."""
    if record.verdict in ("fail", "error", "inconclusive", "unstable"):
        title = f"{record.verdict.upper()} {record.case} ({record.level} {record.clause})"
        pytest.fail(f"{title}\n{record.title}\n{record.reason}", pytrace=False)
    if record.verdict == "known":
        pytest.xfail(record.reason)
    if record.verdict == "unsupported":
        pytest.skip(record.reason)


def _is_kept(item: pytest.Item, chosen: set[str]) -> bool:
    return INSTANCE not in item.stash or item.stash[INSTANCE].id in chosen


def _turn(item: pytest.Item) -> int:
    """Order of items: plain tests and quick cases, waiting cases, lonely ones, hazards."""
    instance = item.stash.get(INSTANCE, None)
    if instance is None:
        return 0
    if instance.mark.hazard:
        return 3
    return 2 if instance.mark.alone else int(instance.mark.waiting)
