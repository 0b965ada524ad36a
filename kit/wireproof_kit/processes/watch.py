"""Looks at a running program and those that it started: are they busy, how large, still there."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
MOST_PROCESSES: Final = 32
KEPT: Final = "WIREPROOF_KEPT"
"""A variable in the environment of a command that starts what is to stay, such as a broker."""
ORPHANS_WITHIN_S: Final = 2.0
_STATE, _SESSION, _STARTED, _RESIDENT = 2, 5, 21, 1
_SET_SUBREAPER: Final = 36
_ADOPTERS: Final = set[int]()
STARTS: Final = threading.RLock()
"""Held from the start of a program until it is known as one that the kit started: without it the
last client to end had another one killed that was just being started."""
_RUNNABLE, _ENDED = "R", "Z"


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


def adopt_orphans() -> None:
    """Become the parent of what started programs leave behind, where the system is Linux."""
    import ctypes  # for this alone

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    _ADOPTERS.add(os.getpid())


def adopt_as_parent_did() -> None:
    """Adopt orphans if the process does from which this one was forked: a fork does not."""
    if _ADOPTERS and os.getpid() not in _ADOPTERS:
        adopt_orphans()


def list_orphans(known: Collection[int], since: int = 0) -> list[int]:
    """Return the processes that were left behind to this one in sessions of their own.

    They are none where this process has not adopted any: all its children are its own.
    ``known`` are those that this process started itself. Left out is what began before ``since``,
    in ticks as `start_tick` has them, what has ended, and what the user has the kit start to stay
    (`KEPT`).
    """
    own, kept = os.getpid(), f"{KEPT}=1".encode()
    if own not in _ADOPTERS:
        return []
    return [
        pid
        for pid in _children(own)
        if pid not in known
        and _session(pid) not in (0, os.getsid(own))
        and start_tick(pid) >= since
        and _state(_PROC / str(pid)) != _ENDED
        and not _has_variable(_PROC / str(pid), kept)
    ]


def kill_orphans(known: Collection[int], since: int) -> None:
    """Kill what was left behind, and what that leaves behind, for a short time at most."""
    late = time.monotonic() + ORPHANS_WITHIN_S
    while (orphans := list_orphans(known, since)) and time.monotonic() < late:
        for pid in orphans:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)  # its number is its own until it is waited for
                os.waitpid(pid, 0)


def start_tick(pid: int) -> int:
    """Return when a process began, in ticks since the machine did; 0 if it has ended."""
    fields = _fields(_PROC / str(pid))
    return int(fields[_STARTED - _STATE]) if fields else 0


def name_of(pid: int) -> str:
    """Return the name of a process's program, which may hold anything."""
    return _read(_PROC / str(pid) / "comm").strip()


def _session(pid: int) -> int:
    fields = _fields(_PROC / str(pid))
    return int(fields[_SESSION - _STATE]) if fields else 0


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
    fields = _fields(task)
    return fields[0] if fields else ""


def _fields(task: Path) -> list[str]:
    """Return the numbers about a process or thread, from its state on."""
    # The name of the program, in parentheses, may hold anything.
    return _read(task / "stat").rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""
