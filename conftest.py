"""Hypothesis profiles of the project's own tests, their order, and the guard of the quick tests.

`ci` draws the same examples everywhere. `quick` draws fewer examples: `make quick` uses it with
the tests that start no process, and an audit hook enforces that. `HYPOTHESIS_PROFILE=deep` draws
more examples and keeps failures in `.hypothesis/`.
"""

import atexit
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

OWN_PLUGINS = ("watchdog", "failures_at_once")

settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=3)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

os.environ["XDG_STATE_HOME"] = str(Path(__file__).parent / ".cache" / "state")
"""What the user agreed to, and addresses that he named, are kept there; not the developer's."""

os.environ.pop("COLUMNS", None)
"""Output is as wide as this says: tests expect the 80 columns of a pipe, wherever they run."""

STARTS_A_PROCESS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"}
"""Names of audit events: patching `subprocess` would miss forks, and modules that hold a copy."""
_running: list[str] = []
"""The test that runs in the quick tier; pytest-xdist starts its workers between tests."""


FIRST = ("long", "process", "slow")
"""Markers of the files that come first. Workers take whole files (`--dist loadfile`), so the run
lasts until the last file has ended; a file that takes a minute must not be the last to begin."""

LATER = ("process", "slow", "hypothesis")
"""Markers of the tests that `make test AFTER_QUICK=1` runs."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage among what pytest collects.

    Each worker makes a million objects that stay. To look through them again and again took a
    third of the processor time of the collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # modules in C report what is left at the end as leaked
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first, and keep the order otherwise."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    items[:] = [item for file in sorted(files.values(), key=_rank) for item in file]


def _rank(file: Sequence[pytest.Item]) -> int:
    marks = {mark.name for item in file for mark in item.iter_markers()}
    return next((at for at, name in enumerate(FIRST) if name in marks), len(FIRST))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Watch the project's own tests; forbid processes with Hypothesis' profile `quick`.

    Whoever runs the suites elsewhere by plain pytest has neither the watchdog nor its folder.
    """
    if config.rootpath == Path(__file__).parent:  # last, since one of them needs the terminal
        for name in OWN_PLUGINS:
            config.pluginmanager.import_plugin(name)
    if config.getoption("--hypothesis-profile", None) == "quick":
        config.pluginmanager.register(_QuickTier())
        sys.addaudithook(_refuse_processes)


class _QuickTier:
    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Iterator[None]:
        """Write down which files have tests for later: to import all took a worker 12 s."""
        whole = [*items]
        yield
        worker = getattr(config, "workerinput", {"workerid": "gw0"})
        path = os.environ.get("WIREPROOF_AFTER_QUICK")
        if path and worker["workerid"] == "gw0":
            later = {item.path for item in whole if any(map(item.get_closest_marker, LATER))}
            lines = sorted(str(each.relative_to(config.rootpath)) for each in later)
            Path(path).write_text("\n".join(lines), encoding="utf-8")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        _running.append(item.nodeid)
        try:
            return (yield)
        finally:
            _running.clear()


def _refuse_processes(event: str, _: tuple[object, ...]) -> None:
    if _running and event in STARTS_A_PROCESS:
        pytest.fail(f"{_running[0]} starts a process ({event}): give it `pytest.mark.process`")
