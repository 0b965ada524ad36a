"""What a process of this machine uses: memory and open files, as the system tells."""

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_ENDED = ("Z", "X")
"""States of one that has ended, though its parent has not asked yet."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Resident bytes, open files, seconds of processor time."""

    memory: int
    files: int
    cpu_s: float


def read_start_time(pid: int) -> int | None:
    """Return when a process began, in ticks since the machine did; None when it has ended.

    Numbers of processes are given again; two processes of one number began at different times.
    """
    fields = _stat(Path(f"/proc/{pid}"))
    return int(fields[19]) if fields and fields[0] not in _ENDED else None


def usage(pid: int) -> Usage | None:
    """Return what a process uses now; None when it is gone or may not be looked at."""
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
    """Return what the system tells of a process behind its name; nothing when it is gone."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
