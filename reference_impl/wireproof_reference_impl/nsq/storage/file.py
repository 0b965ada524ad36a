"""The file that a queue appends to: complete batches or nothing, synced on request.

A write is passed to the operating system before it returns, so written data survives the end of
the process. Only synced data survives a loss of the machine.
"""

import os
from io import FileIO


class QueueFile:
    """A file of a queue, open for appending; ``size`` is the position of the next record."""

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
            OSError: the bytes could not be written; nothing of them remains.
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
        """Sync the file to the disk."""
        if not self._is_dirty:
            return
        os.fdatasync(self._file.fileno())
        if not self._is_named:
            sync_directory(os.path.dirname(self._path))
        self._is_named, self._is_dirty = True, False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _cut(self) -> None:
        """Remove the rest of a failed write; nothing is written before this has succeeded."""
        self._is_torn = True
        self._file.truncate(self.size)
        self._is_torn = False


def sync_directory(directory: str) -> None:
    """Sync the file names of a directory to the disk."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
