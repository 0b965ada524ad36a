"""The interface of message storage, and an implementation in memory."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct


class Log(Protocol):
    """One partition's records in order; an offset counts bytes from the first record ever."""

    @property
    def end(self) -> int:
        """Return the virtual offset behind the last record."""
        ...

    @property
    def count(self) -> int:
        """Return how many records were ever appended."""
        ...

    def append(self, record: bytes) -> int:
        """Add a whole record and return the virtual offset of its start."""
        ...

    def append_all(self, records: Sequence[bytes]) -> int:
        """Add whole records, all or none; return the virtual offset of the first one's start.

        Raises:
            OSError: none was added.
        """
        ...

    def read_from(self, virtual_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records from an offset on, each with its own offset."""
        ...

    def note_growth(self) -> None:
        """Note where the log ends, if that is worth it; called now and then."""

    def close(self) -> None:
        """Flush and let go."""


class TopicMeta(Struct, frozen=True):
    """A topic's stored settings, besides its records."""

    name: str
    partitions: tuple[int, ...]
    extend: bool = False
    ordered: bool = False


class Storage(Protocol):
    """Where a node keeps its topics."""

    @property
    def gathers(self) -> bool:
        """Return True if acknowledging many messages at a time is cheaper."""
        ...

    def topics(self) -> Iterable[TopicMeta]:
        """Return the topics kept from an earlier run."""
        ...

    def save_topic(self, meta: TopicMeta) -> None:
        """Keep a topic's meta data."""

    def delete_topic(self, name: str) -> None:
        """Remove a topic and all its records; its logs are closed already."""

    def open_log(self, topic: str, partition: int) -> Log:
        """Open a partition's records, new or kept."""
        ...

    def replace_log(self, topic: str, partition: int, records: Iterable[bytes]) -> Log:
        """Throw a partition's records away and keep others instead; its log is closed already."""
        ...

    def commit(self) -> None:
        """Make what is about to be acknowledged as durable as promised.

        Raises:
            OSError: it is not; nothing of it may be acknowledged.
        """

    def sync(self) -> None:
        """Make everything durable, where that is promised; called now and then.

        Raises:
            OSError: something may be lost with the machine.
        """

    def positions(self, topic: str, partition: int) -> dict[str, tuple[int, int]]:
        """Return each channel's confirmed offset and count of confirmed messages."""
        ...

    def add_channel(self, topic: str, partition: int, name: str, place: tuple[int, int]) -> None:
        """Keep a new channel, with its confirmed offset and count.

        Raises:
            OSError: it is not kept.
        """

    def save_positions(
        self, topic: str, partition: int, positions: Mapping[str, tuple[int, int]]
    ) -> None:
        """Keep each channel's confirmed offset and count."""


class MemoryLog:
    """Records in a list, gone when the process ends."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._records: list[bytes] = []
        self._end = 0

    @property
    def end(self) -> int:
        """Return the virtual offset behind the last record."""
        return self._end

    @property
    def count(self) -> int:
        """Return how many records were appended."""
        return len(self._records)

    def append(self, record: bytes) -> int:
        """Add a record and return its offset."""
        return self.append_all((record,))

    def append_all(self, records: Sequence[bytes]) -> int:
        """Add records and return the offset of the first."""
        begin = self._end
        for record in records:
            self._add(record)
        return begin

    def read_from(self, virtual_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records from an offset on."""
        first = bisect_left(self._offsets, virtual_offset)
        for index in range(first, len(self._records)):
            yield self._offsets[index], self._records[index]

    def note_growth(self) -> None:
        """Do nothing: there is nowhere to note anything."""

    def close(self) -> None:
        """Do nothing: there is nothing to let go."""

    def _add(self, record: bytes) -> None:
        offset = self._end
        self._offsets.append(offset)
        self._records.append(record)
        self._end = offset + len(record)


class MemoryStorage:
    """A storage that keeps nothing beyond the process."""

    gathers = False

    def topics(self) -> Iterable[TopicMeta]:
        """Return none: nothing was kept."""
        return ()

    def save_topic(self, meta: TopicMeta) -> None:
        """Keep nothing."""

    def delete_topic(self, name: str) -> None:
        """Remove nothing."""

    def open_log(self, topic: str, partition: int) -> Log:
        """Open an empty log."""
        return MemoryLog()

    def replace_log(self, topic: str, partition: int, records: Iterable[bytes]) -> Log:
        """Open a log with other records."""
        log = MemoryLog()
        for record in records:
            log.append(record)
        return log

    def commit(self) -> None:
        """Promise nothing."""

    def sync(self) -> None:
        """Promise nothing."""

    def positions(self, topic: str, partition: int) -> dict[str, tuple[int, int]]:
        """Return none."""
        return {}

    def add_channel(self, topic: str, partition: int, name: str, place: tuple[int, int]) -> None:
        """Keep nothing."""

    def save_positions(
        self, topic: str, partition: int, positions: Mapping[str, tuple[int, int]]
    ) -> None:
        """Keep nothing."""
