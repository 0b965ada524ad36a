"""One partition: its messages in segments, and the stored offsets of consumers."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from wireproof_reference_impl.iggy.streams.log_behaviour import LogBehaviour
from wireproof_reference_impl.iggy.streams.storage import PartitionFiles, Rows
from wireproof_reference_impl.iggy.wire import message as messages
from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.message import Message, Sent, read_record
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND

_OFFSET_BYTES = 8


class Segment(Struct, eq=False):
    """One log file of a partition: its first offset and its size in bytes."""

    start: int
    size: int = 0


class Partition:
    """The messages of one partition, oldest first.

    A message found on disk is decoded when it is first requested; only then does it show whether
    it is readable.
    """

    def __init__(
        self, number: int, files: PartitionFiles, *, behaviour: LogBehaviour, segment_size: int
    ) -> None:
        self.id = number
        self.segments: list[Segment] = []
        self._files = files
        self._behaviour = behaviour
        self._segment_size = behaviour.segment_size(segment_size)
        self._messages: list[Message | bytes] = []
        self._positions: list[int] = []
        self._offsets = {kind: dict(files.offsets(kind)) for kind in (CONSUMER_KIND, GROUP_KIND)}
        self._load()
        self._next_us = self._after_last()

    @property
    def count(self) -> int:
        """Return the number of messages in the partition."""
        return len(self._messages)

    @property
    def current_offset(self) -> int:
        """Return the offset of the partition's last message, 0 without any."""
        return max(0, self.count - 1)

    @property
    def size(self) -> int:
        """Return the size of the partition's messages in the log, in bytes."""
        return sum(segment.size for segment in self.segments)

    def append(self, sent: Sequence[Sent], now_us: int, new_id: Callable[[], int]) -> None:
        """Store messages at the end, all or none, with rising timestamps.

        Raises:
            OSError: the messages could not be stored.
        """
        segment = self._open_segment()
        first_us = max(now_us, self._next_us)
        sent = sent if self._behaviour.repeats else self._without_repeated(sent)
        messages = [
            self._store(each, self.count + number, first_us + number, new_id)
            for number, each in enumerate(sent)
        ]
        records = [self._behaviour.record(message) for message in messages]
        ends = list(accumulate((len(record) for record in records), initial=segment.size))
        rows = Rows(records, ends[:-1], [message.timestamp for message in messages])
        self._files.append(segment.start, rows)
        if segment not in self.segments:
            self.segments.append(segment)
        self._messages += messages
        self._positions += ends[:-1]
        segment.size = ends[-1]
        self._next_us = first_us + len(sent)

    def read(self, start: int, count: int) -> list[Message]:
        """Return up to `count` messages from an offset on.

        Raises:
            Refusal: a message cannot be read, or has an unknown state.
        """
        return [self.message(offset) for offset in range(start, min(start + count, self.count))]

    def message(self, offset: int) -> Message:
        """Return the message at an offset.

        Raises:
            Refusal: the message cannot be read, or has an unknown state.
        """
        message = self.get_stored(offset)
        if not self._behaviour.is_known(message):
            raise status.invalid_command()
        return message

    def get_stored(self, offset: int) -> Message:
        """Return the message at an offset, even one in an unknown state.

        Raises:
            Refusal: the message cannot be read.
        """
        found = self._messages[offset]
        return read_record(found) if isinstance(found, bytes) else found

    def rewrite(self, offset: int, change: Callable[[Message], Message]) -> None:
        """Change the message at an offset in place; its length in the log stays the same.

        Raises:
            Refusal: the message cannot be read.
            OSError: the message could not be written.
        """
        message = change(self.get_stored(offset))
        start = self.segment_of(offset).start
        record = self._behaviour.record(message)
        self._files.rewrite(start, self._positions[offset], record)
        self._messages[offset] = message

    def segment_of(self, offset: int) -> Segment:
        """Return the segment that contains the message at an offset."""
        return next(segment for segment in reversed(self.segments) if segment.start <= offset)

    def spans(self) -> Iterator[range]:
        """Yield the range of offsets of each segment that has messages."""
        starts = [segment.start for segment in self.segments]
        for start, end in zip(starts, [*starts[1:], self.count], strict=True):
            if start < end:
                yield range(start, end)

    def stored_offset(self, kind: int, consumer: int) -> int | None:
        """Return the stored offset of a consumer or a group (`kind`), or None."""
        return self._offsets[kind].get(consumer)

    def store_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Store the offset of a consumer or a group (`kind`).

        Raises:
            Refusal: the offset is beyond the last message.
            OSError: the offset could not be stored.
        """
        if offset > self.current_offset:
            raise Refusal(status.INVALID_OFFSET, f"Invalid offset: {offset}")
        self._files.save_offset(kind, consumer, offset)
        self._offsets[kind][consumer] = offset

    def _without_repeated(self, sent: Sequence[Sent]) -> Sequence[Sent]:
        """Return the messages without an id, and those whose id no earlier message has."""
        there = {self.get_stored(offset).id for offset in range(self.count)}
        others: list[Sent] = []
        for each in sent:
            if not each.id or each.id not in there:
                others.append(each)
                there.add(each.id)
        return others

    def _store(
        self, sent: Sent, offset: int, timestamp_us: int, new_id: Callable[[], int]
    ) -> Message:
        log = self._behaviour
        return messages.store_message(
            replace(sent, headers=log.headers(sent.headers)),
            offset=offset,
            timestamp_us=log.timestamp(timestamp_us),
            number=sent.id or log.new_id(new_id()),
        )

    def _open_segment(self) -> Segment:
        last = self.segments[-1] if self.segments else None
        if last is None or last.size >= self._segment_size:
            return Segment(self.count)
        return last

    def _after_last(self) -> int:
        try:
            return self.get_stored(self.count - 1).timestamp + 1 if self.count else 0
        except Refusal:
            return 0

    def _load(self) -> None:
        for kept in self._files.segments():
            self.segments.append(Segment(kept.start, kept.size))
            place = 0
            for record in kept.records:
                if len(record) >= _OFFSET_BYTES:
                    self._messages.append(record)
                    self._positions.append(place)
                place += len(record)
        if not self.segments:
            self.segments.append(Segment(0))


def flip_bit(message: Message, bit: int) -> Message:
    """Return a message with one bit of its payload flipped.

    Raises:
        IndexError: the payload has no such bit.
    """
    payload = bytearray(message.payload)
    payload[bit // 8] ^= 1 << bit % 8
    return replace(message, payload=bytes(payload))
