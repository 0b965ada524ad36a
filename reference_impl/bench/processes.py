"""The measured processes: their CPU time and memory, and their children."""

import os
import time
from pathlib import Path

HOME = Path(__file__).parents[2]


def environment(*rooms: str) -> dict[str, str]:
    """Return an environment in which these rooms of this checkout are imported, compiled once."""
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(str(HOME / room) for room in rooms)}
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    return given


def cpu_s(pid: int) -> float:
    """Return how long a process has been on a processor, to the nanosecond.

    Raises:
        OSError: the process does not exist, or ended.
    """
    return time.clock_gettime(~pid << 3 | 2)  # how Linux numbers the CPU clocks of processes


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and not yet been told the end of."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in _words(task)]


def _words(task: Path) -> list[str]:
    try:
        return task.read_text().split()
    except FileNotFoundError:  # the thread has ended since
        return []
