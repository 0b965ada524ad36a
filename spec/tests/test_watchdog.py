"""The watchdog ends tests that do nothing, and no others."""

import subprocess
import sys
from pathlib import Path

import pytest
from process_tree import Activity
from tool_modules import ROOT
from watchdog import LOOKS, QUIET_S, Quiet

HANGING = """
import subprocess, sys, threading, time
def test_lock(): threading.Event().wait()
def test_process(): subprocess.run([sys.executable, "-c", "import time; time.sleep(1000)"])
def test_quick(): pass
def test_at_work():
    started = time.monotonic()
    while time.monotonic() - started < 4: pass
def test_child_at_work():
    code = "import time\\nwhile time.process_time() < 4: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
def test_printing():
    for _ in range(40):
        print("." * 2000, flush=True)
        time.sleep(0.1)
"""
DEAF = """
import signal, time
def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)
"""
LOOK_S = QUIET_S / LOOKS


def run_tests(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests beside a watchdog that waits for two seconds."""
    (folder / "test_hanging.py").write_text(tests)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'spec/tests/fixtures'}\n")
    (folder / "conftest.py").write_text('pytest_plugins = ["watchdog", "failures_at_once"]\n')
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--quiet-limit",
        "2",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_what_hangs_fails_and_all_else_goes_on(tmp_path: Path) -> None:
    done = run_tests(tmp_path, HANGING)
    assert "2 failed, 4 passed" in done.stdout
    assert done.stdout.count("used no processor and printed nothing") >= 2
    assert "in test_lock" in done.stdout, "the stacks of the threads are shown"
    hanging, *_ = (line for line in done.stdout.splitlines() if "failed: " in line)
    assert hanging == "call failed: test_hanging.py::test_lock"


@pytest.mark.process
def test_a_process_that_does_not_react_is_ended(tmp_path: Path) -> None:
    done = run_tests(tmp_path, DEAF)
    assert done.returncode == 70
    assert "in test_deaf" in done.stderr


@pytest.mark.parametrize(
    ("spent", "is_quiet"),
    [
        (Activity(), True),
        (Activity(used=0.005 * LOOK_S, written=10), True),
        (Activity(used=0.02 * LOOK_S), False),
        (Activity(waited=0.02 * LOOK_S), False),
        (Activity(written=100), False),
    ],
    ids=["nothing", "idle", "at-work", "starved", "printing"],
)
def test_quiet_is_who_neither_works_nor_waits_for_a_processor_nor_prints(
    spent: Activity, is_quiet: bool
) -> None:
    quiet = Quiet(QUIET_S)
    told = [quiet.add(LOOK_S, spent) for _ in range(2 * LOOKS)]
    assert told == [False] * (LOOKS - 1) + [is_quiet] * (LOOKS + 1)


def test_one_sign_of_life_starts_the_wait_anew() -> None:
    quiet = Quiet(QUIET_S)
    told = [quiet.add(LOOK_S, Activity(used=2.0 * (at == 20))) for at in range(60)]
    assert told.index(True) == 20 + LOOKS
