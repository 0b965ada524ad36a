"""Storage on disk: streams as folders, partitions as segment files, like the measured server.

streams/<stream>/stream.info                        the name, nothing else
streams/<stream>/topics/<topic>/topic.info          the name, nothing else
…/topics/<topic>/partitions.count                   how many partitions there are
…/topics/<topic>/groups/<group>                     the id, u32
…/topics/<topic>/partitions/<partition>/
<first offset, 20 digits>.log                   messages one after the other
<same>.index                                    u32 for each message: its place in the log
<same>.timeindex                                u64 for each message: its timestamp
offsets/consumers/<id>, offsets/groups/<id>     u64: how far it has read

Two things the measured server keeps otherwise: it makes every file of a partition with the topic,
which takes it minutes for 100,000, while here a partition has none before something is kept in it;
so their number has a file of its own.
"""

import contextlib
import os
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path

from wireproof_reference_impl.iggy.streams.storage import (
    KeptSegment,
    KeptStream,
    KeptTopic,
    PartitionFiles,
    Rows,
)
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND

_STREAM_INFO = "stream.info"
_TOPIC_INFO = "topic.info"
_COUNT = "partitions.count"
_OFFSETS = {CONSUMER_KIND: "consumers", GROUP_KIND: "groups"}
_U32_MASK = (1 << 32) - 1
_U64_MASK = (1 << 64) - 1


class SegmentFiles:
    """The files of one partition in its folder, which is created when something is stored."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._made = {folder} if os.path.isdir(folder) else set[str]()

    def segments(self) -> Sequence[KeptSegment]:
        """Return the stored segments with their records, cut by the positions in the index."""
        if not self._made:
            return ()
        found = [
            (int(each.stem), each)
            for each in Path(self._folder).glob("*.log")
            if each.stem.isdigit()
        ]
        return [_segment(start, path) for start, path in sorted(found)]

    def offsets(self, kind: int) -> Mapping[int, int]:
        """Return the stored offsets of consumers or of groups (`kind`), by consumer id."""
        if not self._made:
            return {}
        return {
            number: int.from_bytes(path.read_bytes()[:8], "little")
            for number, path in _list_numbered(Path(self._folder, "offsets", _OFFSETS[kind]))
        }

    def append(self, start: int, rows: Rows) -> None:
        """Write messages to the segment with this first offset, all or none.

        Raises:
            OSError: the messages could not be written; the log is as before.
        """
        positions = struct.pack(
            f"<{len(rows.positions)}I", *_list_fitting(rows.positions, _U32_MASK)
        )
        timestamps = struct.pack(
            f"<{len(rows.timestamps)}Q", *_list_fitting(rows.timestamps, _U64_MASK)
        )
        self._make()
        parts = {"log": b"".join(rows.records), "index": positions, "timeindex": timestamps}
        sizes: dict[str, int] = {}
        try:
            for kind, data in parts.items():
                path = self.path(start, kind)
                with open(path, "ab", buffering=0) as file:
                    sizes[path] = file.tell()
                    _write_all(file, data)
        except OSError:
            for path, size in sizes.items():
                _cut(path, size)
            raise

    def rewrite(self, start: int, position: int, record: bytes) -> None:
        """Overwrite the record at a position of a segment's log, in place.

        Raises:
            OSError: the record could not be written.
        """
        with open(self.path(start, "log"), "r+b") as file:
            file.seek(position)
            file.write(record)

    def save_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Store the offset of a consumer or a group (`kind`).

        Raises:
            OSError: the offset could not be written.
        """
        folder = f"{self._folder}/offsets/{_OFFSETS[kind]}"
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)
            self._made |= {self._folder, folder}
        _write(f"{folder}/{consumer}", offset.to_bytes(8, "little"))

    def remove_offset(self, kind: int, consumer: int) -> None:
        """Delete the stored offset of a consumer or a group (`kind`).

        Raises:
            OSError: the offset could not be deleted.
        """
        os.unlink(f"{self._folder}/offsets/{_OFFSETS[kind]}/{consumer}")

    def _make(self) -> None:
        if not self._made:
            _make_folder(self._folder)
            self._made.add(self._folder)

    def path(self, start: int, kind: str) -> str:
        """Return the path of a file of the segment with this first offset."""
        return f"{self._folder}/{start:020}.{kind}"


