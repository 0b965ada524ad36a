"""What a process of this machine uses: memory and open files, as the system tells."""

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Resident bytes, open files, seconds of processor time."""

    memory: int
    files: int
    cpu_s: float


def usage(pid: int) -> Usage | None:
    """Return what a process uses now; None when it is gone or may not be looked at."""
    folder = Path(f"/proc/{pid}")
    try:
        pages = int((folder / "statm").read_text().split()[1])
        files = len(os.listdir(folder / "fd"))
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except (OSError, IndexError, ValueError):
        return None
    return Usage(pages * _PAGE, files, (int(fields[11]) + int(fields[12])) / _TICKS)
