"""Storage: what the server needs of the disk, and a storage in memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class KeptTopic(NamedTuple):
    """A topic as storage holds it; the partitions that ever stored anything are `used`."""

    id: int
    name: str
    partitions: int
    used: Sequence[int]
    groups: Sequence[int]


class KeptStream(NamedTuple):
    """A stream as storage holds it, with its topics."""

    id: int
    name: str
    topics: Sequence[KeptTopic]


class KeptSegment(NamedTuple):
    """A segment as storage holds it: its first offset, its size in bytes, and its raw records."""

    start: int
    size: int
    records: Sequence[bytes]


class Rows(NamedTuple):
    """The data to write for new messages: records, their positions, their timestamps."""

    records: Sequence[bytes]
    positions: Sequence[int]
    timestamps: Sequence[int]


class PartitionFiles(Protocol):
    """The interface of the stored files of one partition."""

    def segments(self) -> Sequence[KeptSegment]:
        """Return the stored segments in the order of offsets."""
        ...

    def offsets(self, kind: int) -> Mapping[int, int]:
        """Return the stored offsets of consumers or of groups (`kind`), by consumer id."""
        ...

    def append(self, start: int, rows: Rows) -> None:
        """Write messages to the segment with this first offset, all or none.

        Raises:
            OSError: the messages could not be written.
        """

    def rewrite(self, start: int, position: int, record: bytes) -> None:
        """Overwrite the record at a position with one of the same length.

        Raises:
            OSError: the record could not be written.
        """

    def save_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Store the offset of a consumer or of a group (`kind`).

        Raises:
            OSError: the offset could not be written.
        """

    def remove_offset(self, kind: int, consumer: int) -> None:
        """Delete the stored offset of a consumer or of a group (`kind`).

        Raises:
            OSError: the offset could not be deleted.
        """


class Storage(Protocol):
    """The interface of the server's storage. Every method that writes may raise `OSError`."""

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
    """The files of a partition that is kept in memory: there are none."""

    def segments(self) -> Sequence[KeptSegment]:
        """Return no segments."""
        return ()

    def offsets(self, kind: int) -> Mapping[int, int]:
        """Return no offsets."""
        return {}

    def append(self, start: int, rows: Rows) -> None:
        """Do nothing."""

    def rewrite(self, start: int, position: int, record: bytes) -> None:
        """Do nothing."""

    def save_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Do nothing."""

    def remove_offset(self, kind: int, consumer: int) -> None:
        """Do nothing."""


class MemoryStorage:
    """A storage that writes nothing: the server keeps all data in memory."""

    def streams(self) -> Sequence[KeptStream]:
        """Return no streams."""
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
        """Return the absent files of a partition."""
        return NoFiles()

    def resize_topic(self, stream: int, topic: int, partitions: int) -> None:
        """Do nothing."""

    def add_group(self, stream: int, topic: int, group: int) -> None:
        """Do nothing."""

    def remove_group(self, stream: int, topic: int, group: int) -> None:
        """Do nothing."""
