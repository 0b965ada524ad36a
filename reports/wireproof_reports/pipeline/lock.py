"""Locks of a history: one writer at a time where the store cannot refuse a second commit.

Java makes the commits, and goes on for a moment when the Python process that started it is
killed. So Java holds the lock: the system releases it when Java has ended, and no sooner.
"""

import hashlib
import os
import platform
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.failure import first_line
from wireproof_reports.pipeline.place import LOCK, WATCH_LOCK, HistoryFault, root_of

POLL_S = 0.5
_HELD_HERE = "OverlappingFileLockException"
"""Java's error when the lock is held by the same Java process."""

Pause = Callable[[float], None]
"""Waits so many seconds, or raises what ends a longer wait."""
_BUSY = {
    LOCK: "is in use by another ingest ({}, or its Java process); "
    "run the command again when both have ended",
    WATCH_LOCK: "is already watched by another ingest ({}, or its Java process); "
    "only one process may watch a history: end that one first",
}
_LOCKED = ("file", "s3", "s3a", "s3n")
"""Schemes of stores that do not refuse the second of two commits of the same version. On S3, Delta
only keeps apart the writers of one Java. In a local folder, Hadoop looks whether a commit is there
and then renames the new one, which replaces a commit that came in between."""
_HELPER = "S3DynamoDBLogStore"
"""Delta's log store that has a database refuse the second of two commits on S3."""
_OPEN = attrgetter("_jvm.java.io.RandomAccessFile")
"""pyspark has no public name for the classes of its Java."""


class _File(Protocol):
    """What is used of Java's RandomAccessFile."""

    def getChannel(self) -> "_Channel": ...


class _Channel(Protocol):
    """What is used of Java's FileChannel."""

    def tryLock(self) -> object | None: ...
    def close(self) -> None: ...


def writer_lock(
    spark: SparkSession, history: str, wait_s: float, pause: Pause = time.sleep
) -> AbstractContextManager[None]:
    """Keep other writers out if the history's store cannot refuse simultaneous commits.

    Raises:
        HistoryFault: another process was writing, and did not end in time; or the history cannot
            be locked.
    """
    scheme = root_of(history).partition("://")[0]
    helper = spark.conf.get(f"spark.delta.logStore.{scheme}.impl", "") or ""
    if scheme not in _LOCKED or helper.endswith(_HELPER):
        return nullcontext()
    return locked(spark, history, wait_s, pause=pause)


@contextmanager
def locked(
    spark: SparkSession,
    history: str,
    wait_s: float,
    lock: str = LOCK,
    pause: Pause = time.sleep,
) -> Generator[None]:
    """Hold a lock of a history on this machine, or in a shared folder.

    ``pause`` waits between two attempts to lock; what it raises ends the wait.

    Raises:
        HistoryFault: another process had the lock, and did not end in time; or the history cannot
            be locked.
    """
    place = _lock_file(history, lock)
    channel = _open(spark, place)
    deadline = time.monotonic() + wait_s
    try:
        while not _try_lock(channel, place):
            if time.monotonic() > deadline:
                holder = place.read_text("utf-8", "replace") if place.exists() else ""
                raise HistoryFault(
                    f"{history} {_BUSY[lock].format(holder or 'an unknown process')}"
                )
            pause(POLL_S)
        _name_holder(place)
        yield
    finally:
        channel.close()


def _name_holder(place: Path) -> None:
    try:
        place.write_text(f"process {os.getpid()} on {platform.node()}", "utf-8")
    except OSError as error:
        raise HistoryFault(f"{place} cannot be written ({error.strerror})") from error


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
        file: _File = _OPEN(spark.sparkContext)(str(place), "rw")
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
        if _HELD_HERE in str(error):
            return False
        raise HistoryFault(
            f"{place} cannot be locked ({first_line(error)}), and without a lock two ingests may "
            "write at once; use a file system that has file locks"
        ) from error
