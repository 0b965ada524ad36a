"""Faults of messages in JSON."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.choices import json_message
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.message_json import base64_text, message_object
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


@missing("json.fields json.types checksum.json")
def json_without_checksum() -> Change:
    """A message in JSON has no field `checksum`."""
    return _without("checksum")


@missing("json.fields json.types state.names")
def json_without_state() -> Change:
    """A message in JSON has no field `state`."""
    return _without("state")


def _rename_key(old: str, new: str) -> Settings:
    def change(message: Message, fields: Object) -> Object:
        return {new if name == old else name: value for name, value in fields.items()}

    return _object(change)


@wrong_value("json.fields json.types")
def json_timestamp_renamed() -> Change:
    """The field `timestamp` of a message in JSON is called `time`."""
    return _rename_key("timestamp", "time")


@boundary("json.fields json.types", _object)
def json_offset_only_when_not_zero(message: Message, fields: Object) -> Object:
    """A message with offset 0 has no field `offset` in JSON."""
    return (
        fields
        if message.offset
        else {name: value for name, value in fields.items() if name != "offset"}
    )


@wrong_value("json.types", partial(_field, "timestamp"))
def json_timestamp_as_text(message: Message) -> object:
    """The timestamp of a message in JSON is a string."""
    return str(message.timestamp)


@wrong_value("json.id json.types", partial(_field, "id"))
def json_id_as_text(message: Message) -> object:
    """The id of a message in JSON is a string."""
    return str(message.id)


@boundary("json.id", partial(_field, "id"))
def json_id_rounded(message: Message) -> object:
    """The id of a message in JSON is rounded to a double-precision number."""
    return int(float(message.id))


@boundary("json.id", partial(_field, "id"))
def json_id_signed(message: Message) -> object:
    """The id of a message in JSON is a signed number of 128 bits."""
    return message.id - (1 << 128) if message.id >> 127 else message.id


@condition("json.payload", partial(_field, "payload"))
def json_payload_url_safe(message: Message) -> object:
    """The payload in JSON is in the URL-safe alphabet of base64."""
    return urlsafe_b64encode(message.payload).decode()


@boundary("json.payload", partial(_field, "payload"))
def json_payload_not_padded(message: Message) -> object:
    """The payload in JSON is in base64 without padding."""
    return base64_text(message.payload).rstrip("=")


@wrong_value("json.payload", partial(_field, "payload"))
def json_payload_as_text(message: Message) -> object:
    """The payload in JSON is plain text instead of base64."""
    return message.payload.decode("latin-1")


@wrong_value("json.payload json.types", partial(_field, "payload"))
def json_payload_as_array(message: Message) -> object:
    """The payload in JSON is an array of numbers instead of base64."""
    return list(message.payload)


@wrong_value("json.headers-null")
def json_headers_empty_when_none() -> Change:
    """The headers of a message without any are an empty object in JSON instead of null."""
    return _without_headers({})


@wrong_value("json.headers-null json.types")
def json_headers_array_when_none() -> Change:
    """The headers of a message without any are an empty array in JSON instead of null."""
    return _without_headers([])


@missing("json.fields", _object)
def json_null_left_out(message: Message, fields: Object) -> Object:
    """A message without headers has no field `headers` in JSON."""
    return {name: value for name, value in fields.items() if value is not None}


@wrong_value("json.headers-object json.types", _headers)
def json_header_kind_as_code(headers: Headers) -> object:
    """The kind of a header in JSON is a number instead of a name."""
    return {
        key: {"kind": header.kind, "value": base64_text(header.value)}
        for key, header in headers.items()
    }


@wrong_value("json.headers-object json.types", _headers)
def json_headers_as_array(headers: Headers) -> object:
    """Headers in JSON are an array of objects instead of an object by key."""
    return [
        {"key": key, "kind": HEADER_KINDS[header.kind], "value": base64_text(header.value)}
        for key, header in headers.items()
    ]


@missing("json.headers-object json.types", _headers)
def json_header_kind_left_out(headers: Headers) -> object:
    """Headers in JSON have no field `kind`."""
    return {key: {"value": base64_text(header.value)} for key, header in headers.items()}


@boundary("json.same-as-binary", _message)
def json_offset_from_one(message: Message) -> Message:
    """The offset of every message in JSON is one too high."""
    return replace(message, offset=message.offset + 1)


@wrong_value("json.same-as-binary", _message)
def json_timestamp_in_milliseconds(message: Message) -> Message:
    """Timestamps in JSON are in milliseconds instead of microseconds."""
    return replace(message, timestamp=message.timestamp // 1000)


@missing("json.same-as-binary json.headers-object", _message)
def json_without_headers(message: Message) -> Message:
    """The headers of every message in JSON are null."""
    return replace(message, headers=None)


FAULTS = list_faults(__name__)
