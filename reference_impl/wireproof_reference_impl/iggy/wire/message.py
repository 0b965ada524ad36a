"""Messages as they are sent and stored, and their binary layouts."""

import struct

from msgspec import Struct

from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.header import Headers, headers_block, read_headers
from wireproof_reference_impl.iggy.wire.status import Refusal, Status
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.states import AVAILABLE

_HEAD = struct.Struct("<QBQ16sII")
_OLD_HEAD = struct.Struct("<QQ16sI")
_LENGTH = struct.Struct("<I")


class Sent(Struct, frozen=True):
    """A message as a client sends it; for id 0 the server makes a new id."""

    id: int
    headers: Headers | None
    payload: bytes


class Message(Struct, frozen=True):
    """A stored message; the timestamp is in microseconds since 1970.

    `state` is the code, known or not. Headers may be none at all or an empty mapping: only JSON
    shows the difference.
    """

    offset: int
    state: int
    timestamp: int
    id: int
    checksum: int
    headers: Headers | None
    payload: bytes


def store_message(sent: Sent, *, offset: int, timestamp_us: int, number: int) -> Message:
    """Return a sent message as it is stored: available, with the CRC-32 of its payload."""
    return Message(
        offset=offset,
        state=AVAILABLE,
        timestamp=timestamp_us,
        id=number,
        checksum=payload_checksum(sent.payload),
        headers=sent.headers,
        payload=sent.payload,
    )


def record(message: Message) -> bytes:
    """Return a message in the published layout: 45 bytes, headers and payload.

    offset u64, state u8, timestamp u64, id u128, checksum u32, headers length u32, headers,
    payload length u32, payload; little endian.
    """
    return laid_out(
        message,
        _HEAD.pack(
            message.offset,
            message.state,
            message.timestamp,
            message.id.to_bytes(16, "little"),
            message.checksum,
            0,
        )[:-4],
    )


def old_record(message: Message) -> bytes:
    """Return a message in the layout without state and checksum: 40 bytes, headers, payload."""
    head = _OLD_HEAD.pack(message.offset, message.timestamp, message.id.to_bytes(16, "little"), 0)
    return laid_out(message, head[:-4])


def laid_out(message: Message, head: bytes) -> bytes:
    """Return a message's bytes: a head, then headers and payload, each after its length."""
    block = headers_block(message.headers)
    lengths = _LENGTH.pack(len(block)), _LENGTH.pack(len(message.payload))
    return b"".join((head, lengths[0], block, lengths[1], message.payload))


_PARTS: tuple[tuple[int, Status], ...] = (
    (8, status.CANNOT_READ_MESSAGE),
    (1, status.CANNOT_READ_MESSAGE_STATE),
    (8, status.CANNOT_READ_MESSAGE_TIMESTAMP),
    (16, status.CANNOT_READ_MESSAGE_ID),
    (4, status.CANNOT_READ_MESSAGE_CHECKSUM),
    (4, status.CANNOT_READ_HEADERS_LENGTH),
)


def read_record(data: bytes) -> Message:
    """Read a message in the published layout.

    Raises:
        Refusal: the message ends early, or a header is invalid; the status is that of the field.
    """
    place = 0
    for width, missing in _PARTS:
        place += width
        _check_length(data, place, missing)
    offset, state, timestamp, number, checksum, length = _HEAD.unpack_from(data)
    place = _check_length(data, _HEAD.size + length, status.CANNOT_READ_HEADERS_PAYLOAD)
    headers = read_headers(data[_HEAD.size : place]) if length else None
    start = _check_length(data, place + _LENGTH.size, status.CANNOT_READ_MESSAGE_LENGTH)
    (size,) = _LENGTH.unpack_from(data, place)
    end = _check_length(data, start + size, status.CANNOT_READ_MESSAGE_PAYLOAD)
    return Message(
        offset,
        state,
        timestamp,
        int.from_bytes(number, "little"),
        checksum,
        headers,
        data[start:end],
    )


def _check_length(data: bytes, end: int, missing: Status) -> int:
    if end > len(data):
        raise Refusal(missing, missing.name.replace("_", " ").capitalize())
    return end
