"""Changes to the body of a poll's answer, by name: what is unusual, and what is broken.

A change over TCP takes the messages of the body, encoded one by one, and returns what follows the
head and the count. A change of JSON takes the objects and returns the bytes of the array.
"""

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from wireproof_spec.iggy.message import MESSAGE_FIXED_SIZE

Binary: TypeAlias = Callable[[list[bytes]], tuple[int, bytes]]
"""Changes the encoded messages of a poll; returns the count to declare, and their bytes."""
Objects: TypeAlias = list[dict[str, object]]
Json: TypeAlias = Callable[[Objects], object]
"""Changes the JSON messages of a poll; returns the new JSON value, or bytes for the whole body."""

_STATE_AT, _HEADERS_AT = 8, 37
_ID_END, _CHECKSUM_END = 33, 37
_LARGEST = (1 << 32) - 1


def _whole(messages: list[bytes], data: bytes) -> tuple[int, bytes]:
    return len(messages), data


def _cut(at: int) -> Binary:
    """Cut the last message at a byte, counted from its start, or from its end."""
    return lambda messages: _whole(messages, b"".join([*messages[:-1], messages[-1][:at]]))


def _count(change: Callable[[int], int]) -> Binary:
    return lambda messages: (change(len(messages)), b"".join(messages))


def _overwrite(at: int, data: bytes) -> Binary:
    """Overwrite bytes of the first message; from its end if the place is negative."""

    def change(messages: list[bytes]) -> tuple[int, bytes]:
        first = bytearray(messages[0])
        start = at % len(first)
        first[start : start + len(data)] = data
        return _whole(messages, b"".join([bytes(first), *messages[1:]]))

    return change


def _with_headers(block: bytes) -> Binary:
    """Give the first message, which has none, a block of headers."""

    def change(messages: list[bytes]) -> tuple[int, bytes]:
        first = messages[0]
        head, payload = first[:_HEADERS_AT], first[_HEADERS_AT + 4 :]
        size = len(block).to_bytes(4, "little")
        return _whole(messages, b"".join([head, size, block, payload, *messages[1:]]))

    return change


def _without_new_fields(messages: list[bytes]) -> tuple[int, bytes]:
    old = [
        each[:_STATE_AT] + each[_STATE_AT + 1 : _ID_END] + each[_CHECKSUM_END:]
        for each in messages
    ]
    return _whole(messages, b"".join(old))


def _header(key: bytes, kind: int, value: bytes) -> bytes:
    sizes = [len(each).to_bytes(4, "little") for each in (key, value)]
    return sizes[0] + key + bytes([kind]) + sizes[1] + value


BROKEN_BODIES: Mapping[str, Binary] = {
    "cut-in-offset": _cut(4),
    "cut-at-state": _cut(_STATE_AT),
    "cut-in-checksum": _cut(_ID_END + 2),
    "cut-in-headers-length": _cut(_HEADERS_AT + 2),
    "cut-before-payload": _cut(MESSAGE_FIXED_SIZE),
    "cut-in-payload": _cut(-3),
    "first-cut": lambda messages: _whole(messages, messages[0][:20]),
    "headers-length-beyond": _overwrite(_HEADERS_AT, (1 << 20).to_bytes(4, "little")),
    "headers-length-largest": _overwrite(_HEADERS_AT, _LARGEST.to_bytes(4, "little")),
    "payload-length-beyond": _overwrite(_HEADERS_AT + 4, (1 << 20).to_bytes(4, "little")),
    "payload-length-largest": _overwrite(_HEADERS_AT + 4, _LARGEST.to_bytes(4, "little")),
    "count-more": _count(lambda count: count + 1),
    "count-fewer": _count(lambda count: count - 1),
    "count-largest": _count(lambda _: _LARGEST),
    "header-kind-unknown": _with_headers(_header(b"key", 99, b"value")),
    "header-key-empty": _with_headers(_header(b"", 2, b"value")),
    "header-key-not-utf8": _with_headers(_header(b"\xff\xfe", 2, b"value")),
    "header-value-empty": _with_headers(_header(b"key", 2, b"")),
    "header-cut": _with_headers(_header(b"key", 2, b"value")[:-2]),
    "old-layout": _without_new_fields,
}
"""Changes of a poll's body that no server should send, by name."""


def _each(change: Callable[[dict[str, object]], dict[str, object]]) -> Json:
    return lambda objects: [change(dict(each)) for each in objects]


def _set(name: str, value: object) -> Json:
    return _each(lambda message: {**message, name: value})


def _drop(name: str) -> Json:
    return _each(lambda message: {key: each for key, each in message.items() if key != name})


UNUSUAL_OBJECTS: Mapping[str, Json] = {
    "headers-empty": _set("headers", {}),
    "other-order": _each(lambda message: dict(reversed(message.items()))),
}
"""Changes of a poll's JSON that a client must accept, by name."""

BROKEN_OBJECTS: Mapping[str, Json] = {
    "not-json": lambda _: b"no json",
    "cut": lambda objects: json.dumps(objects).encode()[:-9],
    "empty": lambda _: b"",
    "null": lambda _: b"null",
    "number": lambda _: b"7",
    "message-null": lambda objects: [*objects, None],
    "message-number": lambda objects: [*objects, 7],
    "deep": lambda _: b"[" * 100_000,
    "state-number": _set("state", 1),
    "state-capital": _set("state", "Available"),
    "state-missing": _drop("state"),
    "checksum-missing": _drop("checksum"),
    "checksum-negative": _set("checksum", -1),
    "checksum-too-large": _set("checksum", 1 << 32),
    "checksum-text": _set("checksum", "1"),
    "offset-missing": _drop("offset"),
    "offset-negative": _set("offset", -1),
    "id-text": _set("id", "1"),
    "payload-missing": _drop("payload"),
    "payload-not-base64": _set("payload", "***"),
    "payload-number": _set("payload", 7),
    "headers-array": _set("headers", []),
    "header-kind-unknown": _set("headers", {"key": {"kind": "date", "value": "AQ=="}}),
    "header-value-missing": _set("headers", {"key": {"kind": "bool"}}),
}
"""Changes of a poll's JSON that no server should send, by name."""
