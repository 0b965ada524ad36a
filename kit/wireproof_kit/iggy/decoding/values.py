"""Values of the grammar as JSON objects and as titles, for the command line."""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from wireproof_kit.decoding.decoded import JsonObject
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import state_name
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wording import count_bytes

EXACT = 1 << 53
"""Greater integers become strings in JSON, since some readers would change them."""


def message_object(message: Message) -> JsonObject:
    """Return a message as a JSON object: ids and times as strings, bytes as hex digits."""
    return {
        "kind": "message",
        "offset": number(message.offset),
        "state": None if message.state is None else state_name(message.state),
        "state_code": message.state,
        "timestamp": str(message.timestamp),
        "id": str(message.id),
        "checksum": message.checksum,
        "checksum_right": is_right(message),
        "headers": headers_object(message.headers),
        "payload_hex": message.payload.hex(),
    }


def message_title(message: Message) -> str:
    """Return a one-line title for a message."""
    parts = [f"offset {message.offset}", f"id {message.id}", count_bytes(len(message.payload))]
    if message.state is not None:
        parts.append(state_name(message.state) or f"unknown state {message.state}")
    if is_right(message) is False:
        parts.append(f"wrong checksum, {payload_checksum(message.payload)} is due")
    return "   ".join(parts)


def is_right(message: Message) -> bool | None:
    """Return True if a message's checksum matches its payload; None if it has no checksum."""
    if message.checksum is None:
        return None
    return message.checksum == payload_checksum(message.payload)


def wrong_checksums(messages: Sequence[Message], name: str) -> dict[str, int]:
    """Return the right checksum of each message that has a wrong one, by the name of its field.

    In ``name`` ``{}`` stands for the number of the message: ``messages[{}].checksum``.
    """
    return {
        name.format(number): payload_checksum(message.payload)
        for number, message in enumerate(messages)
        if is_right(message) is False
    }


def headers_object(headers: Sequence[Header]) -> dict[str, JsonValue]:
    """Return headers as an object by key; the last one of a repeated key counts."""
    return {
        header.key: {
            "kind": HEADER_KINDS.get(header.kind, str(header.kind)),
            "value_hex": header.value.hex(),
        }
        for header in headers
    }


def plain(value: object) -> JsonValue:
    """Return any decoded value as JSON: records as objects, bytes as hex digits."""
    if isinstance(value, Identifier):
        return value.name if value.number is None else value.number
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [plain(item) for item in cast(tuple[object, ...], value)]
    if isinstance(value, Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    return value if isinstance(value, str | bool) or value is None else str(value)


def number(value: int) -> JsonValue:
    """Return an integer, or a string when it exceeds what some JSON readers support."""
    return value if value < EXACT else str(value)
