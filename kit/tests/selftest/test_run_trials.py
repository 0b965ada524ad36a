"""Trials in several processes: none of them outlives the selftest."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from wireproof_kit.selftest import run_trials as trials
from wireproof_kit.selftest.plan import FAULT, Trial, TrialResult
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


@pytest.mark.parametrize(("lasts", "verdict"), [(False, "died"), (True, "survived")])
def test_what_ends_wrongly_is_repeated_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lasts: bool, verdict: str
) -> None:
    def result(trial: Trial, *_: object, **__: object) -> TrialResult:
        seen = tmp_path / trial.name
        is_wrong = trial.name == NAMES[1] and (lasts or not seen.exists())
        seen.touch()
        return TrialResult(trial, survived=trial.breaks if is_wrong else ())

    monkeypatch.setattr(trials, "_result", result)
    planned = [Trial(name, FAULT, (name,), breaks=("ext.publish.ok-response",)) for name in NAMES]
    results = {row.trial.name: row for row in run_trials("nsq", planned, workers=2)}
    assert {name: row.first for name, row in results.items()} == {
        NAMES[0]: "",
        NAMES[1]: "survived: ext.publish.ok-response",
        NAMES[2]: "",
    }
    assert results[NAMES[1]].verdict == verdict


def inheritors(token: str) -> set[str]:
    """Return the processes that were started with this token in their environment."""
    found = set[str]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if token.encode() in (folder / "environ").read_bytes():
                    found.add(folder.name)
    return found
