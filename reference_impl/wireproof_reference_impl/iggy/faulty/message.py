"""Faults of messages over TCP: layout, numbers and lengths."""

import struct
from collections.abc import Callable, Sequence
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.faulty.effect import change_polled, change_stored
from wireproof_reference_impl.iggy.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire.header import headers_block
from wireproof_reference_impl.iggy.wire.message import Message, old_record, record
from wireproof_reference_impl.settings import Settings

_FIXED = 41
"""Bytes before the block of headers."""


def _layout(layout: Callable[[Message], bytes]) -> Settings:
    return {"message.layout": layout}


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


def _length_told(length: Callable[[Message], int]) -> Settings:
    """Return settings under which messages over TCP give this payload length."""

    def layout(message: Message) -> bytes:
        data, end = record(message), len(message.payload)
        told = (length(message) & 0xFFFFFFFF).to_bytes(4, "little")
        return data[: len(data) - end - 4] + told + data[len(data) - end :]

    return _layout(layout)


def _without_headers_length(message: Message) -> bytes:
    data = record(message)
    return data[:37] + data[_FIXED:]


@wrong_value("message.layout message.places")
def state_behind_timestamp() -> Change:
    """Over TCP, the state of a message follows its timestamp."""
    return _reorder("otsnc")


@wrong_value("message.layout message.places")
def state_at_the_end() -> Change:
    """Over TCP, the state of a message follows its checksum."""
    return _reorder("otncs")


@wrong_value("message.layout message.places")
def checksum_before_id() -> Change:
    """Over TCP, the checksum of a message precedes its id."""
    return _reorder("ostcn")


@condition("message.layout message.places", _layout)
def checksum_before_id_without_headers(message: Message) -> bytes:
    """Over TCP, the checksum precedes the id in messages without headers."""
    data = record(message)
    return data if message.headers else data[:17] + data[33:37] + data[17:33] + data[37:]


@wrong_value("message.layout")
def id_before_timestamp() -> Change:
    """Over TCP, the id of a message precedes its timestamp."""
    return _reorder("osntc")


@condition("message.layout", _layout)
def length_before_headers(message: Message) -> bytes:
    """Over TCP, the length of the payload precedes the headers."""
    data, block = record(message), headers_block(message.headers)
    length = len(message.payload).to_bytes(4, "little")
    return data[:37] + length + data[37:_FIXED] + block + message.payload


@extra("message.layout", _layout)
def message_padded(message: Message) -> bytes:
    """Over TCP, each message is padded with zeros to a multiple of 4 bytes."""
    data = record(message)
    return data + bytes(-len(data) % 4)


@wrong_value("message.layout message.byte-order message.length message.id", _layout)
def numbers_big_endian(message: Message) -> bytes:
    """Over TCP, all numbers of a message are big-endian."""
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


@condition("message.byte-order message.length", _length_told)
def length_big_endian_from_256(message: Message) -> int:
    """Over TCP, the length of a payload of 256 bytes or more is big-endian."""
    length = len(message.payload)
    return length if length <= 0xFF else int.from_bytes(length.to_bytes(4, "big"), "little")


@boundary("message.byte-order message.id", _change_polled)
def id_big_endian_beyond_64_bits(message: Message) -> Message:
    """Over TCP, an id that needs more than 64 bits is big-endian."""
    turned = int.from_bytes(message.id.to_bytes(16, "big"), "little")
    return replace(message, id=turned if message.id >> 64 else message.id)


@missing("message.old-layout message.layout message.places state.default checksum.polynomial")
def old_layout() -> Change:
    """Over TCP, messages have the old layout, without state and checksum."""
    return _layout(old_record)


@boundary("message.old-layout", _layout)
def old_layout_at_first(message: Message) -> bytes:
    """Over TCP, the first message of a partition has the old layout."""
    return old_record(message) if not message.offset else record(message)


@condition("message.old-layout", _layout)
def old_layout_without_headers(message: Message) -> bytes:
    """Over TCP, messages without headers have the old layout."""
    return record(message) if message.headers else old_record(message)


@boundary("message.offset message.offset-sequence", _change_polled)
def offset_from_one(message: Message) -> Message:
    """Over TCP, the offset of every message is one too high."""
    return replace(message, offset=message.offset + 1)


@missing("message.offset", _change_polled)
def offset_zero(message: Message) -> Message:
    """Over TCP, the offset of every message is 0."""
    return replace(message, offset=0)


