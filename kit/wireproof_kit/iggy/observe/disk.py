"""Reads the segment files of a partition in the target's data directory."""

from dataclasses import dataclass
from pathlib import Path

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.topics import FIRST_PARTITION, Topic
from wireproof_kit.wire.waiting import until
from wireproof_spec.iggy.segment import (
    index_name,
    log_name,
    partition_path,
    read_log_name,
    time_index_name,
)

CONSUMERS = "offsets/consumers"


@dataclass(frozen=True, slots=True)
class Segment:
    """The three files of a segment that begins at offset ``start``; a missing index is empty."""

    start: int
    log: bytes
    index: bytes
    time_index: bytes


class DataDirectory:
    """Reads the files of partitions and consumer offsets in the server's data directory."""

    def __init__(self, root: Path | None, seconds: float) -> None:
        if root is None:
            raise ArrangementFailed("no data directory of the target is known; give --data")
        self._root = root
        self._seconds = seconds

    def folder(self, topic: Topic, partition: int = FIRST_PARTITION) -> Path:
        """Return the directory of a partition."""
        return self._root / partition_path(topic.stream.number, topic.number, partition)

    def segments(self, topic: Topic, partition: int = FIRST_PARTITION) -> list[Segment]:
        """Return the segments of a partition that exist now, in order.

        Raises:
            ArrangementFailed: a file cannot be read.
        """
        folder = self.folder(topic, partition)
        names = folder.iterdir() if folder.is_dir() else ()
        starts = [start for path in names if (start := read_log_name(path.name)) is not None]
        return [self._segment(folder, start) for start in sorted(starts)]

    def wait_for(
        self, topic: Topic, end: bytes, partition: int = FIRST_PARTITION
    ) -> list[Segment]:
        """Wait until a partition's log contains ``end`` or patience has passed.

        Return its segments. A server may keep messages in memory for a while.
        """

        def look() -> list[Segment] | None:
            segments = self.segments(topic, partition)
            return segments if any(end in segment.log for segment in segments) else None

        found = until(look, seconds=self._seconds, every=0.05)
        return self.segments(topic, partition) if found is None else found

    def offset_file(self, topic: Topic, consumer: int, partition: int = FIRST_PARTITION) -> bytes:
        """Wait for a consumer's offset file; return its content, or empty bytes without one."""
        path = self.folder(topic, partition) / CONSUMERS / str(consumer)

        def look() -> bytes | None:
            return (_read(path) or None) if path.is_file() else None

        return until(look, seconds=self._seconds, every=0.05) or b""

    def _segment(self, folder: Path, start: int) -> Segment:
        return Segment(
            start,
            _read(folder / log_name(start)),
            _read(folder / index_name(start)),
            _read(folder / time_index_name(start)),
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise ArrangementFailed(f"cannot read {path}: {error.strerror}") from error
