"""How long a program used a processor and waited for one, as Linux counts it; elsewhere nothing.

A round trip within the kit does not show that a client in another process is kept from running.
A thread of the kit measures how late it wakes up itself.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")
_NANOSECONDS = 1_000_000_000
_NAME = "session {}"
_TICK_S = 0.02
_USUAL_S = 0.002
"""An idle machine wakes a thread up so late."""
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


class Helpers:
    """The processes that the kit has started and waits for, such as a reference; thread-safe."""

    def __init__(self) -> None:
        self._pids: set[int] = set()
        self._lock = threading.Lock()

    def add(self, pid: int) -> None:
        """Count the time for which a process waits for a processor as a pause of the kit's own."""
        with self._lock:
            self._pids.add(pid)

    def discard(self, pid: int) -> None:
        """No longer count the waits of a process."""
        with self._lock:
            self._pids.discard(pid)

    def measure(self) -> dict[str, float]:
        """Return for how many seconds each thread of the processes has waited so far."""
        with self._lock:
            pids = tuple(self._pids)
        threads = (thread for pid in pids for thread in _list_threads(pid))
        return {str(thread): _read(thread).waited for thread in threads}

    def list_pids(self) -> tuple[int, ...]:
        """Return the ids of the processes."""
        with self._lock:
            return tuple(self._pids)


def _list_threads(pid: int) -> list[Path]:
    """Return the files on the threads of a process; none of one that ended meanwhile."""
    try:
        return [task / "schedstat" for task in (_PROCESSES / str(pid) / "task").iterdir()]
    except OSError:
        return []


HELPERS = Helpers()


class Lateness:
    """Adds up how late a thread wakes up that only sleeps: this process was kept from running.

    Threads of one process also wait for each other, and so for a processor that another thread
    waits for; the system counts only the latter.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._is_started = False
        if hasattr(os, "register_at_fork"):  # where there is fork
            os.register_at_fork(after_in_child=self._forget)

    def start(self) -> None:
        """Start the thread, unless it runs already."""
        with self._lock:
            if not self._is_started:
                threading.Thread(target=self._run, name="lateness", daemon=True).start()
                self._is_started = True

    def _run(self) -> None:
        while True:
            due = time.monotonic() + _TICK_S
            time.sleep(_TICK_S)
            self.seconds += max(time.monotonic() - due - _USUAL_S, 0.0)

    def _forget(self) -> None:
        self._lock, self._is_started = threading.Lock(), False


LATENESS = Lateness()


class PauseClock:
    """Measures for how long this thread, and the helpers, were kept from running."""

    def __init__(self) -> None:
        self._thread, self._late = measure_thread().waited, LATENESS.seconds
        self._helpers = HELPERS.measure()

    def seconds(self) -> float:
        """Return for how long so far: an exchange waits for the kit and then for a helper."""
        now = HELPERS.measure()
        waits = (waited - self._helpers.get(name, waited) for name, waited in now.items())
        own = max(measure_thread().waited - self._thread, LATENESS.seconds - self._late)
        return own + max(waits, default=0.0)
