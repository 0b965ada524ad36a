"""The files of one partition in its topic's directory; small ones are replaced as a whole.

A new file is renamed over the old one, so that a reader sees either the old content or the new.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.storage import notes
from wireproof_reference_impl.nsq.storage.notes import FinishedFile
from wireproof_reference_impl.nsq.storage.queue_position import QueuePosition
from wireproof_spec.nsq.queue_names import (
    offset_meta_name,
    queue_file_name,
    queue_start_name,
    read_queue_file_name,
    writer_meta_name,
)

NEW = ".new"
TWIN = ".tmp"


class QueueFolder(Struct, frozen=True):
    """The files of one partition's queue in its topic's directory, by their names."""

    directory: str
    topic: str
    partition: int

    def is_new(self) -> bool:
        """Return True if the partition has no file; create a missing directory."""
        try:
            os.mkdir(self.directory)
        except FileExistsError:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            os.makedirs(self.directory, exist_ok=True)
            return True
        else:
            return True
        begin = f"{self.topic}-{self.partition}."
        return not any(name.startswith(begin) for name in names)

    def data_path(self, number: int) -> str:
        """Return the path of the queue file with this number."""
        return self._path(queue_file_name(self.topic, self.partition, number))

    def data_numbers(self) -> list[int]:
        """Return the numbers of the record files, in order."""
        found = map(read_queue_file_name, os.listdir(self.directory))
        return sorted(
            file.number
            for file in found
            if file is not None and (file.topic, file.partition) == (self.topic, self.partition)
        )

    def data_size(self, number: int) -> int:
        """Return the size in bytes of the queue file with this number."""
        return os.path.getsize(self.data_path(number))

    def cut(self, end: QueuePosition, *, last: int) -> None:
        """Remove all records after a position; ``last`` is the number of the last file."""
        for number in range(last, end.file_number, -1):
            _remove(self.data_path(number))
        for number in range(end.file_number, last + 1):
            name = offset_meta_name(self.topic, self.partition, number)
            _remove(self._path(name))
        if os.path.exists(self.data_path(end.file_number)):
            os.truncate(self.data_path(end.file_number), end.file_position)

    def read_offset_meta(self, number: int) -> FinishedFile | None:
        """Return the metadata of a finished file; None if it is missing or unreadable."""
        name = offset_meta_name(self.topic, self.partition, number)
        return notes.read_offset_meta(_content(self._path(name)))

    def write_offset_meta(self, end: QueuePosition) -> None:
        """Store the metadata of the file that ends at a position."""
        name = offset_meta_name(self.topic, self.partition, end.file_number)
        replace_file(self._path(name), notes.offset_meta(end))

    def read_writer_meta(self) -> QueuePosition | None:
        """Return the stored position of the next record; None if it is missing or unreadable."""
        name = writer_meta_name(self.topic, self.partition)
        return notes.read_writer_meta(_content(self._path(name)))

    def write_writer_meta(self, end: QueuePosition) -> None:
        """Store the position of the next record, in the twin file and then in the file itself."""
        path = self._path(writer_meta_name(self.topic, self.partition))
        note = notes.writer_meta(end)
        replace_file(f"{path}{TWIN}", note)
        replace_file(path, note + notes.MAGIC)

    def read_start(self) -> QueuePosition | None:
        """Return the stored start of the queue; None if it is missing or unreadable."""
        try:
            start = json.loads(_content(self._path(queue_start_name(self.topic, self.partition))))
            segment = start["SegOffset"]
            numbers = (
                start["TotalMsgCnt"],
                segment["FileNum"],
                segment["Pos"],
                start["VirtualOffset"],
            )
        except (ValueError, LookupError, TypeError):
            return None
        if not all(type(number) is int and number >= 0 for number in numbers):
            return None
        return QueuePosition(*numbers)

    def write_start(self, start: QueuePosition) -> None:
        """Store the start of the queue.

        Most queues start at the beginning, and an unreadable file means just that, so that this
        start need not be written in one step.
        """
        segment = {"FileNum": start.file_number, "Pos": start.file_position}
        content = {
            "SegOffset": segment,
            "VirtualOffset": start.offset,
            "TotalMsgCnt": start.count,
        }
        path = self._path(queue_start_name(self.topic, self.partition))
        write = overwrite_file if start == QueuePosition() else replace_file
        write(path, compact_json(content))

    def _path(self, name: str) -> str:
        return f"{self.directory}/{name}"


def replace_file(path: Path | str, content: bytes, *, synced: bool = False) -> None:
    """Write a file as a whole; readers see the old or the new content.

    ``synced``: the content is synced before the file gets its name.
    """
    new = f"{path}{NEW}"
    with open(new, "wb", buffering=0) as file:  # thousands a second
        left = memoryview(content)
        while left:
            left = left[file.write(left) :]
        if synced:
            os.fsync(file.fileno())
    os.replace(new, path)


def overwrite_file(path: str, content: bytes) -> None:
    """Write a small file in place with one call.

    Only for files that need not change in one step: the file is empty for a moment, and a reader,
    or a restart after a crash at that moment, finds nothing in it. It takes a small part of the
    time of `replace_file`, because it creates no second file.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        known = os.fstat(number).st_size
        if known <= len(content) == os.write(number, content):
            return
    finally:
        os.close(number)
    replace_file(path, content)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
