"""Reads what a client of generation apache sends over HTTP, in the words of the other ones."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING, kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

CLAUSE: Final = "iggy.apache.client.json-layout"
HEADERS: Final = "user_headers"
"""The member that a message has in no earlier generation."""
_MOST_ID: Final = (1 << 128) - 1
_UUID: Final = re.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_DIGITS: Final = re.compile("[0-9]{1,39}")
Decode = Callable[[str, str], bytes]
"""Returns the bytes of base64 text, which is the value of the member with this name."""


def is_apache(messages: Sequence[Mapping[str, JsonValue]]) -> bool:
    """Return True if messages in JSON have a member of generation apache."""
    return any(HEADERS in message for message in messages)


def read_message(value: Mapping[str, JsonValue], decode: Decode) -> SentMessage:
    """Return a message in a request to send.

    Raises:
        WireError: a member does not have its form.
    """
    payload = value.get("payload")
    if not isinstance(payload, str):
        raise _unfit("payload", "base64", payload)
    headers = tuple(_headers(value.get(HEADERS), decode))
    return SentMessage(_id(value.get("id", 0)), headers, decode("payload", payload))


def _id(value: JsonValue) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_ID:
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value) and int(value) <= _MOST_ID:
        return int(value)
    if isinstance(value, str) and _UUID.fullmatch(value):
        return int(value.replace("-", ""), 16)
    raise _unfit("id", "a number, decimal digits or a UUID", value)


def _headers(value: JsonValue, decode: Decode) -> Iterator[Header]:
    if value is None:
        return
    if not isinstance(value, list):
        raise _unfit(HEADERS, "an array", value)
    for each in value:
        if not isinstance(each, dict):
            raise _unfit(HEADERS, "objects with key and value", each)
        (key_kind, key), (kind, found) = _typed(each, "key", decode), _typed(each, "value", decode)
        is_text = key_kind == STRING
        yield Header(
            key.decode("utf-8", "replace") if is_text else f"{key_kind}:{key.hex()}", kind, found
        )


def _typed(pair: Mapping[str, JsonValue], name: str, decode: Decode) -> tuple[int, bytes]:
    part = pair.get(name)
    kind, value = (part.get("kind"), part.get("value")) if isinstance(part, dict) else (None, None)
    code = kind_code(kind) if isinstance(kind, str) else None
    if code is None or not isinstance(value, str):
        raise _unfit(f"{HEADERS} {name}", "a kind and base64", part)
    return code, decode(HEADERS, value)


def _unfit(name: str, expected: str, found: object) -> WireError:
    return WireError(
        clause=CLAUSE, field=name, offset=0, expected=expected, found=repr(found)[:40]
    )
