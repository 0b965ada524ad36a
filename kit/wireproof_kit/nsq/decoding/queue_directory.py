"""Finds the queue files in the directory of a topic, or in a whole data directory."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from wireproof_kit.errors import UsageFault
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.queue_files import OFFSET_META, OffsetMeta
from wireproof_spec.nsq.queue_names import (
    QueueFile,
    offset_meta_name,
    queue_start_name,
    read_queue_file_name,
)
from wireproof_spec.wire_error import WireError

QUEUE_MARK = ".diskqueue."
LAYOUT = "<topic>-<partition>.diskqueue.<number>.dat"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a message queue on disk; ``name`` is relative to the given directory."""

    path: Path
    name: str
    queue: QueueFile

    def offset_meta(self) -> OffsetMeta | None:
        """Return the metadata that the broker wrote when it completed the file; None without any.

        Raises:
            WireError: the metadata have another format.
        """
        meta = self._beside(offset_meta_name(*self._key(), self.queue.number))
        try:
            return decode(OFFSET_META, meta.read_bytes())
        except FileNotFoundError:
            return None

    def start_offset(self) -> int | None:
        """Return the file's first byte as an offset in the whole queue; None without metadata."""
        if self.queue.number == 0:
            return 0
        before = offset_meta_name(*self._key(), self.queue.number - 1)
        try:
            meta = self.offset_meta()
            if meta is not None:
                return meta.start_offset
            return decode(OFFSET_META, self._beside(before).read_bytes()).end_offset
        except (FileNotFoundError, WireError):
            return self._queue_start()

    def _queue_start(self) -> int | None:
        try:
            start = json.loads(self._beside(queue_start_name(*self._key())).read_bytes())
            segment = start["SegOffset"]
            if segment["FileNum"] != self.queue.number:
                return None
            return int(start["VirtualOffset"]) - int(segment["Pos"])
        except (FileNotFoundError, ValueError, LookupError, TypeError):
            return None

    def _key(self) -> tuple[str, int]:
        return self.queue.topic, self.queue.partition

    def _beside(self, name: str) -> Path:
        return self.path.with_name(name)


def stored_file(path: Path) -> StoredFile | None:
    """Return a path as a StoredFile; None when its name is not that of a queue file."""
    queue = read_queue_file_name(path.name)
    return None if queue is None else StoredFile(path, path.name, queue)


def stored_queues(directory: Path) -> Iterator[tuple[str, int, Sequence[StoredFile]]]:
    """Return topic, partition and files of each queue, in order.

    Raises:
        UsageFault: there is no queue in the directory.
    """
    folders = [directory, *sorted(path for path in directory.iterdir() if path.is_dir())]
    found = False
    for folder in folders:
        names = os.listdir(folder)
        found = found or any(QUEUE_MARK in name for name in names)
        files = sorted(_files(directory, folder, names), key=lambda file: file.queue)
        for (topic, partition), of_queue in groupby(files, key=_queue):
            yield topic, partition, list(of_queue)
    if not found:
        raise UsageFault(f"{directory} holds no queue: no file is named {LAYOUT}")


def _files(root: Path, folder: Path, names: Sequence[str]) -> Iterator[StoredFile]:
    for name in names:
        queue = read_queue_file_name(name)
        path = folder / name
        if queue is not None and path.is_file():
            yield StoredFile(path, path.relative_to(root).as_posix(), queue)


def _queue(file: StoredFile) -> tuple[str, int]:
    return file.queue.topic, file.queue.partition
