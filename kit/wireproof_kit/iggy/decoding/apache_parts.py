"""The parts of what generation apache sends and stores: pieces with a shape, batches, logs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from wireproof_kit.decoding.decoded import JsonObject
from wireproof_kit.iggy.decoding.values import number, plain
from wireproof_spec.decoding import Schema, Span, decode, spans
from wireproof_spec.iggy.apache.batch import (
    BATCH_HEADER_SIZE,
    Batch,
    MessageFrame,
    batch_checksum,
    frame_checksum,
)
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    EVICTION_COMMAND,
    HEADER_SIZE,
    REPLY_COMMAND,
    REQUEST_COMMAND,
    SIZE_AT,
)
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS
from wireproof_spec.stream import NEED_MORE, NeedMore, StreamBuffer
from wireproof_spec.wire_error import WireError

Side: TypeAlias = Literal["client", "server", "log"]

LIMIT: Final = 1 << 26
LENGTH_AT: Final = 32
"""Where a batch has its length."""
_RESERVED_AT, _PRODUCER_END = 52, 72
"""The reserved bytes of a batch; in protocol 0.12 the first of them may name its producer."""
_SIDES: Final[dict[int, Side]] = {
    REQUEST_COMMAND: "client",
    REPLY_COMMAND: "server",
    EVICTION_COMMAND: "server",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a frame that have a shape of their own; names in it begin with ``prefix``."""

    schema: Schema[Any]
    at: int
    data: bytes
    prefix: str = ""

    def spans(self) -> Iterator[Span]:
        """Yield the fields; user headers of another shape are one of them."""
        for span in spans(self.schema, self.data):
            whole = replace(span, offset=self.at + span.offset, field=f"{self.prefix}{span.field}")
            inner = self.data[span.offset : span.offset + span.length]
            if inner and span.field.endswith("user_headers") and _are_headers(inner):
                yield from Piece(USER_HEADERS, whole.offset, inner, whole.field).spans()
            else:
                yield whole


def _are_headers(block: bytes) -> bool:
    try:
        decode(USER_HEADERS, block)
    except WireError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Placed:
    """A batch in a frame; names in it begin with ``prefix``."""

    batch: Batch
    prefix: str

    def checksums(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name, the right value and the value of each checksum."""
        batch = self.batch
        name = f"{self.prefix}header.batch_checksum"
        yield name, batch_checksum(batch), batch.header.batch_checksum
        for at, frame in enumerate(batch.frames):
            yield f"{self.prefix}frames[{at}].checksum", frame_checksum(frame), frame.checksum


class BatchReader(StreamBuffer):
    """Reads the batches of a log."""

    def next_batch(self) -> bytes | NeedMore:
        """Return the bytes of the next batch, or NEED_MORE.

        Raises:
            WireError: a batch declares less than its header, or far too much.
        """
        if len(self._buffer) < BATCH_HEADER_SIZE:
            return NEED_MORE
        length = int.from_bytes(self._buffer[LENGTH_AT : LENGTH_AT + 8], "little")
        if not BATCH_HEADER_SIZE <= length <= LIMIT:
            raise refuse(
                "header.batch_length",
                self.offset + LENGTH_AT,
                f"{BATCH_HEADER_SIZE} to {LIMIT}",
                str(length),
                clause="message.layout",
            )
        if len(self._buffer) < length:
            return NEED_MORE
        data = bytes(self._buffer[:length])
        self._drop(length)
        return data


def recognise_apache(head: bytes) -> Side | None:
    """Return which side's frames begin so, ``log`` for a batch; None for other bytes."""
    if len(head) <= COMMAND_AT:
        return None
    size = int.from_bytes(head[SIZE_AT : SIZE_AT + 4], "little")
    if not any(head[:LENGTH_AT]) and HEADER_SIZE <= size <= LIMIT:
        return _SIDES.get(head[COMMAND_AT])
    length = int.from_bytes(head[LENGTH_AT : LENGTH_AT + 8], "little")
    reserved = head[_PRODUCER_END:BATCH_HEADER_SIZE] or head[_RESERVED_AT:]
    is_batch = BATCH_HEADER_SIZE < length <= LIMIT and not any(reserved)
    return "log" if is_batch and any(head[SIZE_AT:_RESERVED_AT]) else None


def message_object(batch: Batch, frame: MessageFrame) -> JsonObject:
    """Return a message as a JSON object: ids, times and checksums as strings, bytes as digits."""
    header = batch.header
    try:
        headers = plain(decode(USER_HEADERS, frame.user_headers))
    except WireError:
        headers = frame.user_headers.hex()
    return {
        "kind": "message",
        "partition": header.partition_id,
        "offset": number(header.base_offset + frame.offset_delta),
        "id": str(frame.id),
        "timestamp": str(header.base_timestamp),
        "origin_timestamp": str(header.origin_timestamp + frame.timestamp_delta),
        "checksum": str(frame.checksum),
        "checksum_right": frame.checksum == frame_checksum(frame),
        "batch_checksum_right": header.batch_checksum == batch_checksum(batch),
        "headers": headers,
        "payload_hex": frame.payload.hex(),
    }


def spans_of(pieces: Sequence[Piece]) -> list[Span]:
    """Return the fields of pieces that stand one behind the other."""
    return list(chain.from_iterable(piece.spans() for piece in pieces))


def refuse(
    field: str, offset: int, expected: str, found: str, *, clause: str = "frame.size"
) -> WireError:
    """Return the error of a frame or a batch that cannot be cut out of a stream."""
    return WireError(
        clause=f"iggy.apache.{clause}",
        field=field,
        offset=offset,
        expected=expected,
        found=found,
    )
