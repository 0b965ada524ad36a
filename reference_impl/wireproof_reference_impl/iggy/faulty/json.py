"""Faults of messages in JSON."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.iggy.choices import json_message
from wireproof_reference_impl.iggy.faulty.effect import (
    JSON,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.message_json import base64_text, message_object
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.header_kinds import HEADER_KINDS

Object = Mapping[str, object]


def _object(change: Callable[[Message, Object], Object]) -> Settings:
    """Return settings under which the JSON object of each message is changed."""
    return json_message(lambda message: change(message, message_object(message)))


def _field(name: str, value: Callable[[Message], object]) -> Settings:
    return _object(lambda message, fields: {**fields, name: value(message)})


def _without(*names: str) -> Settings:
    def change(message: Message, fields: Object) -> Object:
        return {name: value for name, value in fields.items() if name not in names}

    return _object(change)


def _rename_key(old: str, new: str) -> Settings:
    def change(message: Message, fields: Object) -> Object:
        return {new if name == old else name: value for name, value in fields.items()}

    return _object(change)


def _message(change: Callable[[Message], Message]) -> Settings:
    return json_message(lambda message: message_object(change(message)))


def _headers(told: Callable[[Headers], object]) -> Settings:
    """Return settings under which headers in JSON are changed; no headers stay null."""
    return _field("headers", lambda message: message.headers and told(message.headers))


def _without_headers(value: object) -> Settings:
    """Return settings under which the headers of a message without any have this value in JSON."""

    def change(message: Message, fields: Object) -> Object:
        return fields if message.headers else {**fields, "headers": value}

    return _object(change)


def _without_null(message: Message, fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


_FIELDS = "json.fields json.types"

FAULTS: tuple[Preset, ...] = (
    missing(
        "json-without-checksum",
        "a message in JSON has no field `checksum`",
        _without("checksum"),
        breaks=f"{_FIELDS} checksum.json",
        may_break=JSON,
    ),
    missing(
        "json-without-state",
        "a message in JSON has no field `state`",
        _without("state"),
        breaks=f"{_FIELDS} state.names",
        may_break=JSON,
    ),
    wrong_value(
        "json-timestamp-renamed",
        "the field `timestamp` of a message in JSON is called `time`",
        _rename_key("timestamp", "time"),
        breaks=_FIELDS,
        may_break=JSON,
    ),
    boundary(
        "json-offset-only-when-not-zero",
        "a message with offset 0 has no field `offset` in JSON",
        _object(
            lambda message, fields: (
                fields
                if message.offset
                else {name: value for name, value in fields.items() if name != "offset"}
            )
        ),
        breaks=_FIELDS,
        may_break=JSON,
    ),
    wrong_value(
        "json-timestamp-as-text",
        "the timestamp of a message in JSON is a string",
        _field("timestamp", lambda message: str(message.timestamp)),
        breaks="json.types",
        may_break=JSON,
    ),
    wrong_value(
        "json-id-as-text",
        "the id of a message in JSON is a string",
        _field("id", lambda message: str(message.id)),
        breaks="json.id json.types",
        may_break=JSON,
    ),
    boundary(
        "json-id-rounded",
        "the id of a message in JSON is rounded to a double-precision number",
        _field("id", lambda message: int(float(message.id))),
        breaks="json.id",
        may_break=JSON,
    ),
    boundary(
        "json-id-signed",
        "the id of a message in JSON is a signed number of 128 bits",
        _field(
            "id",
            lambda message: message.id - (1 << 128) if message.id >> 127 else message.id,
        ),
        breaks="json.id",
        may_break=JSON,
    ),
    condition(
        "json-payload-url-safe",
        "the payload in JSON is in the URL-safe alphabet of base64",
        _field("payload", lambda message: urlsafe_b64encode(message.payload).decode()),
        breaks="json.payload",
        may_break=JSON,
    ),
    boundary(
        "json-payload-not-padded",
        "the payload in JSON is in base64 without padding",
        _field("payload", lambda message: base64_text(message.payload).rstrip("=")),
        breaks="json.payload",
        may_break=JSON,
    ),
    wrong_value(
        "json-payload-as-text",
        "the payload in JSON is plain text instead of base64",
        _field("payload", lambda message: message.payload.decode("latin-1")),
        breaks="json.payload",
        may_break=JSON,
    ),
    wrong_value(
        "json-payload-as-array",
        "the payload in JSON is an array of numbers instead of base64",
        _field("payload", lambda message: list(message.payload)),
        breaks="json.payload json.types",
        may_break=JSON,
    ),
    wrong_value(
        "json-headers-empty-when-none",
        "the headers of a message without any are an empty object in JSON instead of null",
        _without_headers({}),
        breaks="json.headers-null",
        may_break=JSON,
    ),
    wrong_value(
        "json-headers-array-when-none",
        "the headers of a message without any are an empty array in JSON instead of null",
        _without_headers([]),
        breaks="json.headers-null json.types",
        may_break=JSON,
    ),
    missing(
        "json-null-left-out",
        "a message without headers has no field `headers` in JSON",
        _object(_without_null),
        breaks="json.fields",
        may_break=JSON,
    ),
    wrong_value(
        "json-header-kind-as-code",
        "the kind of a header in JSON is a number instead of a name",
        _headers(
            lambda headers: {
                key: {"kind": header.kind, "value": base64_text(header.value)}
                for key, header in headers.items()
            }
        ),
        breaks="json.headers-object json.types",
        may_break=JSON,
    ),
    wrong_value(
        "json-headers-as-array",
        "headers in JSON are an array of objects instead of an object by key",
        _headers(
            lambda headers: [
                {"key": key, "kind": HEADER_KINDS[header.kind], "value": base64_text(header.value)}
                for key, header in headers.items()
            ]
        ),
        breaks="json.headers-object json.types",
        may_break=JSON,
    ),
    missing(
        "json-header-kind-left-out",
        "headers in JSON have no field `kind`",
        _headers(
            lambda headers: {
                key: {"value": base64_text(header.value)} for key, header in headers.items()
            }
        ),
        breaks="json.headers-object json.types",
        may_break=JSON,
    ),
    boundary(
        "json-offset-from-one",
        "the offset of every message in JSON is one too high",
        _message(lambda message: replace(message, offset=message.offset + 1)),
        breaks="json.same-as-binary",
        may_break="json.payload http.poll http.send",
    ),
    wrong_value(
        "json-timestamp-in-milliseconds",
        "timestamps in JSON are in milliseconds instead of microseconds",
        _message(lambda message: replace(message, timestamp=message.timestamp // 1000)),
        breaks="json.same-as-binary",
        may_break="json.types http.poll",
    ),
    missing(
        "json-without-headers",
        "the headers of every message in JSON are null",
        _message(lambda message: replace(message, headers=None)),
        breaks="json.same-as-binary json.headers-object",
        may_break=JSON,
    ),
)
