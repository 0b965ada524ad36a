"""The file a queue writes to: whole batches or nothing, made durable when asked.

A write goes to the operating system before it returns: what was written outlives the process.
Only what was synced outlives the machine.
"""

import os
from io import FileIO


class QueueFile:
    """One file of records, open for appending; ``size`` is where the next record goes."""

    def __init__(self, path: str, *, size: int) -> None:
        self._path = path
        self._file = FileIO(path, "ab")
        self._is_named = False
        self._is_dirty = True
        self._is_torn = False
        self.size = size

    def write(self, data: bytes) -> None:
        """Append bytes with one call.

        Raises:
            OSError: they could not be written; nothing of them stays.
        """
        if self._is_torn:
            self._cut()
        self._is_dirty = True
        try:
            written = self._file.write(data)
        except OSError:
            self._cut()
            raise
        if written != len(data):
            self._cut()
            raise OSError(f"{self._path}: only {written} of {len(data)} bytes were written")
        self.size += len(data)

    def sync(self) -> None:
        """Make what was written outlive the machine."""
        if not self._is_dirty:
            return
        os.fdatasync(self._file.fileno())
        if not self._is_named:
            sync_directory(os.path.dirname(self._path))
        self._is_named, self._is_dirty = True, False

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _cut(self) -> None:
        """Remove what a failed write left; until that is done nothing more is written."""
        self._is_torn = True
        self._file.truncate(self.size)
        self._is_torn = False


def sync_directory(directory: str) -> None:
    """Make the names in a directory outlive the machine."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
