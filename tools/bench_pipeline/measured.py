"""Runs a command to its end, with all that it starts, and says what that cost.

Java is not always waited for by who started it. This process takes in what is left without a
parent (Linux's subreaper), so that the time of every process counts.
"""

import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """What a command took in seconds: elapsed time, and CPU time of all its processes."""

    elapsed_s: float
    cpu_s: float
    out: str


def measure(command: Sequence[str], more: Mapping[str, str] | None = None) -> Cost:
    """Run a command and return what it took; exit with its output if it fails."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before, began = _children(), time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(more or {})}, check=False
    )
    elapsed = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    _reap()
    return Cost(round(elapsed, 2), round(_children() - before, 2), done.stdout)


def _reap() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
