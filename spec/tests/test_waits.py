"""What a test had is the wall's time, less what its processes waited for a processor."""

import os
import subprocess
import sys
import time

import pytest
import waits
from process_tree import Activity, ProcessTree
from waits import TICK_S, OwnTime, Stopwatch, until

BUSY = "while True: pass"
COUNTING = "import time\nwhile time.process_time() < 0.5: pass"


def had(*stretches: tuple[float, float, float], repeated: int = 1) -> float:
    """Return the own time after stretches of wall time, processor time and waiting."""
    own = OwnTime()
    for wall_s, used, waited in stretches * repeated:
        own.add(wall_s, Activity(used, waited))
    return own.seconds


@pytest.mark.parametrize(
    ("stretches", "expected_s"),
    [
        pytest.param([(0.05, 0.0, 0.0)] * 100, 5.0, id="asleep"),
        pytest.param([(0.05, 0.05, 0.0)] * 100, 5.0, id="at-work"),
        pytest.param([(0.05, 0.2, 0.0)] * 100, 5.0, id="at-work-on-four-processors"),
        pytest.param([(0.05, 0.005, 0.045)] * 100, 0.5, id="starved"),
        pytest.param([(0.05, 0.015, 0.135)] * 100, 0.5, id="three-threads-starved"),
        pytest.param([(0.05, 0.001, 0.004)] * 100, 4.6, id="mostly-asleep"),
        pytest.param([(5.0, 5.0, 0.0)], 5.0, id="one-call-that-lets-no-thread-run"),
        pytest.param([(50.0, 0.0, 0.0)], 0.1, id="a-machine-that-stood-still"),
    ],
)
def test_only_what_the_test_had_counts(
    stretches: list[tuple[float, float, float]], expected_s: float
) -> None:
    assert had(*stretches) == pytest.approx(expected_s, rel=0.1)


def test_a_wait_that_is_known_late_is_taken_off_afterwards() -> None:
    """Linux counts a wait for a processor when it ends."""
    unknown, known = (TICK_S, 0.0, 0.0), (TICK_S, 0.01, 0.2)
    seconds = had(unknown, unknown, unknown, known, repeated=50)
    assert 0.0 < seconds < 0.25 * 200 * TICK_S


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process")
def test_a_starved_process_takes_hardly_longer_than_with_a_processor_of_its_own() -> None:
    """Nine processes share one processor: what takes half a second takes four and a half."""
    one = {min(os.sched_getaffinity(0))}
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(8)]
    try:
        for process in busy:
            os.sched_setaffinity(process.pid, one)
        watch, began = Stopwatch(), time.monotonic()
        with subprocess.Popen([sys.executable, "-c", COUNTING]) as starved:
            os.sched_setaffinity(starved.pid, one)
            assert starved.wait() == 0
        own, wall = watch.seconds(), time.monotonic() - began
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert wall > 3 * own, (wall, own)


@pytest.mark.slow
def test_a_sleep_counts_in_full_but_for_what_was_waited_meanwhile() -> None:
    tree, watch = ProcessTree(), Stopwatch()
    time.sleep(2)
    assert watch.seconds() + tree.measure().waited > 1


def test_what_does_not_come_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "LIMIT_S", 0.1)
    with pytest.raises(AssertionError, match=r"no answer within 0\.1 s of the test's own time"):
        until(lambda: False, "answer")
    assert until(lambda: "it", "answer") == "it"


@pytest.mark.process
def test_a_tree_counts_what_descendants_do() -> None:
    """A shell starts the process that counts, and waits for it."""
    tree = ProcessTree()
    command = [sys.executable, "-c", f"{COUNTING}\nprint('x' * 5000, flush=True)\ninput()"]
    shell = ["/bin/sh", "-c", '"$@"; true', "sh", *command]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        tree.relist()
        spent = tree.measure()
        process.communicate(b"\n")
    assert spent.used > 0.4
    assert spent.written > 5000
