"""The interface of message storage, and an implementation in memory."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct


class Log(Protocol):
    """The interface of a partition's log: its records in order.

    Virtual offsets count bytes from the first record ever stored.
    """

    @property
    def end(self) -> int:
        """The virtual offset after the last record."""
        ...

    @property
    def count(self) -> int:
        """Return how many records were ever appended."""
        ...

    def append(self, record: bytes) -> int:
        """Append one complete record; return the virtual offset of its start."""
        ...

    def append_all(self, records: Sequence[bytes]) -> int:
        """Append complete records, all or none; return the virtual offset where the first starts.

        Raises:
            OSError: no record was appended.
        """
        ...

    def read_from(self, virtual_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records from an offset on, each with its own offset."""
        ...

    def note_growth(self) -> None:
        """Store the end of the log if it has grown enough; called now and then."""

    def close(self) -> None:
        """Flush and release the log."""


class TopicMeta(Struct, frozen=True):
    """What is stored of a topic besides its records: name, partitions, and kind."""

    name: str
    partitions: tuple[int, ...]
    extend: bool = False
    ordered: bool = False


class Storage(Protocol):
    """The interface of the storage of a node's topics."""

    @property
    def gathers(self) -> bool:
        """Return True if acknowledging many messages at once is cheaper."""
        ...

    def topics(self) -> Iterable[TopicMeta]:
        """Return the topics that an earlier run stored."""
        ...

    def save_topic(self, meta: TopicMeta) -> None:
        """Store a topic's metadata."""

    def delete_topic(self, name: str) -> None:
        """Remove a topic and all its records; its logs have been closed already."""

    def open_log(self, topic: str, partition: int) -> Log:
        """Open the log of a partition, a new or a stored one."""
        ...

    def replace_log(self, topic: str, partition: int, records: Iterable[bytes]) -> Log:
        """Replace all records of a partition, whose log is closed, and return the new log."""
        ...

    def commit(self) -> None:
        """Make stored messages as durable as promised, before they are acknowledged.

        Raises:
            OSError: the records are not durable; none of them may be acknowledged.
        """

    def sync(self) -> None:
        """Sync all data to the disk if that is promised; called now and then.

        Raises:
            OSError: data may be lost with the machine.
        """

    def positions(self, topic: str, partition: int) -> dict[str, tuple[int, int]]:
        """Return each channel's confirmed offset and number of confirmed messages, by channel."""
        ...

    def add_channel(self, topic: str, partition: int, name: str, place: tuple[int, int]) -> None:
        """Store a new channel, with its confirmed offset and count.

        Raises:
            OSError: the channel was not stored.
        """

    def save_positions(
        self, topic: str, partition: int, positions: Mapping[str, tuple[int, int]]
    ) -> None:
        """Store each channel's confirmed offset and count."""


class MemoryLog:
    """A partition's log in memory; its records are lost when the process ends."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._records: list[bytes] = []
        self._end = 0

    @property
    def end(self) -> int:
        """The virtual offset after the last record."""
        return self._end

    @property
    def count(self) -> int:
        """Return how many records were appended."""
        return len(self._records)

    def append(self, record: bytes) -> int:
        """Append a record and return its offset."""
        return self.append_all((record,))

    def append_all(self, records: Sequence[bytes]) -> int:
        """Append records and return the offset of the first."""
        begin = self._end
        for record in records:
            self._add(record)
        return begin

    def read_from(self, virtual_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records from an offset on, each with its own offset."""
        first = bisect_left(self._offsets, virtual_offset)
        for index in range(first, len(self._records)):
            yield self._offsets[index], self._records[index]

    def note_growth(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def _add(self, record: bytes) -> None:
        offset = self._end
        self._offsets.append(offset)
        self._records.append(record)
        self._end = offset + len(record)


class MemoryStorage:
    """A storage without files: all data is lost when the process ends."""

    gathers = False

    def topics(self) -> Iterable[TopicMeta]:
        """Return no topics."""
        return ()

    def save_topic(self, meta: TopicMeta) -> None:
        """Do nothing."""

    def delete_topic(self, name: str) -> None:
        """Do nothing."""

    def open_log(self, topic: str, partition: int) -> Log:
        """Return a new, empty log."""
        return MemoryLog()

    def replace_log(self, topic: str, partition: int, records: Iterable[bytes]) -> Log:
        """Return a new log with these records."""
        log = MemoryLog()
        for record in records:
            log.append(record)
        return log

    def commit(self) -> None:
        """Do nothing."""

    def sync(self) -> None:
        """Do nothing."""

    def positions(self, topic: str, partition: int) -> dict[str, tuple[int, int]]:
        """Return no positions of channels."""
        return {}

    def add_channel(self, topic: str, partition: int, name: str, place: tuple[int, int]) -> None:
        """Do nothing."""

    def save_positions(
        self, topic: str, partition: int, positions: Mapping[str, tuple[int, int]]
    ) -> None:
        """Do nothing."""
