"""Changes of a poll's answer of generation apache, by name: what no server should send.

A change over TCP takes the batches as bytes and returns the count of the head and the bytes behind
it. A change of JSON takes the objects of the messages and returns the value, or bytes.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from wireproof_kit.iggy.apache.batches import field_bytes
from wireproof_kit.iggy.clients.changes import Json
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import (
    BATCH,
    BATCH_HEADER_SIZE,
    FRAME_HEADER_SIZE,
    Batch,
    MessageFrame,
    make_batch,
    read_batches,
    seal_frame,
)

Binary: TypeAlias = Callable[[bytes, int], tuple[int, bytes]]
"""Changes encoded batches with so many messages; returns the count to declare, and the bytes."""

_LENGTH_AT, _CHECKSUM_AT, _COUNT_AT, _RESERVED_AT = 32, 40, 48, 52
_HEADERS_LENGTH_AT, _PAYLOAD_LENGTH_AT, _FRAME_RESERVED_AT = 32, 36, 40
_LARGEST: Final = (1 << 32) - 1
_PAYLOAD_AT: Final = BATCH_HEADER_SIZE + FRAME_HEADER_SIZE


def _cut(at: int) -> Binary:
    """Cut the batches at a byte, counted from their start, or from their end if negative."""
    return lambda data, count: (count, data[:at])


def _set(at: int, value: int, size: int) -> Binary:
    """Overwrite an integer in the header of the first batch, or of its first message."""

    def change(data: bytes, count: int) -> tuple[int, bytes]:
        return count, data[:at] + value.to_bytes(size, "little") + data[at + size :]

    return change


def _in_frame(at: int, value: int, size: int) -> Binary:
    return _set(BATCH_HEADER_SIZE + at, value, size)


def _flip(at: int) -> Binary:
    return lambda data, count: (count, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def _with_block(block: bytes) -> Binary:
    """Send one message alone, whose user headers are these bytes, with right checksums."""

    def change(data: bytes, count: int) -> tuple[int, bytes]:
        frame = MessageFrame(id=1, payload=b"with odd headers", user_headers=block)
        return 1, encode(BATCH, make_batch(read_batches(data)[0].header, [seal_frame(frame)]))

    return change


_STRING, _UNKNOWN = 2, 99
_KEY: Final = field_bytes(_STRING, b"key")

DAMAGED: Final[Mapping[str, Binary]] = {
    "frame-checksum": _flip(BATCH_HEADER_SIZE),
    "payload": _flip(_PAYLOAD_AT),
    "id": _flip(BATCH_HEADER_SIZE + 8),
    "batch-checksum": _flip(_CHECKSUM_AT),
    "base-offset": _flip(8),
}
"""Changes after which a checksum is not that of what it covers; all else is well formed."""
BROKEN: Final[Mapping[str, Binary]] = {
    "cut-in-batch-header": _cut(100),
    "cut-behind-batch-header": _cut(BATCH_HEADER_SIZE),
    "cut-in-frame-header": _cut(BATCH_HEADER_SIZE + 20),
    "cut-before-payload": _cut(_PAYLOAD_AT),
    "cut-in-payload": _cut(-3),
    "one-byte": _cut(1),
    "byte-behind": lambda data, count: (count, data + b"\0"),
    "length-short": _set(_LENGTH_AT, BATCH_HEADER_SIZE + 10, 8),
    "length-zero": _set(_LENGTH_AT, 0, 8),
    "length-beyond": _set(_LENGTH_AT, 1 << 20, 8),
    "length-largest": _set(_LENGTH_AT, (1 << 64) - 1, 8),
    "count-more": _set(_COUNT_AT, 4, 4),
    "count-zero": _set(_COUNT_AT, 0, 4),
    "count-largest": _set(_COUNT_AT, _LARGEST, 4),
    "head-count-more": lambda data, count: (count + 1, data),
    "head-count-largest": lambda data, count: (_LARGEST, data),
    "reserved": _set(_RESERVED_AT, 1, 1),
    "frame-reserved": _in_frame(_FRAME_RESERVED_AT, 1, 8),
    "payload-length-beyond": _in_frame(_PAYLOAD_LENGTH_AT, 1 << 20, 4),
    "payload-length-largest": _in_frame(_PAYLOAD_LENGTH_AT, _LARGEST, 4),
    "headers-length-beyond": _in_frame(_HEADERS_LENGTH_AT, 1 << 20, 4),
    "headers-length-largest": _in_frame(_HEADERS_LENGTH_AT, _LARGEST, 4),
    "header-kind-zero": _with_block(field_bytes(0, b"key") + field_bytes(_STRING, b"value")),
    "header-value-empty": _with_block(_KEY + field_bytes(_STRING, b"")),
    "header-value-beyond": _with_block(_KEY + field_bytes(_STRING, b"value", 1 << 20)),
    "header-value-largest": _with_block(_KEY + field_bytes(_STRING, b"value", _LARGEST)),
    "header-without-value": _with_block(_KEY),
    "header-cut": _with_block(_KEY + field_bytes(_STRING, b"value")[:-2]),
    "header-number-of-3-bytes": _with_block(_KEY + field_bytes(11, b"\1\2\3")),
    "header-not-utf8": _with_block(_KEY + field_bytes(_STRING, b"\xff\xfe")),
}
"""Changes of the batches of a poll, by name."""


def change_batches(batches: tuple[Batch, ...], name: str) -> tuple[int, bytes]:
    """Return the count of messages and the bytes of batches, with the change of this name."""
    data = b"".join(encode(BATCH, batch) for batch in batches)
    count = sum(len(batch.frames) for batch in batches)
    change = DAMAGED.get(name) or BROKEN.get(name)
    return change(data, count) if change else (count, data)


def _each(change: Callable[[dict[str, object]], dict[str, object]]) -> Json:
    return lambda objects: [change(dict(each)) for each in objects]


def _member(name: str, value: object) -> Json:
    return _each(lambda message: {**message, name: value})


def _drop(name: str) -> Json:
    return _each(lambda message: {key: each for key, each in message.items() if key != name})


def _in_header(name: str, value: object) -> Json:
    def change(message: dict[str, object]) -> dict[str, object]:
        header = message["header"]
        assert isinstance(header, dict)
        return {**message, "header": {**header, name: value}}

    return _each(change)


_TYPED = {"kind": "string", "value": "aw=="}
BROKEN_OBJECTS: Final[Mapping[str, Json]] = {
    "not-json": lambda _: b"no json",
    "cut": lambda objects: json.dumps(objects).encode()[:-9],
    "empty": lambda _: b"",
    "null": lambda _: b"null",
    "deep": lambda _: b"[" * 100_000,
    "message-null": lambda objects: [*objects, None],
    "header-missing": _drop("header"),
    "payload-missing": _drop("payload"),
    "payload-not-base64": _member("payload", "***"),
    "payload-number": _member("payload", 7),
    "offset-negative": _in_header("offset", -1),
    "id-too-large": _in_header("id", 1 << 128),
    "checksum-text": _in_header("checksum", "1"),
    "user-headers-object": _member("user_headers", {"key": _TYPED}),
    "user-headers-not-base64": _member("user_headers", "***"),
    "value-missing": _member("user_headers", [{"key": _TYPED}]),
    "kind-unknown": _member(
        "user_headers", [{"key": _TYPED, "value": {"kind": "date", "value": "AQ=="}}]
    ),
}
"""Changes of a poll's JSON that no server should send, by name."""
