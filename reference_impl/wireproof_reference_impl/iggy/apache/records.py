"""Batches as a partition keeps them: the header is made anew when a batch is written or polled.

The frames stay the producer's bytes. This reading of the batch layout is the server's own: it
shares no code with the grammar, so that one can be tested against the other.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import xxhash
from msgspec import Struct

from wireproof_reference_impl.iggy.apache.refusals import Unsound

HEADER_SIZE = 256
FRAME_SIZE = 48
_HEAD = struct.Struct("<QQQQQQI204s")
_SUMMED = struct.Struct("<QQQQQI")
_FRAME = struct.Struct("<QQQIIIIQ")
_SUM_SIZE = 8
_RESERVED = bytes(204)


class Head(NamedTuple):
    """The fields of a batch header, in their order."""

    partition_id: int
    base_offset: int
    base_timestamp: int
    origin_timestamp: int
    length: int
    checksum: int
    messages: int
    reserved: bytes


class Frame(NamedTuple):
    """A message frame: its offset delta, the length of its payload, and all of its bytes."""

    delta: int
    payload_length: int
    data: bytes

    @property
    def payload(self) -> bytes:
        """The payload, which stands in front of the user headers."""
        return self.data[FRAME_SIZE : FRAME_SIZE + self.payload_length]

    @property
    def user_headers(self) -> bytes:
        """The bytes of the user headers."""
        return self.data[FRAME_SIZE + self.payload_length :]

    @property
    def checksum(self) -> int:
        """The checksum that the producer made."""
        return int.from_bytes(self.data[:_SUM_SIZE], "little")

    @property
    def id(self) -> int:
        """The id that the producer made."""
        return int.from_bytes(self.data[8:24], "little")

    @property
    def timestamp_delta(self) -> int:
        """The producer's time, in microseconds after that of the batch."""
        return int.from_bytes(self.data[28:32], "little")

    @property
    def reserved(self) -> int:
        """The reserved bytes as a number."""
        return int.from_bytes(self.data[40:48], "little")


class Batch(Struct, frozen=True):
    """A stored batch, or a part of one: stamps of server and producer, and frames."""

    partition_id: int
    base_offset: int
    base_timestamp: int
    origin_timestamp: int
    frames: tuple[Frame, ...]

    def offset(self, frame: Frame) -> int:
        """Return the offset of one of the frames."""
        return self.base_offset + frame.delta


def read_head(data: bytes) -> Head:
    """Return the header of a batch.

    Raises:
        Unsound: there are fewer bytes than a header has.
    """
    if len(data) < HEADER_SIZE:
        raise Unsound("the batch ends within its header")
    return Head(*_HEAD.unpack_from(data))


def read_frames(data: bytes) -> tuple[Frame, ...]:
    """Return the frames behind the header of a batch.

    Raises:
        Unsound: the bytes end within a frame.
    """
    return tuple(_frames(data))


def _frames(data: bytes) -> Iterator[Frame]:
    at = HEADER_SIZE
    while at < len(data):
        if len(data) - at < FRAME_SIZE:
            raise Unsound("the batch ends within the header of a frame")
        delta, _, headers, payload = _FRAME.unpack_from(data, at)[3:7]
        end = at + FRAME_SIZE + payload + headers
        if end > len(data):
            raise Unsound("the batch ends within a frame")
        yield Frame(delta, payload, data[at:end])
        at = end


def make_frame(
    *, number: int, delta: int, timestamp_delta: int, payload: bytes, user_headers: bytes
) -> Frame:
    """Return a frame that the server makes itself, of a message sent over HTTP."""
    low, high = number & (1 << 64) - 1, number >> 64
    lengths = len(user_headers), len(payload)
    head = _FRAME.pack(0, low, high, delta, timestamp_delta, *lengths, 0)
    data = head + payload + user_headers
    return Frame(delta, len(payload), frame_checksum(data).to_bytes(8, "little") + data[8:])


def frame_checksum(data: bytes) -> int:
    """Return the XxHash3-64 of a frame: of all its bytes behind the checksum."""
    return xxhash.xxh3_64_intdigest(data[_SUM_SIZE:])


def sum_batch(head: Head, frames: Sequence[Frame]) -> int:
    """Return the XxHash3-64 of header fields and of the frames' checksums."""
    summed = _SUMMED.pack(*head[:5], head.messages)
    return xxhash.xxh3_64_intdigest(summed + b"".join(frame.data[:_SUM_SIZE] for frame in frames))


def make_head(batch: Batch) -> Head:
    """Return the header of a batch with these frames: length, count and checksum are derived."""
    length = HEADER_SIZE + sum(len(frame.data) for frame in batch.frames)
    stamps = batch.partition_id, batch.base_offset, batch.base_timestamp, batch.origin_timestamp
    head = Head(*stamps, length, 0, len(batch.frames), _RESERVED)
    return head._replace(checksum=sum_batch(head, batch.frames))


def write_batch(batch: Batch) -> bytes:
    """Return the bytes of a batch, the same in the log and in replies to polls."""
    return _HEAD.pack(*make_head(batch)) + b"".join(frame.data for frame in batch.frames)
