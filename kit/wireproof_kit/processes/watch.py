"""Looks at a running program and those that it started: are they busy, and how large."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
MOST_PROCESSES: Final = 32
_STATE, _RESIDENT = 2, 1
_RUNNABLE = "R"


def family(pid: int) -> list[int]:
    """Return the ids of a process and its descendants, some dozens at most; none if it ended."""
    found, waiting = list[int](), [pid]
    while waiting and len(found) < MOST_PROCESSES:
        current = waiting.pop()
        found.append(current)
        waiting += _children(current)
    return found


def is_runnable(pids: list[int]) -> bool:
    """Return True if a thread of these processes is running, or waits only for a processor."""
    return any(_state(task) == _RUNNABLE for pid in pids for task in _tasks(pid))


def resident_bytes(pids: list[int]) -> int:
    """Return the resident memory of these processes together, in bytes."""
    pages = 0
    for pid in pids:
        text = _read(_PROC / str(pid) / "statm").split()
        pages += int(text[_RESIDENT]) if len(text) > _RESIDENT else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _tasks(pid: int) -> Iterator[Path]:
    try:
        yield from (_PROC / str(pid) / "task").iterdir()
    except OSError:
        return


def _children(pid: int) -> Iterator[int]:
    for task in _tasks(pid):
        yield from map(int, _read(task / "children").split())


def _state(task: Path) -> str:
    # The name of the program, in parentheses, may hold anything.
    fields = _read(task / "stat").rpartition(")")[2].split()
    return fields[_STATE - 2] if fields else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""
