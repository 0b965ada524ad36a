"""What the server needs of the disk, and how it goes without one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class KeptTopic(NamedTuple):
    """A topic found on the disk; partitions in which nothing was ever kept are not `used`."""

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
    """A segment found on the disk: its first offset, its size, its records as they stand there."""

    start: int
    size: int
    records: Sequence[bytes]


class Rows(NamedTuple):
    """What is to be written of some messages: records, their positions, their timestamps."""

    records: Sequence[bytes]
    positions: Sequence[int]
    timestamps: Sequence[int]


class PartitionFiles(Protocol):
    """The files of one partition."""

    def segments(self) -> Sequence[KeptSegment]:
        """Return what is kept, in the order of offsets."""
        ...

    def offsets(self, kind: int) -> Mapping[int, int]:
        """Return the stored offsets of consumers or of groups."""
        ...

    def append(self, start: int, rows: Rows) -> None:
        """Write messages to the segment that starts there, all or none.

        Raises:
            OSError: they could not be written.
        """

    def rewrite(self, start: int, position: int, record: bytes) -> None:
        """Write a record of unchanged length anew.

        Raises:
            OSError: it could not be written.
        """

    def save_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Keep the offset of a consumer or of a group.

        Raises:
            OSError: it could not be written.
        """


class Storage(Protocol):
    """Where streams are kept. Everything that writes may raise `OSError`."""

    def streams(self) -> Sequence[KeptStream]:
        """Return what is there."""
        ...

    def add_stream(self, stream: int, name: str) -> None:
        """Keep a stream."""

    def remove_stream(self, stream: int) -> None:
        """Forget a stream and all in it."""

    def add_topic(self, stream: int, topic: int, name: str) -> None:
        """Keep a topic."""

    def remove_topic(self, stream: int, topic: int) -> None:
        """Forget a topic and all in it."""

    def partition(self, stream: int, topic: int, partition: int) -> PartitionFiles:
        """Return the files of a partition; there are none before something is kept."""
        ...

    def resize_topic(self, stream: int, topic: int, partitions: int) -> None:
        """Keep how many partitions there are; forget all above, and what is in them."""

    def add_group(self, stream: int, topic: int, group: int) -> None:
        """Keep a consumer group."""

    def remove_group(self, stream: int, topic: int, group: int) -> None:
        """Forget a consumer group."""


class NoFiles:
    """What nothing was kept in, and nothing will be."""

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
    """Keeps nothing: what the server holds in memory is all there is."""

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
