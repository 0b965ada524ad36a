"""How long a program used a processor and waited for one, as Linux counts it; elsewhere nothing.

A round trip within the kit does not show that a client in another process is kept from running.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")
_NANOSECONDS = 1_000_000_000
_NAME = "session {}"
_SESSION = 3
"""The index of the session id in /proc/N/stat after the name: after state, parent and group."""


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Seconds that threads ran on a processor, and that they waited for one; all added up."""

    used: float = 0.0
    waited: float = 0.0

    def __add__(self, other: "ProcessorTime") -> "ProcessorTime":
        return ProcessorTime(self.used + other.used, self.waited + other.waited)

    def since(self, before: "ProcessorTime") -> "ProcessorTime":
        """Return what was added since; nothing if the processes measured before have ended."""
        return ProcessorTime(
            max(self.used - before.used, 0.0), max(self.waited - before.waited, 0.0)
        )


class ProcessorClock:
    """Measures the processor time of a session and of the calling thread, since `restart`."""

    def __init__(self) -> None:
        self._session, self._thread = ProcessorTime(), measure_thread()

    def restart(self, leader: int) -> None:
        """Count from now on; ``leader`` is the session's id."""
        self._session, self._thread = measure_session(leader), measure_thread()

    def measure(self, leader: int) -> tuple[ProcessorTime, ProcessorTime]:
        """Return the processor time of the session, and of the calling thread."""
        return measure_session(leader).since(self._session), measure_thread().since(self._thread)


def measure_session(leader: int) -> ProcessorTime:
    """Return the processor time of a session's processes; ``leader`` is the session's id."""
    total = ProcessorTime()
    for process in _list_processes(leader):
        for thread in process.glob("task/*/schedstat"):
            total += _read(thread)
    return total


def join_session(leader: int) -> None:
    """Have the calling process counted with a session that it does not belong to.

    A process cannot move into another session. It takes a name by which it is found.
    """
    with contextlib.suppress(OSError):
        (_PROCESSES / "self" / "comm").write_text(_NAME.format(leader))


def measure_thread() -> ProcessorTime:
    """Return the processor time of the calling thread."""
    return _read(_PROCESSES / "thread-self" / "schedstat")


def _list_processes(leader: int) -> Iterator[Path]:
    joined = _NAME.format(leader)
    for process in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):  # it has ended since
            head, _, rest = (process / "stat").read_text().rpartition(")")
            if rest.split()[_SESSION] == str(leader) or head.partition("(")[2] == joined:
                yield process


def _read(schedstat: Path) -> ProcessorTime:
    with contextlib.suppress(OSError, ValueError):
        used, waited, *_ = map(int, schedstat.read_text().split())
        return ProcessorTime(used / _NANOSECONDS, waited / _NANOSECONDS)
    return ProcessorTime()
