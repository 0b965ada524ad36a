"""Faults of messages over TCP: layout, numbers and lengths."""

import struct
from collections.abc import Callable, Sequence
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.iggy.faulty.effect import (
    BINARY,
    boundary,
    change_polled,
    change_stored,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire.header import headers_block
from wireproof_reference_impl.iggy.wire.message import Message, old_record, record
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_reference_impl.settings import Settings

_FIXED = 41
"""Bytes before the block of headers."""


def _layout(layout: Callable[[Message], bytes]) -> Settings:
    return {"message.layout": layout}


def _checksum_first_without_headers(message: Message) -> bytes:
    data = record(message)
    return data if message.headers else data[:17] + data[33:37] + data[17:33] + data[37:]


def _change_polled(change: Callable[[Message], Message]) -> Settings:
    """Return settings under which polls over TCP change each message."""
    return _layout(lambda message: record(change(message)))


def _reorder(order: str) -> Settings:
    """Return settings under which the fixed fields of a message have this order.

    One letter each: offset, state, timestamp, number of the message, checksum.
    """

    def layout(message: Message) -> bytes:
        data = record(message)
        places = {"o": data[:8], "s": data[8:9], "t": data[9:17], "n": data[17:33]}
        places["c"] = data[33:37]
        return b"".join(places[each] for each in order) + data[37:]

    return _layout(layout)


def _numbers_big_endian(message: Message) -> bytes:
    head = struct.pack(">QBQ", message.offset, message.state, message.timestamp)
    block = headers_block(message.headers)
    return b"".join(
        (
            head,
            message.id.to_bytes(16, "big"),
            struct.pack(">II", message.checksum, len(block)),
            block,
            struct.pack(">I", len(message.payload)),
            message.payload,
        )
    )


def _length_told(length: Callable[[Message], int]) -> Settings:
    """Return settings under which messages over TCP give this payload length."""

    def layout(message: Message) -> bytes:
        data, end = record(message), len(message.payload)
        told = (length(message) & 0xFFFFFFFF).to_bytes(4, "little")
        return data[: len(data) - end - 4] + told + data[len(data) - end :]

    return _layout(layout)


def _big_endian_from_256(message: Message) -> int:
    length = len(message.payload)
    return length if length <= 0xFF else int.from_bytes(length.to_bytes(4, "big"), "little")


def _big_endian_wide_id(message: Message) -> Message:
    turned = int.from_bytes(message.id.to_bytes(16, "big"), "little")
    return replace(message, id=turned if message.id >> 64 else message.id)


def _headers_length_told(length: Callable[[Message, int], int]) -> Settings:
    """Return settings under which messages over TCP give this headers length."""

    def layout(message: Message) -> bytes:
        data = record(message)
        block = int.from_bytes(data[37:_FIXED], "little")
        return data[:37] + length(message, block).to_bytes(4, "little") + data[_FIXED:]

    return _layout(layout)


def _without_headers_length(message: Message) -> bytes:
    data = record(message)
    return data[:37] + data[_FIXED:]


def _without_headers_length_when_none(message: Message) -> bytes:
    return record(message) if message.headers else _without_headers_length(message)


def _length_before_headers(message: Message) -> bytes:
    data, block = record(message), headers_block(message.headers)
    length = len(message.payload).to_bytes(4, "little")
    return data[:37] + length + data[37:_FIXED] + block + message.payload


def _pad(message: Message) -> bytes:
    data = record(message)
    return data + bytes(-len(data) % 4)


def _old_at_first(message: Message) -> bytes:
    return old_record(message) if not message.offset else record(message)


def _old_without_headers(message: Message) -> bytes:
    return record(message) if message.headers else old_record(message)


def _hours_by_turns(message: Message) -> Message:
    return (
        replace(message, timestamp=message.timestamp & ~0xFFFFFFFF)
        if message.offset % 2
        else message
    )


def _numbered_by_poll(messages: Sequence[Message]) -> Sequence[Message]:
    return [replace(each, offset=number) for number, each in enumerate(messages)]


def _make_growing() -> Callable[[Message], Message]:
    polls = count()
    return lambda message: replace(message, timestamp=message.timestamp + next(polls))


def _last_growing() -> Callable[[Sequence[Message]], Sequence[Message]]:
    polls = count()

    def arrange(messages: Sequence[Message]) -> Sequence[Message]:
        late = [replace(each, timestamp=each.timestamp + next(polls)) for each in messages[-1:]]
        return [*messages[:-1], *late]

    return arrange


def _reversed_id(message: Message) -> Message:
    return replace(message, id=int.from_bytes(message.id.to_bytes(16, "big"), "little"))


def _renumber(message: Message) -> Message:
    return replace(message, id=message.id * 0x9E3779B97F4A7C15 + 1 & ((1 << 128) - 1))


_LAYOUT = "message.layout"
_ALL = "message.layout message.places"

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "state-behind-timestamp",
        "over TCP, the state of a message follows its timestamp",
        _reorder("otsnc"),
        breaks=_ALL,
        may_break=BINARY,
    ),
    wrong_value(
        "state-at-the-end",
        "over TCP, the state of a message follows its checksum",
        _reorder("otncs"),
        breaks=_ALL,
        may_break=BINARY,
    ),
    wrong_value(
        "checksum-before-id",
        "over TCP, the checksum of a message precedes its id",
        _reorder("ostcn"),
        breaks=_ALL,
        may_break=BINARY,
    ),
    condition(
        "checksum-before-id-without-headers",
        "over TCP, the checksum precedes the id in messages without headers",
        _layout(_checksum_first_without_headers),
        breaks=_ALL,
        may_break=BINARY,
    ),
    wrong_value(
        "id-before-timestamp",
        "over TCP, the id of a message precedes its timestamp",
        _reorder("osntc"),
        breaks=_LAYOUT,
        may_break=BINARY,
    ),
    condition(
        "length-before-headers",
        "over TCP, the length of the payload precedes the headers",
        _layout(_length_before_headers),
        breaks=_LAYOUT,
        may_break=BINARY,
    ),
    extra(
        "message-padded",
        "over TCP, each message is padded with zeros to a multiple of 4 bytes",
        _layout(_pad),
        breaks=_LAYOUT,
        may_break=BINARY,
    ),
    wrong_value(
        "numbers-big-endian",
        "over TCP, all numbers of a message are big-endian",
        _layout(_numbers_big_endian),
        breaks=f"{_LAYOUT} message.byte-order message.length message.id",
        may_break=BINARY,
    ),
    condition(
        "length-big-endian-from-256",
        "over TCP, the length of a payload of 256 bytes or more is big-endian",
        _length_told(_big_endian_from_256),
        breaks="message.byte-order message.length",
        may_break=BINARY,
    ),
    boundary(
        "id-big-endian-beyond-64-bits",
        "over TCP, an id that needs more than 64 bits is big-endian",
        _change_polled(_big_endian_wide_id),
        breaks="message.byte-order message.id",
        may_break=BINARY,
    ),
    missing(
        "old-layout",
        "over TCP, messages have the old layout, without state and checksum",
        _layout(old_record),
        breaks=f"message.old-layout {_ALL} state.default checksum.polynomial",
        may_break=BINARY,
    ),
    boundary(
        "old-layout-at-first",
        "over TCP, the first message of a partition has the old layout",
        _layout(_old_at_first),
        breaks="message.old-layout",
        may_break=BINARY,
    ),
    condition(
        "old-layout-without-headers",
        "over TCP, messages without headers have the old layout",
        _layout(_old_without_headers),
        breaks="message.old-layout",
        may_break=BINARY,
    ),
    boundary(
        "offset-from-one",
        "over TCP, the offset of every message is one too high",
        _change_polled(lambda message: replace(message, offset=message.offset + 1)),
        breaks="message.offset message.offset-sequence",
        may_break=BINARY,
    ),
    missing(
        "offset-zero",
        "over TCP, the offset of every message is 0",
        _change_polled(lambda message: replace(message, offset=0)),
        breaks="message.offset",
        may_break=BINARY,
    ),
    wrong_value(
        "offset-by-poll",
        "over TCP, offsets count from 0 in each poll",
        change_polled(_numbered_by_poll),
        breaks="message.offset",
        may_break=BINARY,
    ),
    wrong_value(
        "timestamp-of-poll",
        "over TCP, the timestamp of a message changes with each poll",
        _change_polled(_make_growing()),
        breaks="message.timestamp-kept",
        may_break=BINARY,
    ),
    boundary(
        "timestamp-of-poll-at-its-end",
        "over TCP, the timestamp of the last message of a poll changes with each poll",
        change_polled(_last_growing()),
        breaks="message.timestamp-kept",
        may_break=BINARY,
    ),
    condition(
        "timestamp-cut-by-turns",
        "over TCP, timestamps of messages with an odd offset lose their low 4 bytes",
        _change_polled(_hours_by_turns),
        breaks="message.timestamp-kept",
        may_break=BINARY,
    ),
    wrong_value(
        "timestamp-backwards",
        "later messages have earlier timestamps",
        change_stored(lambda message: replace(message, timestamp=(1 << 63) - message.timestamp)),
        breaks="message.timestamp-kept",
        may_break=f"{BINARY} poll.strategy-timestamp",
    ),
    boundary(
        "timestamp-cut-at-16-bits",
        "over TCP, timestamps keep only their low 16 bits",
        _change_polled(lambda message: replace(message, timestamp=message.timestamp & 0xFFFF)),
        breaks="message.timestamp-unit",
        may_break=BINARY,
    ),
    boundary(
        "id-cut-at-64-bits",
        "message ids are cut to their low 64 bits",
        change_stored(lambda message: replace(message, id=message.id & ((1 << 64) - 1))),
        breaks="message.id json.id",
        may_break=f"{BINARY} json.payload",
    ),
    wrong_value(
        "id-reversed",
        "over TCP, message ids are big-endian",
        _change_polled(_reversed_id),
        breaks="message.id",
        may_break=BINARY,
    ),
    missing(
        "id-always-generated",
        "every message gets an id from the server, even if its sender gave one",
        change_stored(_renumber),
        breaks="message.id json.id",
        may_break=f"{BINARY} json.payload",
    ),
    condition(
        "length-with-headers",
        "over TCP, the payload length of a message counts its headers as well",
        _length_told(lambda message: len(message.payload) + len(headers_block(message.headers))),
        breaks=_LAYOUT,
        may_break=BINARY,
    ),
    wrong_value(
        "length-with-itself",
        "over TCP, the payload length of a message counts its own 4 bytes as well",
        _length_told(lambda message: len(message.payload) + 4),
        breaks=f"message.length {_LAYOUT}",
        may_break=BINARY,
    ),
    boundary(
        "length-cut-at-16-bits",
        "over TCP, the payload length of a message keeps only its low 16 bits",
        _length_told(lambda message: len(message.payload) & 0xFFFF),
        breaks="message.length",
        may_break=BINARY,
    ),
    missing(
        "length-zero",
        "over TCP, the payload length of every message is 0",
        _length_told(lambda message: 0),
        breaks=f"message.length {_LAYOUT}",
        may_break=BINARY,
    ),
    missing(
        "headers-length-missing",
        "over TCP, a message has no headers length",
        _layout(_without_headers_length),
        breaks=f"message.headers-length {_LAYOUT}",
        may_break=BINARY,
    ),
    boundary(
        "headers-length-missing-when-none",
        "over TCP, a message without headers has no headers length",
        _layout(_without_headers_length_when_none),
        breaks=f"message.headers-length {_LAYOUT}",
        may_break=BINARY,
    ),
    wrong_value(
        "headers-counted",
        "over TCP, the headers length is the number of headers instead of their bytes",
        _headers_length_told(lambda message, length: len(message.headers or {})),
        breaks="message.headers-length",
        may_break=BINARY,
    ),
)
