"""Trials in several processes: none of them outlives the selftest."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from wireproof_kit.selftest.plan import FAULT, Trial
from wireproof_kit.selftest.run_trials import run_trials

pytestmark = pytest.mark.process

NAMES = ("indicator-lost", "no-such-fault", "nor-this")


def test_leaving_early_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    token = f"{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("WIREPROOF_TEST_TOKEN", token)
    results = run_trials("nsq", [Trial(name, FAULT, (name,)) for name in NAMES], workers=2)
    first = next(results)
    assert inheritors(token)
    results.close()
    assert first.trial.name in NAMES
    assert inheritors(token) == set()


def inheritors(token: str) -> set[str]:
    """Return the processes that were started with this token in their environment."""
    found = set[str]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if token.encode() in (folder / "environ").read_bytes():
                    found.add(folder.name)
    return found
