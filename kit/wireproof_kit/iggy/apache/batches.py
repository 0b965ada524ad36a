"""Messages and batches to send: right ones, and right ones of which something was changed."""

import itertools
import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import (
    BATCH,
    Batch,
    BatchHeader,
    MessageFrame,
    make_batch,
    seal_frame,
)
from wireproof_spec.iggy.apache.user_headers import TypedBytes, UserHeader
from wireproof_spec.iggy.header_kinds import STRING

_ids = itertools.count((secrets.randbits(120) << 4) + 1)
PAYLOAD: Final = b"orders_data"
NAME: Final = UserHeader(TypedBytes(STRING, b"name"), TypedBytes(STRING, b"value"))


def field_bytes(kind: int, value: bytes, length: int | None = None) -> bytes:
    """Return a key or a value of a user header, whether it may be one or not."""
    size = len(value) if length is None else length
    return bytes([kind]) + size.to_bytes(4, "little") + value


def header_block(headers: Iterable[UserHeader]) -> bytes:
    """Return the bytes of a block of user headers."""
    pairs = ((header.key, header.value) for header in headers)
    return b"".join(field_bytes(each.kind, each.value) for pair in pairs for each in pair)


def message(
    payload: bytes = PAYLOAD,
    *headers: UserHeader,
    id: int | None = None,
    delta_us: int = 0,
    block: bytes | None = None,
) -> MessageFrame:
    """Return a message, with an id of its own unless one is given.

    ``block`` are the bytes of its user headers instead of ``headers``.
    """
    return MessageFrame(
        id=next(_ids) if id is None else id,
        timestamp_delta=delta_us,
        payload=payload,
        user_headers=header_block(headers) if block is None else block,
    )


def numbered(count: int, *headers: UserHeader) -> tuple[MessageFrame, ...]:
    """Return messages with different payloads."""
    return tuple(message(b"message %d" % number, *headers) for number in range(count))


def now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


def in_batch(
    frames: Sequence[MessageFrame], deltas: Sequence[int] | None = None
) -> tuple[MessageFrame, ...]:
    """Return messages as the frames of a batch: with their index, and right checksums."""
    numbers = range(len(frames)) if deltas is None else deltas
    pairs = zip(frames, numbers, strict=True)
    return tuple(seal_frame(replace(each, offset_delta=number)) for each, number in pairs)


def batch(
    *frames: MessageFrame, origin_us: int | None = None, deltas: Sequence[int] | None = None
) -> Batch:
    """Return a right batch of messages; only ``deltas`` may be other than the indexes."""
    origin = now_us() if origin_us is None else origin_us
    return make_batch(BatchHeader(origin_timestamp=origin), in_batch(frames, deltas))


def batch_bytes(value: Batch) -> bytes:
    """Return the bytes of a batch."""
    return encode(BATCH, value)
