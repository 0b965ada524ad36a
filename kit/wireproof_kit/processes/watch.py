"""Looks at a running program and those that it started: are they busy, how large, still there."""

import contextlib
import os
import signal
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


def kill_marked(variable: str) -> None:
    """Kill every process of this user that has a variable, ``NAME=value``, in its environment.

    Does nothing where the system has no ``/proc`` or cannot hold on to a process.
    """
    if not hasattr(os, "pidfd_open"):
        return
    wanted = variable.encode()
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit() and _has_variable(entry, wanted):
            with contextlib.suppress(OSError):
                _kill(int(entry.name), entry, wanted)


def _kill(pid: int, entry: Path, wanted: bytes) -> None:
    """Kill a process if it still has the variable: its number may be another's by now."""
    held = os.pidfd_open(pid)
    try:
        if _has_variable(entry, wanted):
            signal.pidfd_send_signal(held, signal.SIGKILL)
    finally:
        os.close(held)


def _has_variable(entry: Path, wanted: bytes) -> bool:
    try:
        return wanted in (entry / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return False


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
