"""The file that a queue appends to: complete batches or nothing, synced on request.

A write is passed to the operating system before it returns, so written data survives the end of
the process. Only synced data survives a loss of the machine.

A broker has a file for each partition, and may have more partitions than a process may have open
files: the file that has been open for longest is closed, and opened again by its next write.
"""

import os
import resource
from io import FileIO

SHARE = 4
"""One in so many of the files that a process may open is one of a queue; the rest are sockets."""
_open_files: dict["QueueFile", None] = {}


class QueueFile:
    """A file of a queue, open for appending; ``size`` is the position of the next record."""

    def __init__(self, path: str, *, size: int) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._open()
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
            written = self._open().write(data)
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
        os.fdatasync(self._open().fileno())
        if not self._is_named:
            sync_directory(os.path.dirname(self._path))
        self._is_named, self._is_dirty = True, False

    def close(self) -> None:
        """Close the file."""
        _open_files.pop(self, None)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _cut(self) -> None:
        """Remove the rest of a failed write; nothing is written before this has succeeded."""
        self._is_torn = True
        self._open().truncate(self.size)
        self._is_torn = False

    def _open(self) -> FileIO:
        if self._file is None:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            if 0 <= limit < len(_open_files) * SHARE:
                next(iter(_open_files)).close()
            self._file = FileIO(self._path, "ab")
            _open_files[self] = None
        return self._file


def sync_directory(directory: str) -> None:
    """Sync the file names of a directory to the disk."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
