"""Who writes a history: the process by name, and whether that one still lives."""

import os
import platform
from pathlib import Path


def own_name() -> str:
    """Return a unique name of this process: host, boot, process id and start time."""
    pid = os.getpid()
    return f"{platform.node()} {_boot()} {pid} {_start(pid)}"


def is_alive(name: str) -> bool | None:
    """Return True if the process of this name runs; None if it is one of another machine."""
    host, _, rest = name.partition(" ")
    boot, _, process = rest.partition(" ")
    pid, _, start = process.partition(" ")
    if (host, boot) != (platform.node(), _boot()) or not pid.isdigit():
        return None
    return _start(int(pid)) == start


def in_words(name: str) -> str:
    """Return a process, by its unique name, in words for a sentence."""
    parts = name.split(" ")
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 4 else "an unknown process"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return "-"


def _start(pid: int) -> str:
    """Return when a process began, as the system counts; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
