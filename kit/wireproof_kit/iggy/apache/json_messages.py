"""Messages in JSON: those of a request to send, and those of a poll, with their rules."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wireproof_kit.iggy.apache.batches import header_block
from wireproof_kit.iggy.apache.rules import RIGHT_TIMES, hold
from wireproof_kit.iggy.wire.http import JsonObject
from wireproof_kit.ledger.outcomes import Finding
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes, UserHeader
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.header_kinds import header_value, kind_code
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

NUMBERS: Final = ("checksum", "id", "offset", "timestamp", "origin_timestamp")
PARTS: Final = ("payload", "user_headers")
_CODES: Final = {name: code for code, name in PARTITIONING_NAMES.items()}

Headers = Sequence[UserHeader] | bytes
"""User headers in no certain order; the bytes of a block that cannot be read as such."""


@dataclass(frozen=True, slots=True)
class JsonMessage:
    """A message as it is polled, over either transport, without what only frames have."""

    checksum: int
    id: int
    offset: int
    timestamp: int
    origin_timestamp: int
    payload: bytes
    user_headers: Headers


def read_object(found: JsonObject) -> JsonMessage | None:
    """Return the message that an object is; None if a part of it does not have its form."""
    header = found.get("header")
    given = [header.get(name) for name in NUMBERS] if isinstance(header, dict) else []
    numbers = [each for each in given if isinstance(each, int) and not isinstance(each, bool)]
    payload, headers = read_bytes(found.get("payload")), read_headers(found.get("user_headers"))
    if len(numbers) != len(NUMBERS) or payload is None or headers is None:
        return None
    checksum, number, offset, time_us, origin_us = numbers
    return JsonMessage(checksum, number, offset, time_us, origin_us, payload, headers)


def from_frame(frame: MessageFrame, offset: int, time_us: int, origin_us: int) -> JsonMessage:
    """Return a message that was polled over TCP; the times are those of its batch."""
    return JsonMessage(
        frame.checksum,
        frame.id,
        offset,
        time_us,
        origin_us + frame.timestamp_delta,
        frame.payload,
        split_block(frame.user_headers),
    )


def split_block(block: bytes) -> Headers:
    """Return the user headers of a block, or the block if a value in it is not of its kind.

    Of the same key twice, one may be lost in JSON: such a block is not compared by its pairs.
    """
    try:
        headers = decode(USER_HEADERS, block)
        for header in headers:
            header_value(header.key.kind, header.key.value)
            header_value(header.value.kind, header.value.value)
    except WireError:
        return block
    return headers if len({header.key for header in headers}) == len(headers) else block


def is_same(one: Headers, other: Headers) -> bool:
    """Return True if two messages have the same user headers, in any order.

    How a block is shown that has no form is not said, so that it is like anything.
    """
    if isinstance(one, bytes) or isinstance(other, bytes):
        return not (isinstance(one, bytes) and isinstance(other, bytes)) or one == other
    return sorted(map(repr, one)) == sorted(map(repr, other))


def first_unlike(due: JsonMessage, found: JsonMessage) -> str:
    """Return the name of the first part in which two polled messages differ; else nothing."""
    for name in (*NUMBERS, "payload"):
        if getattr(due, name) != getattr(found, name):
            return name
    return "" if is_same(due.user_headers, found.user_headers) else "user_headers"


def read_bytes(value: JsonValue) -> bytes | None:
    """Return the bytes of base64 text with padding; None for any other value."""
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None


def read_headers(value: JsonValue) -> Headers | None:
    """Return the user headers of an array, or the block that is base64 text; None otherwise."""
    if not isinstance(value, list):
        return read_bytes(value)
    pairs = [_pair(each) for each in value]
    known = [pair for pair in pairs if pair is not None]
    return known if len(known) == len(value) else None


def _pair(value: JsonValue) -> UserHeader | None:
    given = value if isinstance(value, dict) else {}
    key, found = _typed(given.get("key")), _typed(given.get("value"))
    return None if key is None or found is None else UserHeader(key, found)


def _typed(part: JsonValue) -> TypedBytes | None:
    if not isinstance(part, Mapping):
        return None
    name, data = part.get("kind"), read_bytes(part.get("value"))
    kind = kind_code(name) if isinstance(name, str) else None
    return None if kind is None or data is None else TypedBytes(kind, data)


def judge_form(found: JsonObject) -> Iterator[Finding]:
    """Judge whether a polled message has all parts, each of its form."""
    header = found.get("header")
    numbers = header if isinstance(header, dict) else {}
    missing = [name for name in NUMBERS if not isinstance(numbers.get(name), int)]
    missing += [name for name in PARTS if name not in found]
    yield hold("json.shape", not missing, "shape:lacking", ", ".join(missing))
    if "payload" in found:
        is_text = read_bytes(found["payload"]) is not None
        yield hold("json.base64", is_text, "payload:other")
    if "user_headers" in found:
        is_read = read_headers(found["user_headers"]) is not None
        yield hold("json.headers", is_read, "headers:other")


def judge_values(found: JsonObject, message: JsonMessage) -> Iterator[Finding]:
    """Judge what the header of a polled message says of its payload, and its time."""
    header, due = found["header"], len(message.payload)
    length = header.get("payload_length", due) if isinstance(header, dict) else due
    yield hold("json.same", length == due, "different:payload_length", f"{length}, {due} bytes")
    is_time = message.timestamp in RIGHT_TIMES
    yield hold("json.same", is_time, "different:timestamp", f"{message.timestamp}")


def judge_sent(found: JsonMessage, due: MessageFrame, origin_us: int | None) -> Iterator[Finding]:
    """Judge whether a message that was sent or is polled over HTTP is the one that was sent.

    ``origin_us`` is None of one that was sent over HTTP, which the server made a frame of.
    """
    unlike = ""
    if due.id not in (0, found.id):
        unlike = "id"
    elif due.payload != found.payload:
        unlike = "payload"
    elif not is_same(split_block(due.user_headers), found.user_headers):
        unlike = "user_headers"
    elif origin_us is not None and due.id:
        sent = origin_us + due.timestamp_delta
        if found.origin_timestamp != sent:
            unlike = "origin_timestamp"
        elif found.checksum != due.checksum:
            unlike = "checksum"
    clause, word = ("json.sent", "delivered") if origin_us is None else ("json.same", "different")
    yield hold(clause, not unlike, f"{word}:{unlike}")


def judge_parts(found: JsonMessage, due: MessageFrame) -> Iterator[Finding]:
    """Judge a long id, and user headers, of a message that is polled over HTTP."""
    if due.id > (1 << 64) - 1:
        yield hold("json.id", due.id == found.id, "id:other")
    if due.user_headers or found.user_headers:
        is_it = is_same(split_block(due.user_headers), found.user_headers)
        yield hold("json.headers", is_it, "headers:other")


def read_sent(value: JsonValue) -> tuple[Partitioning, list[MessageFrame]] | None:
    """Return the messages of a request to send, as frames without numbers; None if it is none.

    Members that servers may read in different ways are left to the cases.
    """
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return None
    where, listed = value.get("partitioning"), value["messages"]
    kind = where.get("kind") if isinstance(where, dict) else None
    choice = read_bytes(where.get("value", "")) if isinstance(where, dict) else None
    if not isinstance(kind, str) or kind not in _CODES or choice is None:
        return None
    assert isinstance(listed, list)
    frames = [_read_frame(each) for each in listed]
    known = [frame for frame in frames if frame is not None]
    whole = len(known) == len(frames)
    return (Partitioning(_CODES[kind], choice), known) if whole else None


def _read_frame(value: JsonValue) -> MessageFrame | None:
    if not isinstance(value, dict):
        return None
    number, payload = value.get("id", 0), read_bytes(value.get("payload"))
    if isinstance(number, str) and number.isdecimal():
        number = int(number)
    shown = value.get("user_headers")
    headers = b"" if shown is None else read_headers(shown)
    if not isinstance(number, int) or isinstance(number, bool) or payload is None:
        return None
    if headers is None:
        return None
    block = headers if isinstance(headers, bytes) else header_block(headers)
    return MessageFrame(id=number, payload=payload, user_headers=block)
