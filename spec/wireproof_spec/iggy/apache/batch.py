"""The batch: the one layout of messages in send requests, in logs and in poll replies.

A batch is a header of 256 bytes and message frames. A frame is a header of 48 bytes, the payload
first, then the block of user headers.
"""

from collections.abc import Sequence

from construct import this
from msgspec import Struct
from msgspec.structs import replace

from wireproof_spec.decoding import Schema, decode, encode
from wireproof_spec.grammar.layout import Bytes, Int32ul, Int64ul, Int128ul, Record, field
from wireproof_spec.grammar.lengths import Declared, Each
from wireproof_spec.iggy.apache.checksum import join_checksums, xxh3_64
from wireproof_spec.wire_error import WireError

BATCH_HEADER_SIZE = 256
FRAME_HEADER_SIZE = 48
_RESERVED_SIZE = 204
_LENGTH_AT = 32
_LENGTH_END = 40
_CHECKSUM_SIZE = 8


class BatchHeader(Struct, frozen=True, gc=False):
    """The header of a batch; a producer leaves the first three fields 0, the server stamps them.

    Times are in microseconds since 1970. In protocol 0.12 the bytes 52 to 72, here the first of
    `reserved`, may name an idempotent producer.
    """

    partition_id: int = 0
    base_offset: int = 0
    base_timestamp: int = 0
    origin_timestamp: int = 0
    batch_length: int = BATCH_HEADER_SIZE
    batch_checksum: int = 0
    message_count: int = 0
    reserved: bytes = bytes(_RESERVED_SIZE)


class MessageFrame(Struct, frozen=True, gc=False):
    """A message in a batch: its offset and producer time are deltas to those of the batch.

    `user_headers` are the bytes of the block, see `wireproof_spec.iggy.apache.user_headers`.
    """

    checksum: int = 0
    id: int = 0
    offset_delta: int = 0
    timestamp_delta: int = 0
    reserved: int = 0
    payload: bytes = b""
    user_headers: bytes = b""


class Batch(Struct, frozen=True, gc=False):
    """A batch: its header and its message frames, whatever count the header says."""

    header: BatchHeader
    frames: tuple[MessageFrame, ...]


BATCH_HEADER = Schema(
    "apache batch header",
    "iggy.apache.message.layout",
    BatchHeader,
    Record(
        BatchHeader,
        field("partition_id", Int64ul),
        field("base_offset", Int64ul),
        field("base_timestamp", Int64ul),
        field("origin_timestamp", Int64ul),
        field("batch_length", Int64ul),
        field("batch_checksum", Int64ul),
        field("message_count", Int32ul),
        field("reserved", Bytes(_RESERVED_SIZE)),
    ),
)
"""256 bytes: six numbers of 8 bytes, 4-byte `message_count`, 204 bytes reserved."""

MESSAGE_FRAME = Schema(
    "apache message frame",
    "iggy.apache.message.payload-first",
    MessageFrame,
    Record(
        MessageFrame,
        field("checksum", Int64ul),
        field("id", Int128ul),
        field("offset_delta", Int32ul),
        field("timestamp_delta", Int32ul),
        field("user_headers_length", Declared(Int32ul, of="user_headers")),
        field("payload_length", Declared(Int32ul, of="payload")),
        field("reserved", Int64ul),
        field("payload", Bytes(this.payload_length)),
        field("user_headers", Bytes(this.user_headers_length)),
    ),
)
"""48 bytes of header, `payload`, `user_headers`."""

BATCH = Schema(
    "apache batch",
    "iggy.apache.message.layout",
    Batch,
    Record(Batch, field("header", BATCH_HEADER.shape), field("frames", Each(MESSAGE_FRAME.shape))),
)
"""A batch header, then frames to the end: `check_batch` compares count and length."""


def frame_checksum(frame: MessageFrame) -> int:
    """Return the right checksum of a frame: of its bytes from 8 to its end.

    Clause: iggy.apache.message.checksum
    """
    return xxh3_64(encode(MESSAGE_FRAME, frame)[_CHECKSUM_SIZE:])


