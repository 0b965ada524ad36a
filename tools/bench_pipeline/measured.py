"""Runs a command to its end, with all that it starts, and says what that cost.

CPU time is read in /proc from every process below this one, again and again: the daemon that
starts Spark's Python workers ignores their ends (SIGCHLD), and what they have spent is then added
to nobody's account. By the children that were waited for alone, an ingest seemed to cost half of
what it did. Java is not always waited for by who started it: this process takes in what is left
without a parent (Linux's subreaper), so that it is seen below this one, too.
"""

import ctypes
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SUBREAPER = 36
_EVERY_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """What a command took in seconds: elapsed time, and CPU time of all its processes."""

    elapsed_s: float
    cpu_s: float
    out: str


def measure(command: Sequence[str], more: Mapping[str, str] | None = None) -> Cost:
    """Run a command and return what it took; exit with its output if it fails."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    spent: dict[tuple[int, str], float] = {}
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spent, ended))
    watcher.start()
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **(more or {})},
            check=False,
        )
        elapsed = time.monotonic() - began
        _reap()
    finally:
        ended.set()
        watcher.join()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return Cost(round(elapsed, 2), round(sum(spent.values()), 2), done.stdout)


def _watch(spent: dict[tuple[int, str], float], ended: threading.Event) -> None:
    """Keep the seconds that each process below this one was last seen to have spent."""
    while not ended.wait(_EVERY_S):
        spent.update(_below(os.getpid()))


def _below(top: int) -> Iterator[tuple[tuple[int, str], float]]:
    """Yield process and start, and its CPU seconds, of all that descend from one."""
    seen = {int(entry.name): _stat(entry) for entry in Path("/proc").glob("[0-9]*")}
    parents = {pid: int(stat[1]) for pid, stat in seen.items() if stat}
    for pid, stat in seen.items():
        above = parents.get(pid)
        while above not in (None, top):
            above = parents.get(above)
        if above == top:
            yield (pid, stat[19]), (int(stat[11]) + int(stat[12])) / _TICKS


def _stat(process: Path) -> list[str]:
    """Return the fields after a process's name; none if it has ended."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _reap() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
