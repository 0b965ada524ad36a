"""Storage: what the server needs of the disk, and a storage in memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class KeptTopic(NamedTuple):
    """A topic found on disk; partitions that never stored anything are not `used`."""

    id: int
    name: str
    partitions: int
    used: Sequence[int]
    groups: Sequence[int]


class KeptStream(NamedTuple):
    """A stream found on the disk."""

    id: int
    name: str
    topics: Sequence[KeptTopic]


class KeptSegment(NamedTuple):
    """A segment found on disk: its first offset, its size, and its raw records."""

    start: int
    size: int
    records: Sequence[bytes]


class Rows(NamedTuple):
    """The data to write for messages: records, their positions, their timestamps."""

    records: Sequence[bytes]
    positions: Sequence[int]
    timestamps: Sequence[int]


class PartitionFiles(Protocol):
    """The files of one partition."""

    def segments(self) -> Sequence[KeptSegment]:
        """Return the stored segments in the order of offsets."""
        ...

    def offsets(self, kind: int) -> Mapping[int, int]:
        """Return the stored offsets of consumers or of groups."""
        ...

    def append(self, start: int, rows: Rows) -> None:
        """Write messages to the segment that starts there, all or none.

        Raises:
            OSError: the messages could not be written.
        """

    def rewrite(self, start: int, position: int, record: bytes) -> None:
        """Overwrite a record with one of the same length.

        Raises:
            OSError: the record could not be written.
        """

    def save_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Store the offset of a consumer or of a group.

        Raises:
            OSError: the offset could not be written.
        """


class Storage(Protocol):
    """Stores streams. Every method that writes may raise `OSError`."""

    def streams(self) -> Sequence[KeptStream]:
        """Return the stored streams."""
        ...

    def add_stream(self, stream: int, name: str) -> None:
        """Store a new stream."""

    def remove_stream(self, stream: int) -> None:
        """Delete a stream with all its topics."""

    def add_topic(self, stream: int, topic: int, name: str) -> None:
        """Store a new topic."""

    def remove_topic(self, stream: int, topic: int) -> None:
        """Delete a topic with all its messages."""

    def partition(self, stream: int, topic: int, partition: int) -> PartitionFiles:
        """Return the files of a partition; there are none before something is stored in it."""
        ...

    def resize_topic(self, stream: int, topic: int, partitions: int) -> None:
        """Store the number of partitions, and delete all partitions above it."""

    def add_group(self, stream: int, topic: int, group: int) -> None:
        """Store a new consumer group."""

    def remove_group(self, stream: int, topic: int, group: int) -> None:
        """Delete a consumer group."""


class NoFiles:
    """The files of a partition that has none."""

    def segments(self) -> Sequence[KeptSegment]:
        """Return nothing."""
        return ()

    def offsets(self, kind: int) -> Mapping[int, int]:
        """Return nothing."""
        return {}

    def append(self, start: int, rows: Rows) -> None:
        """Do nothing."""

    def rewrite(self, start: int, position: int, record: bytes) -> None:
        """Do nothing."""

    def save_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Do nothing."""


class MemoryStorage:
    """Writes nothing: all data is in the memory of the server."""

    def streams(self) -> Sequence[KeptStream]:
        """Return nothing."""
        return ()

    def add_stream(self, stream: int, name: str) -> None:
        """Do nothing."""

    def remove_stream(self, stream: int) -> None:
        """Do nothing."""

    def add_topic(self, stream: int, topic: int, name: str) -> None:
        """Do nothing."""

    def remove_topic(self, stream: int, topic: int) -> None:
        """Do nothing."""

    def partition(self, stream: int, topic: int, partition: int) -> PartitionFiles:
        """Return no files."""
        return NoFiles()

    def resize_topic(self, stream: int, topic: int, partitions: int) -> None:
        """Do nothing."""

    def add_group(self, stream: int, topic: int, group: int) -> None:
        """Do nothing."""

    def remove_group(self, stream: int, topic: int, group: int) -> None:
        """Do nothing."""