def batch_checksum(batch: Batch) -> int:
    """Return the right checksum of a batch: of header fields and the frames' checksums.

    It does not cover the bodies of the frames.

    Clause: iggy.apache.message.batch-checksum
    """
    head = encode(BATCH_HEADER, batch.header)
    count = batch.header.message_count.to_bytes(4, "little")
    checksums = join_checksums(frame.checksum for frame in batch.frames)
    return xxh3_64(head[:_LENGTH_END] + count + checksums)


def seal_frame(frame: MessageFrame) -> MessageFrame:
    """Return a frame with its right checksum."""
    return replace(frame, checksum=frame_checksum(frame))


def seal_batch(batch: Batch) -> Batch:
    """Return a batch with its right batch checksum; frames, count and length are as they were."""
    header = replace(batch.header, batch_checksum=batch_checksum(batch))
    return Batch(header, batch.frames)


def make_batch(header: BatchHeader, frames: Sequence[MessageFrame]) -> Batch:
    """Return a batch of these frames with right count, length and batch checksum."""
    length = BATCH_HEADER_SIZE + sum(map(frame_size, frames))
    header = replace(header, batch_length=length, message_count=len(frames))
    return seal_batch(Batch(header, tuple(frames)))


def frame_size(frame: MessageFrame) -> int:
    """Return the number of bytes of a frame."""
    return FRAME_HEADER_SIZE + len(frame.payload) + len(frame.user_headers)


def check_batch(batch: Batch) -> None:
    """Check a batch as a server does when a producer sends it, and as a consumer may.

    Raises:
        WireError: the length or the count does not fit the frames, a reserved byte is not 0, or
            a checksum is wrong; the clause is that of admission.
    """
    header = batch.header
    length = BATCH_HEADER_SIZE + sum(map(frame_size, batch.frames))
    _hold("send.tiling", "header.batch_length", _LENGTH_AT, length, header.batch_length)
    _hold("send.tiling", "header.message_count", 48, len(batch.frames), header.message_count)
    if not batch.frames:
        raise _refuse("send.tiling", "frames", BATCH_HEADER_SIZE, "at least 1 frame", 0)
    set_bytes = sum(map(bool, header.reserved))
    _hold("send.reserved", "header.reserved", 52, 0, set_bytes)
    at = BATCH_HEADER_SIZE
    for index, frame in enumerate(batch.frames):
        name = f"frames[{index}]"
        _hold("send.reserved-frame", f"{name}.reserved", at + 40, 0, frame.reserved)
        right = frame_checksum(frame)
        _hold("send.frame-checksum", f"{name}.checksum", at, right, frame.checksum)
        at += frame_size(frame)
    right = batch_checksum(batch)
    _hold("send.batch-checksum", "header.batch_checksum", 40, right, header.batch_checksum)


def _hold(clause: str, name: str, offset: int, expected: int, found: int) -> None:
    if expected != found:
        raise _refuse(clause, name, offset, str(expected), found)


def _refuse(clause: str, name: str, offset: int, expected: str, found: int) -> WireError:
    clause = f"iggy.apache.{clause}"
    return WireError(clause=clause, field=name, offset=offset, expected=expected, found=str(found))


def read_batches(data: bytes) -> tuple[Batch, ...]:
    """Decode batches that stand one after the other, as in a log and in a poll reply.

    Raises:
        WireError: a batch is cut short, or its frames do not fit its length.
    """
    return tuple(decode_batch(record, at) for at, record in split_batches(data))


def decode_batch(record: bytes, at: int = 0) -> Batch:
    """Decode one batch; `at` is added to the offset of an error."""
    try:
        return decode(BATCH, record)
    except WireError as error:
        raise error.at(at) from None


def split_batches(data: bytes) -> tuple[tuple[int, bytes], ...]:
    """Return where each batch begins and its bytes, which are not decoded.

    Raises:
        WireError: a batch is cut short, or declares less than its header.
    """
    batches: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        head = data[at : at + BATCH_HEADER_SIZE]
        if len(head) < BATCH_HEADER_SIZE:
            decode_batch(head, at)
        length = int.from_bytes(head[_LENGTH_AT:_LENGTH_END], "little")
        left = len(data) - at
        if not BATCH_HEADER_SIZE <= length <= left:
            expected = f"{BATCH_HEADER_SIZE} to {left}"
            name, place = "header.batch_length", at + _LENGTH_AT
            raise _refuse("message.layout", name, place, expected, length)
        batches.append((at, data[at : at + length]))
        at += length
    return tuple(batches)
