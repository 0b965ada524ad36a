"""Temporary folders that are removed even if their process was killed.

A process holds a lock on each of its folders while it lives. The kernel releases the lock however
the process ends. So a folder that can be locked belongs to no process, and is removed by the next
process that looks.
"""

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

PREFIX = "wireproof-scratch-"


def scratch(parent: str | None = None) -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder, and remove the folders left by processes that were killed.

    Raises:
        OSError: no folder can be created.
    """
    for left in Path(parent or tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _remove_if_left(left)
    while True:
        folder = tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)
        if _is_held(folder):
            return folder
        folder.cleanup()


def _is_held(folder: tempfile.TemporaryDirectory[str]) -> bool:
    """Lock a new folder; return False when another process has already removed it."""
    try:
        lock = os.open(folder.name, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    weakref.finalize(folder, os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # where nothing can be locked, nothing is removed either
        return True
    return os.path.isdir(folder.name)


def _remove_if_left(left: Path) -> None:
    """Remove a folder of this user that no process has locked."""
    with suppress(OSError):
        lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.getuid():
                shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(lock)
