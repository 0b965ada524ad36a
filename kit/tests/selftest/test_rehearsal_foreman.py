"""Sharing out trials: a process that dies or hangs costs its trial and nothing else."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from wireproof_kit.selftest.plan import FAULT, Shown, Trial
from wireproof_kit.selftest.worker_pool import Crew

pytestmark = pytest.mark.process

FOREMAN = """
import os, signal, sys
from contextlib import nullcontext
from wireproof_kit import rehearsal_foreman as foreman
from wireproof_kit.selftest.plan import Shown

def rehearsed(trial, protocol, instances, *, nursery):
    if trial.name == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if trial.name == "hangs":
        signal.pause()
    return Shown(trial, cases=os.getpid())

foreman.collect = lambda protocol: ()
foreman.Nursery = lambda protocol, folder: nullcontext()
foreman.TRIAL_WITHIN_S = 0.3
foreman._rehearsed = rehearsed
foreman.main("nsq", int(sys.argv[1]))
"""


def trials(*names: str) -> list[Trial]:
    return [Trial(name, FAULT, (name,)) for name in names]


def shared_out(size: int, *names: str) -> dict[str, Shown]:
    process = subprocess.Popen(
        [sys.executable, "-c", FOREMAN, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(msgspec.json.encode(trials(*names)) + b"\n")
        process.stdin.flush()
        lines = process.stdout.read().splitlines()
        process.stdin.close()
    assert process.returncode == 0
    shown = [msgspec.json.decode(line, type=Shown) for line in lines]
    return {each.trial.name: each for each in shown}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("trouble", ["dies", "hangs"])
def test_trouble_is_told_and_the_rest_goes_on(size: int, trouble: str) -> None:
    shown = shared_out(size, "first", trouble, "second", "third")
    assert shown.keys() == {"first", trouble, "second", "third"}
    assert {name for name, each in shown.items() if each.verdict == "trouble"} == {trouble}
    assert "ended" in shown[trouble].trouble


def test_each_works_on_in_the_same_process() -> None:
    shown = shared_out(1, "first", "second", "third")
    assert len({each.cases for each in shown.values()}) == 1


def test_more_are_not_hired_than_there_are_trials() -> None:
    shown = shared_out(8, "first", "second")
    assert len({each.cases for each in shown.values()}) == 2


def test_who_leaves_early_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    token = f"{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("WIREPROOF_TEST_TOKEN", token)
    shown = Crew("nsq", 2).rehearse(trials("indicator-lost", "no-such-fault", "nor-this"))
    first = next(shown)
    assert len(inheritors(token)) >= 3
    shown.close()
    assert first.trial.name in ("indicator-lost", "no-such-fault", "nor-this")
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
