"""Processor time of another program, counted from a moment on."""

import subprocess
import sys

import pytest

from wireproof_kit.drivers.processor import ProcessorClock, measure_session

pytestmark = pytest.mark.process

BUSY_THEN_IDLE = """
import sys, time
while time.process_time() < 0.3:
    pass
print("idle", flush=True)
sys.stdin.read()
"""


def test_time_before_the_restart_does_not_count() -> None:
    command = [sys.executable, "-c", BUSY_THEN_IDLE]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        clock = ProcessorClock()
        program.stdout.readline()

        before, _ = clock.measure(program.pid)
        clock.restart(program.pid)
        after, _ = clock.measure(program.pid)
        whole = measure_session(program.pid)
        program.stdin.close()

    assert before.used >= 0.3
    assert after.used < 0.2
    assert whole.used >= 0.3
