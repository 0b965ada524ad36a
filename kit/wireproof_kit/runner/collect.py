"""Collecting the cases of a protocol's suites, as pytest collects them, without running any."""

import contextlib
import functools
import io

import pytest

from wireproof_kit.errors import KitError
from wireproof_kit.protocols import suites
from wireproof_kit.pytest_plugin.conductor import INSTANCE
from wireproof_kit.runner.instance import Instance


class _Catcher:
    def __init__(self) -> None:
        self.instances: list[Instance] = []
        self.faults: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.instances = [item.stash[INSTANCE] for item in items if INSTANCE in item.stash]

    def pytest_wireproof_fault(self, sentence: str) -> None:
        self.faults.append(sentence)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.faults.append(f"{report.nodeid}: {report.longreprtext.strip()}")


@functools.cache
def collect(protocol: str) -> tuple[Instance, ...]:
    """Return every case of a protocol, parameters bound, in the order of the files.

    Raises:
        KitError: the suites do not import, or a case does not fit the catalogue.
    """
    catcher = _Catcher()
    arguments = [
        "--collect-only",
        "--pyargs",
        suites(protocol),
        *("-c", "/dev/null"),
        *("-p", "no:terminal"),
        *("-p", "no:cacheprovider"),
        "--import-mode=importlib",
    ]
    with contextlib.redirect_stderr(io.StringIO()):
        code = pytest.main(arguments, plugins=[catcher])
    if catcher.faults or not catcher.instances:
        fault = catcher.faults[0] if catcher.faults else f"pytest ended with code {int(code)}"
        raise KitError(f"the {protocol} suites cannot be collected: {fault}")
    return tuple(catcher.instances)
