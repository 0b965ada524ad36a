"""The memory, open files and processor time of a process on this machine, from /proc."""

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from wireproof_kit.errors import UsageFault

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_ENDED = ("Z", "X")
"""States of a process that has ended, but whose parent has not collected its exit code."""
_LISTENS = "0A"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process uses: resident memory in bytes, open files, processor time in seconds."""

    memory: int
    files: int
    cpu_s: float


def read_start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it has ended.

    Process ids are reused; the start time tells two processes with the same id apart.
    """
    fields = _stat(Path(f"/proc/{pid}"))
    return int(fields[19]) if fields and fields[0] not in _ENDED else None


@dataclass(frozen=True, slots=True)
class TargetProcess:
    """The process of a target, identified by process id and start time (ids are reused)."""

    pid: int
    born: int

    def has_ended(self) -> bool:
        """Return True if the process has ended."""
        return read_start_time(self.pid) != self.born


def find_process(pid: int) -> TargetProcess:
    """Return the process that the user named with ``--pid``.

    Raises:
        UsageFault: no such process of this machine can be watched.
    """
    born = read_start_time(pid)
    if born is None or usage(pid) is None:
        raise UsageFault(
            f"--pid {pid}: expected a process of this machine whose /proc entry can be read, "
            "found none"
        )
    return TargetProcess(pid, born)


def find_listener(port: int) -> int | None:
    """Return the newest process of this machine that listens on a TCP port; None if none does."""
    sockets = set(_listening(port))
    pids = (int(each.name) for each in Path("/proc").glob("[0-9]*")) if sockets else ()
    return next((pid for pid in sorted(pids, reverse=True) if _has_file(pid, sockets)), None)


def listens(pid: int, port: int) -> bool:
    """Return True if a process listens on a TCP port."""
    return _has_file(pid, set(_listening(port)))


def _has_file(pid: int, names: Collection[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        return any(os.readlink(f"{folder}/{each}") in names for each in os.listdir(folder))
    return False


def _listening(port: int) -> Iterator[str]:
    """Yield the sockets that listen on a port: Linux lists what listens before all else.

    The rest may be a hundred thousand connections of fuzz cases, whose ends linger.
    """
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), Path(f"/proc/net/{table}").open() as lines:
            next(lines, "")
            rows = takewhile(lambda row: row[3] == _LISTENS, map(str.split, lines))
            of_port = (row for row in rows if int(row[1].rpartition(":")[2], 16) == port)
            yield from (f"socket:[{row[9]}]" for row in of_port)


def usage(pid: int) -> Usage | None:
    """Return the present usage of a process; None if it has ended or may not be inspected."""
    folder = Path(f"/proc/{pid}")
    try:
        pages = int((folder / "statm").read_text().split()[1])
        files = len(os.listdir(folder / "fd"))
    except (OSError, IndexError, ValueError):
        return None
    fields = _stat(folder)
    if not fields:
        return None
    return Usage(pages * _PAGE, files, (int(fields[11]) + int(fields[12])) / _TICKS)


def _stat(folder: Path) -> list[str]:
    """Return the fields of /proc/PID/stat after the process name; none if it has ended."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
