"""Variants of HTTP: header fields, framing of bodies and style of JSON."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus

from msgspec.structs import replace

from wireproof_reference_impl.iggy.wire.exchange import JSON, HeaderFields
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.message_json import message_object
from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.preset import Preset, variant
from wireproof_reference_impl.settings import Settings
from wireproof_spec.strict_json import is_array, is_object

_CHUNK_BYTES = 1024
_MORE_FIELDS = (
    ("Date", "Tue, 22 Aug 2023 10:00:00 GMT"),
    ("Server", "another"),
    ("Cache-Control", "no-store"),
    ("Vary", "Accept-Encoding, Origin"),
    ("X-Request-Id", "0000000000000001"),
)
_MADE = "2023-08-22T10:00:00Z"


def _fields(change: Callable[[HeaderFields], HeaderFields]) -> Settings:
    """Return settings under which answers have other header fields."""
    return {"http.fields": change}


def _lower_case(fields: HeaderFields) -> HeaderFields:
    return [(name.lower(), value) for name, value in fields]


def _more(fields: HeaderFields) -> HeaderFields:
    return [*_MORE_FIELDS[:2], *fields, *_MORE_FIELDS[2:]]


def _in_chunks(body: bytes) -> tuple[HeaderFields, bytes]:
    chunks = [body[at : at + _CHUNK_BYTES] for at in range(0, len(body), _CHUNK_BYTES)]
    framed = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b"")]
    return [("Transfer-Encoding", "chunked")], b"".join(framed)


def _with_charset(fields: HeaderFields) -> HeaderFields:
    return [(name, f"{JSON}; charset=utf-8" if value == JSON else value) for name, value in fields]


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


def _sorted_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _json_between_blanks(value: object) -> bytes:
    return b" \r\n\t" + compact_json(value) + b"\n"


def _json_with_times(value: object) -> bytes:
    """Return JSON in which each created object has a field `created_at`."""
    return compact_json(_time(value))


def _time(value: object) -> object:
    if is_array(value):
        return [_time(item) for item in value]
    if not is_object(value):
        return value
    is_made = "id" in value and "payload" not in value
    return {"created_at": _MADE, **value} if is_made else value


def _headers_backwards(message: Message) -> Mapping[str, object]:
    return message_object(replace(message, headers=_backwards(message.headers)))


def _backwards(headers: Headers | None) -> Headers | None:
    return headers and dict([*headers.items()][::-1])


VARIANTS: tuple[Preset, ...] = (
    variant(
        "http-lower-case",
        "names of HTTP header fields are in lower case, as from the measured server",
        _fields(_lower_case),
    ),
    variant(
        "http-more-fields",
        "HTTP answers have additional header fields",
        _fields(_more),
    ),
    variant(
        "http-chunked",
        "HTTP answers are sent in chunks, without a content length",
        {"http.framing": _in_chunks},
    ),
    variant(
        "http-closing",
        "the server closes an HTTP connection after each answer",
        {"http.keeps_open": False},
    ),
    variant(
        "http-charset",
        "the HTTP content type of JSON names its character set",
        _fields(_with_charset),
    ),
    variant(
        "http-reasons",
        "the HTTP status line has a reason phrase",
        {"http.reason": _phrase},
    ),
    variant(
        "json-sorted",
        "the fields of every object in JSON are sorted by name",
        {"json.encode": _sorted_json},
    ),
    variant(
        "json-between-blanks",
        "JSON is surrounded by blanks and line feeds",
        {"json.encode": _json_between_blanks},
    ),
    variant(
        "json-with-times",
        "streams, topics, partitions, groups and clients in JSON have a field `created_at`",
        {"json.encode": _json_with_times},
    ),
    variant(
        "json-headers-backwards",
        "the headers of a message in JSON come in the reverse order",
        {"json.message": _headers_backwards},
    ),
)