class DiskStorage:
    """Stores streams, topics and partitions as folders below a data folder."""

    def __init__(self, folder: Path) -> None:
        self._streams = folder / "streams"
        self._streams.mkdir(parents=True, exist_ok=True)

    def streams(self) -> Sequence[KeptStream]:
        """Return the stored streams; a folder without its info file is not one."""
        return [
            KeptStream(number, (path / _STREAM_INFO).read_text(), _topics(path / "topics"))
            for number, path in _list_numbered(self._streams)
            if (path / _STREAM_INFO).is_file()
        ]

    def add_stream(self, stream: int, name: str) -> None:
        """Store a new stream."""
        folder = self._streams / str(stream)
        (folder / "topics").mkdir(parents=True, exist_ok=True)
        (folder / _STREAM_INFO).write_text(name)

    def remove_stream(self, stream: int) -> None:
        """Delete a stream with all its topics."""
        shutil.rmtree(self._streams / str(stream))

    def add_topic(self, stream: int, topic: int, name: str) -> None:
        """Store a new topic."""
        folder = self._topic(stream, topic)
        for each in (folder, f"{folder}/partitions", f"{folder}/groups"):
            _make_folder(each)
        _write(f"{folder}/{_TOPIC_INFO}", name.encode())

    def remove_topic(self, stream: int, topic: int) -> None:
        """Delete a topic with all its messages."""
        shutil.rmtree(self._topic(stream, topic))

    def partition(self, stream: int, topic: int, partition: int) -> PartitionFiles:
        """Return the files of a partition."""
        return SegmentFiles(self._partition(stream, topic, partition))

    def resize_topic(self, stream: int, topic: int, partitions: int) -> None:
        """Store the number of partitions, and delete all partitions above it."""
        folder = self._topic(stream, topic)
        new = f"{folder}/{_COUNT}.new"
        _write(new, str(partitions).encode())
        os.replace(new, f"{folder}/{_COUNT}")  # who dies on the way leaves the old or the new
        for name in os.listdir(f"{folder}/partitions"):
            if _is_number(name) and int(name) > partitions:
                shutil.rmtree(f"{folder}/partitions/{name}")

    def add_group(self, stream: int, topic: int, group: int) -> None:
        """Store a new consumer group."""
        path = f"{self._topic(stream, topic)}/groups/{group}"
        _write(path, group.to_bytes(4, "little"))

    def remove_group(self, stream: int, topic: int, group: int) -> None:
        """Delete a consumer group."""
        os.unlink(f"{self._topic(stream, topic)}/groups/{group}")

    def _topic(self, stream: int, topic: int) -> str:
        return f"{self._streams}/{stream}/topics/{topic}"

    def _partition(self, stream: int, topic: int, partition: int) -> str:
        return f"{self._topic(stream, topic)}/partitions/{partition}"


def _topics(folder: Path) -> list[KeptTopic]:
    return [
        KeptTopic(
            number,
            (path / _TOPIC_INFO).read_text(),
            _count(path / _COUNT),
            [each for each, _ in _list_numbered(path / "partitions")],
            [each for each, _ in _list_numbered(path / "groups")],
        )
        for number, path in _list_numbered(folder)
        if (path / _TOPIC_INFO).is_file()
    ]


def _count(path: Path) -> int:
    """Return a number kept in a file, 0 without one."""
    return int(path.read_text()) if path.is_file() else 0


def _segment(start: int, path: Path) -> KeptSegment:
    log = path.read_bytes()
    index = path.with_suffix(".index")
    data = index.read_bytes() if index.exists() else b""
    places = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    within = [place for place in places if place < len(log)]
    ends = [*within[1:], len(log)]
    records = [log[begin:end] for begin, end in zip(within, ends, strict=False)]
    return KeptSegment(start, len(log), records)


def _list_numbered(folder: Path) -> Iterator[tuple[int, Path]]:
    """Return the entries of a folder that are named by numbers, sorted."""
    if folder.is_dir():
        found = [each for each in folder.iterdir() if _is_number(each.name)]
        yield from sorted((int(each.name), each) for each in found)


def _list_fitting(numbers: Sequence[int], mask: int) -> Iterator[int]:
    return (number & mask for number in numbers)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _make_folder(path: str) -> None:
    """Make a folder, with one system call if its parent exists."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    except FileNotFoundError:
        os.makedirs(path, exist_ok=True)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        _write_all(file, data)


def _write_all(file: FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _cut(path: str, size: int) -> None:
    with contextlib.suppress(OSError):
        os.truncate(path, size)
