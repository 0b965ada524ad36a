"""Messages in JSON: what their form shows, and the message that they are."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final, cast

from wireproof_kit.iggy.wire.http import JsonObject
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_spec import json_schema
from wireproof_spec.iggy.header_kinds import kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.names import MESSAGE_FIELDS
from wireproof_spec.iggy.states import state_code
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wording import show_value

_OWN_CLAUSES: Final = {
    "state": "iggy.state.names",
    "id": "iggy.json.id",
    "checksum": "iggy.checksum.json",
    "payload": "iggy.json.payload",
    "headers": "iggy.json.headers-object",
}
"""The clause about a field, besides that about the types of all fields."""


def judge_form(found: JsonObject, *, is_state_known: bool = True) -> Iterator[Finding]:
    """Judge whether a message in JSON has all fields, each of its type.

    A state that is not defined (``is_state_known``) has no name that a text gives it.
    """
    missing = [name for name in MESSAGE_FIELDS if name not in found]
    if missing:
        difference = Difference(missing[0], None, "the field", f"only {', '.join(found)}")
        yield Finding("iggy.json.fields", "fields:missing", difference=difference)
    else:
        yield Finding("iggy.json.fields")
    faulty = {
        fault.pointer.strip("/").partition("/")[0]: fault
        for fault in reversed(json_schema.check("iggy/message", found))
    }
    if not is_state_known:
        faulty.pop("state", None)
    for name, fault in faulty.items():
        if name in missing or not name:
            continue
        difference = Difference(name, None, fault.expected, fault.found)
        if name not in ("state", "payload") or not isinstance(found[name], str):
            yield Finding("iggy.json.types", f"schema:{name}", difference=difference)
        if name in _OWN_CLAUSES:
            yield Finding(_OWN_CLAUSES[name], f"{name}:other", difference=difference)
    if not faulty:
        yield Finding("iggy.json.types")


def read_object(found: JsonObject) -> Message | None:
    """Return the message that an object is; None if a field is missing or has another type.

    A state that is not defined is read as none.
    """
    state = found.get("state")
    numbers = [found.get(name) for name in ("offset", "timestamp", "id", "checksum")]
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in numbers):
        return None
    offset, timestamp, number, checksum = cast(list[int], numbers)
    headers, payload = _headers(found.get("headers")), _bytes(found.get("payload"))
    if headers is None or payload is None:
        return None
    code = state_code(state) if isinstance(state, str) else None
    return Message(offset, code, timestamp, number, checksum, headers, payload)


def _headers(value: JsonValue) -> tuple[Header, ...] | None:
    if value is None:
        return ()
    if not isinstance(value, dict):
        return None
    headers = [_header(key, each) for key, each in value.items()]
    known = tuple(header for header in headers if header is not None)
    return known if len(known) == len(headers) else None


def _header(key: str, value: JsonValue) -> Header | None:
    if not isinstance(value, Mapping):
        return None
    name, data = value.get("kind"), _bytes(value.get("value"))
    kind = kind_code(name) if isinstance(name, str) else None
    return None if kind is None or data is None else Header(key, kind, data)


def _bytes(value: JsonValue) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None


def show_field(found: JsonObject, name: str) -> str:
    """Return a field of a message in JSON as text for display."""
    return show_value(found[name]) if name in found else "no such field"