@wrong_value("message.offset", change_polled)
def offset_by_poll(messages: Sequence[Message]) -> Sequence[Message]:
    """Over TCP, offsets count from 0 in each poll."""
    return [replace(each, offset=number) for number, each in enumerate(messages)]


def _make_growing() -> Callable[[Message], Message]:
    polls = count()
    return lambda message: replace(message, timestamp=message.timestamp + next(polls))


@wrong_value("message.timestamp-kept")
def timestamp_of_poll() -> Change:
    """Over TCP, the timestamp of a message changes with each poll."""
    return _change_polled(_make_growing())


def _last_growing() -> Callable[[Sequence[Message]], Sequence[Message]]:
    polls = count()

    def arrange(messages: Sequence[Message]) -> Sequence[Message]:
        late = [
            replace(message, timestamp=message.timestamp + next(polls))
            for message in messages[-1:]
        ]
        return [*messages[:-1], *late]

    return arrange


@boundary("message.timestamp-kept")
def timestamp_of_poll_at_its_end() -> Change:
    """Over TCP, the timestamp of the last message of a poll changes with each poll."""
    return change_polled(_last_growing())


@condition("message.timestamp-kept", _change_polled)
def timestamp_cut_by_turns(message: Message) -> Message:
    """Over TCP, timestamps of messages with an odd offset lose their low 4 bytes."""
    return (
        replace(message, timestamp=message.timestamp & ~0xFFFFFFFF)
        if message.offset % 2
        else message
    )


@wrong_value("message.timestamp-kept", change_stored)
def timestamp_backwards(message: Message) -> Message:
    """Later messages have earlier timestamps."""
    return replace(message, timestamp=(1 << 63) - message.timestamp)


@boundary("message.timestamp-unit", _change_polled)
def timestamp_cut_at_16_bits(message: Message) -> Message:
    """Over TCP, timestamps keep only their low 16 bits."""
    return replace(message, timestamp=message.timestamp & 0xFFFF)


@boundary("message.id json.id", change_stored)
def id_cut_at_64_bits(message: Message) -> Message:
    """Message ids are cut to their low 64 bits."""
    return replace(message, id=message.id & ((1 << 64) - 1))


@wrong_value("message.id", _change_polled)
def id_reversed(message: Message) -> Message:
    """Over TCP, message ids are big-endian."""
    return replace(message, id=int.from_bytes(message.id.to_bytes(16, "big"), "little"))


@missing("message.id json.id", change_stored)
def id_always_generated(message: Message) -> Message:
    """Every message gets an id from the server, even if its sender gave one."""
    return replace(message, id=message.id * 0x9E3779B97F4A7C15 + 1 & ((1 << 128) - 1))


@condition("message.layout", _length_told)
def length_with_headers(message: Message) -> int:
    """Over TCP, the payload length of a message counts its headers as well."""
    return len(message.payload) + len(headers_block(message.headers))


@wrong_value("message.length message.layout", _length_told)
def length_with_itself(message: Message) -> int:
    """Over TCP, the payload length of a message counts its own 4 bytes as well."""
    return len(message.payload) + 4


@boundary("message.length", _length_told)
def length_cut_at_16_bits(message: Message) -> int:
    """Over TCP, the payload length of a message keeps only its low 16 bits."""
    return len(message.payload) & 0xFFFF


@missing("message.length message.layout", _length_told)
def length_zero(message: Message) -> int:
    """Over TCP, the payload length of every message is 0."""
    return 0


@missing("message.headers-length message.layout")
def headers_length_missing() -> Change:
    """Over TCP, a message has no headers length."""
    return _layout(_without_headers_length)


@boundary("message.headers-length message.layout", _layout)
def headers_length_missing_when_none(message: Message) -> bytes:
    """Over TCP, a message without headers has no headers length."""
    return record(message) if message.headers else _without_headers_length(message)


def _headers_length_told(length: Callable[[Message, int], int]) -> Settings:
    """Return settings under which messages over TCP give this headers length."""

    def layout(message: Message) -> bytes:
        data = record(message)
        block = int.from_bytes(data[37:_FIXED], "little")
        return data[:37] + length(message, block).to_bytes(4, "little") + data[_FIXED:]

    return _layout(layout)


@wrong_value("message.headers-length", _headers_length_told)
def headers_counted(message: Message, length: int) -> int:
    """Over TCP, the headers length is the number of headers instead of their bytes."""
    return len(message.headers or {})


FAULTS = list_faults(__name__)
