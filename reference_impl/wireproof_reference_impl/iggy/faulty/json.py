"""Faults of messages in JSON."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.iggy.choices import json_message
from wireproof_reference_impl.iggy.faulty.effect import JSON, fault
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.message_json import base64_text, message_object
from wireproof_reference_impl.preset import (
    BOUNDARY,
    CONDITION,
    MISSING,
    WRONG_VALUE,
    Preset,
)
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.header_kinds import HEADER_KINDS

Object = Mapping[str, object]


def _object(change: Callable[[Message, Object], Object]) -> Settings:
    """Return settings under which messages are told so in JSON."""
    return json_message(lambda message: change(message, message_object(message)))


def _field(name: str, value: Callable[[Message], object]) -> Settings:
    return _object(lambda message, fields: {**fields, name: value(message)})


def _without(*names: str) -> Settings:
    def change(message: Message, fields: Object) -> Object:
        return {name: value for name, value in fields.items() if name not in names}

    return _object(change)


def _renamed(old: str, new: str) -> Settings:
    def change(message: Message, fields: Object) -> Object:
        return {new if name == old else name: value for name, value in fields.items()}

    return _object(change)


def _message(change: Callable[[Message], Message]) -> Settings:
    return json_message(lambda message: message_object(change(message)))


def _headers(told: Callable[[Headers], object]) -> Settings:
    """Return settings under which headers are told so; none stay null."""
    return _field("headers", lambda message: message.headers and told(message.headers))


def _without_headers(value: object) -> Settings:
    """Return settings under which no headers are told so."""

    def change(message: Message, fields: Object) -> Object:
        return fields if message.headers else {**fields, "headers": value}

    return _object(change)


def _without_null(message: Message, fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


_FIELDS = "json.fields json.types"

FAULTS: tuple[Preset, ...] = (
    fault(
        "json-without-checksum",
        "a message in JSON has no checksum",
        _without("checksum"),
        way=MISSING,
        breaks=f"{_FIELDS} checksum.json",
        may_break=JSON,
    ),
    fault(
        "json-without-state",
        "a message in JSON has no state",
        _without("state"),
        way=MISSING,
        breaks=f"{_FIELDS} state.names",
        may_break=JSON,
    ),
    fault(
        "json-timestamp-renamed",
        "the timestamp in JSON is called time",
        _renamed("timestamp", "time"),
        way=WRONG_VALUE,
        breaks=_FIELDS,
        may_break=JSON,
    ),
    fault(
        "json-offset-only-when-not-zero",
        "an offset of 0 is left out of JSON",
        _object(
            lambda message, fields: (
                fields
                if message.offset
                else {name: value for name, value in fields.items() if name != "offset"}
            )
        ),
        way=BOUNDARY,
        breaks=_FIELDS,
        may_break=JSON,
    ),
    fault(
        "json-timestamp-as-text",
        "the timestamp in JSON is a string",
        _field("timestamp", lambda message: str(message.timestamp)),
        way=WRONG_VALUE,
        breaks="json.types",
        may_break=JSON,
    ),
    fault(
        "json-id-as-text",
        "the id in JSON is a string",
        _field("id", lambda message: str(message.id)),
        way=WRONG_VALUE,
        breaks="json.id json.types",
        may_break=JSON,
    ),
    fault(
        "json-id-rounded",
        "the id in JSON is rounded to a double",
        _field("id", lambda message: int(float(message.id))),
        way=BOUNDARY,
        breaks="json.id",
        may_break=JSON,
    ),
    fault(
        "json-id-signed",
        "the id in JSON has a sign",
        _field(
            "id",
            lambda message: message.id - (1 << 128) if message.id >> 127 else message.id,
        ),
        way=BOUNDARY,
        breaks="json.id",
        may_break=JSON,
    ),
    fault(
        "json-payload-url-safe",
        "the payload in JSON is in the alphabet for addresses",
        _field("payload", lambda message: urlsafe_b64encode(message.payload).decode()),
        way=CONDITION,
        breaks="json.payload",
        may_break=JSON,
    ),
    fault(
        "json-payload-not-padded",
        "the payload in JSON lacks its padding",
        _field("payload", lambda message: base64_text(message.payload).rstrip("=")),
        way=BOUNDARY,
        breaks="json.payload",
        may_break=JSON,
    ),
    fault(
        "json-payload-as-text",
        "the payload in JSON is the text that it spells",
        _field("payload", lambda message: message.payload.decode("latin-1")),
        way=WRONG_VALUE,
        breaks="json.payload",
        may_break=JSON,
    ),
    fault(
        "json-payload-as-array",
        "the payload in JSON is an array of numbers",
        _field("payload", lambda message: list(message.payload)),
        way=WRONG_VALUE,
        breaks="json.payload json.types",
        may_break=JSON,
    ),
    fault(
        "json-headers-empty-when-none",
        "headers in JSON are an empty object when there are none",
        _without_headers({}),
        way=WRONG_VALUE,
        breaks="json.headers-null",
        may_break=JSON,
    ),
    fault(
        "json-headers-array-when-none",
        "headers in JSON are an empty array when there are none",
        _without_headers([]),
        way=WRONG_VALUE,
        breaks="json.headers-null json.types",
        may_break=JSON,
    ),
    fault(
        "json-null-left-out",
        "headers are left out of JSON when there are none",
        _object(_without_null),
        way=MISSING,
        breaks="json.fields",
        may_break=JSON,
    ),
    fault(
        "json-header-kind-as-code",
        "the kinds of headers in JSON are codes",
        _headers(
            lambda headers: {
                key: {"kind": header.kind, "value": base64_text(header.value)}
                for key, header in headers.items()
            }
        ),
        way=WRONG_VALUE,
        breaks="json.headers-object json.types",
        may_break=JSON,
    ),
    fault(
        "json-headers-as-array",
        "headers in JSON are an array",
        _headers(
            lambda headers: [
                {"key": key, "kind": HEADER_KINDS[header.kind], "value": base64_text(header.value)}
                for key, header in headers.items()
            ]
        ),
        way=WRONG_VALUE,
        breaks="json.headers-object json.types",
        may_break=JSON,
    ),
    fault(
        "json-header-kind-left-out",
        "headers in JSON have no kind",
        _headers(
            lambda headers: {
                key: {"value": base64_text(header.value)} for key, header in headers.items()
            }
        ),
        way=MISSING,
        breaks="json.headers-object json.types",
        may_break=JSON,
    ),
    fault(
        "json-offset-from-one",
        "offsets in JSON are one too high",
        _message(lambda message: replace(message, offset=message.offset + 1)),
        way=BOUNDARY,
        breaks="json.same-as-binary",
        may_break="json.payload http.poll http.send",
    ),
    fault(
        "json-timestamp-in-milliseconds",
        "timestamps in JSON are in milliseconds",
        _message(lambda message: replace(message, timestamp=message.timestamp // 1000)),
        way=WRONG_VALUE,
        breaks="json.same-as-binary",
        may_break="json.types http.poll",
    ),
    fault(
        "json-without-headers",
        "headers in JSON are null, whatever there is",
        _message(lambda message: replace(message, headers=None)),
        way=MISSING,
        breaks="json.same-as-binary json.headers-object",
        may_break=JSON,
    ),
)
