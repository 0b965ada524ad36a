"""Who writes a history: one process at a time, its name, and whether it still lives.

Java makes the commits, and goes on for a moment when the Python process that told it to is killed.
So Java holds the lock: the system releases it when Java has ended, and no sooner.
"""

import hashlib
import os
import platform
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Protocol, cast

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.place import LOCK, WATCH_LOCK, HistoryFault, root_of
from wireproof_reports.pipeline.session import first_line

POLL_S = 0.5
_TAKEN = "OverlappingFileLockException"
"""Java's error when the lock is held by the same Java process."""

Pause = Callable[[float], None]
"""Waits so many seconds, or raises what ends a longer wait."""
_BUSY = {
    LOCK: "is in use by another ingest ({}, or its Java process); "
    "run the command again when both have ended",
    WATCH_LOCK: "is already watched by another ingest ({}, or its Java process); "
    "only one process may watch a history: end that one first",
}
_AT = "@"
_OPEN = attrgetter("_jvm.java.io.RandomAccessFile")
"""pyspark has no public name for the classes of its Java."""


class _File(Protocol):
    """What is used of Java's RandomAccessFile."""

    def getChannel(self) -> "_Channel": ...


class _Channel(Protocol):
    """What is used of Java's FileChannel."""

    def tryLock(self) -> object | None: ...
    def close(self) -> None: ...


@contextmanager
def only_writer(
    spark: SparkSession,
    history: str,
    wait_s: float,
    lock: str = LOCK,
    pause: Pause = time.sleep,
) -> Generator[None]:
    """Keep all other ingests of this machine, and of a shared folder, from writing meanwhile.

    With another ``lock`` they are kept from what that file stands for. ``pause`` waits between two
    looks at the lock; what it raises ends the wait.

    Raises:
        HistoryFault: another process was writing, and did not end in time; or the history cannot
            be locked.
    """
    place = _lock_file(history, lock)
    channel = _open(spark, place)
    deadline = time.monotonic() + wait_s
    try:
        while not _try_lock(channel, place):
            if time.monotonic() > deadline:
                name = place.read_text() if place.exists() else ""
                raise HistoryFault(f"{history} {_BUSY[lock].format(in_words(name))}")
            pause(POLL_S)
        place.write_text(own_name())
        yield
    finally:
        channel.close()


def _lock_file(history: str, lock: str) -> Path:
    """Return the file that is locked: in a folder's history, or on this machine for a URL."""
    root = root_of(history)
    if root.startswith("file://"):
        return Path(root.removeprefix("file://")) / lock
    user = Path(tempfile.gettempdir()) / f"wireproof-{getattr(os, 'getuid', int)()}"
    user.mkdir(mode=0o700, exist_ok=True)
    return user / hashlib.sha256(f"{root} {lock}".encode()).hexdigest()[:32]


def _open(spark: SparkSession, place: Path) -> _Channel:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = cast(_File, _OPEN(spark.sparkContext)(str(place), "rw"))
        return file.getChannel()
    except (OSError, Py4JError) as error:
        raise HistoryFault(
            f"the lock file {place} cannot be opened ({first_line(error)}); "
            "check that you may write to its folder"
        ) from error


def _try_lock(channel: _Channel, place: Path) -> bool:
    try:
        return channel.tryLock() is not None
    except Py4JError as error:
        if _TAKEN in str(error):
            return False
        raise HistoryFault(
            f"{place} cannot be locked ({first_line(error)}), and without a lock two ingests may "
            "write at once; use a file system that has file locks"
        ) from error


def own_name() -> str:
    """Return a unique name of this process: host, boot, namespace, process id, start time."""
    pid = os.getpid()
    return f"{platform.node()} {_boot()}{_AT}{_namespace()} {pid} {_start(pid)}"


def is_alive(name: str) -> bool | None:
    """Return True if the process of this name runs; None if that cannot be known.

    A process of this machine that was started before the machine was started again has ended. One
    of another container may have this machine's host name, but its process ids are others: of it
    nothing is known, nor of one of another machine. Without ``/proc``, as on macOS, a process that
    has the number may be a later one.
    """
    host, _, rest = name.partition(" ")
    started, _, process = rest.partition(" ")
    boot, _, namespace = started.partition(_AT)
    pid, _, start = process.partition(" ")
    if host != platform.node() or not pid.isdigit():
        return None
    if boot == _boot() and namespace not in ("", _namespace()):
        return None
    if boot != _boot():
        return False
    if start:
        return _start(int(pid)) == start
    return None if _is_used(int(pid)) else False


def in_words(name: str) -> str:
    """Return a process, by its unique name, in words for a sentence."""
    parts = name.split(" ")
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 4 else "an unknown process"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return "-"


def _namespace() -> str:
    """Return the namespace of this process's id; empty if the system has none."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _start(pid: int) -> str:
    """Return when a process began, as the system counts; empty if there is none, or no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _is_used(pid: int) -> bool:
    """Return True if a process has this number."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
