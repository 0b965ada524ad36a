"""Choices of the measured youzan nsqd's HTTP API that differ from the published text."""

import json
import re
from math import isfinite
from typing import cast
from urllib.parse import unquote_to_bytes

from wireproof_reference_impl.nsq.requests.http_header import Fields
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_reference_impl.nsq.wire.go_text import marshal
from wireproof_reference_impl.nsq.wire.header import Header, refuse_header, tag_of, trace_number
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_spec.nsq.error_codes import INTERNAL_ERROR
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_spec.strict_json import JsonValue

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def build_header(ext: bytes, extra: Fields) -> bytes:
    """Return the header to store as deployed brokers do: ext unescaped twice, parsed, rewritten.

    Raises:
        Refusal: ext is neither a JSON object nor null.
        HttpRefusal: request headers would be added to null, which the real handler cannot do.
    """
    fields = _read(unescape(ext))
    if extra:
        if fields is None:
            raise HttpRefusal(500, INTERNAL_ERROR)
        for name, value in extra:
            fields[name.lower().decode("utf-8", "replace")] = show(value)
    return marshal(fields).encode()


def unescape(text: bytes) -> bytes:
    """Unescape the percent-encoding of a query a second time.

    Raises:
        Refusal: a percent sign begins no escape.
    """
    if _BAD_ESCAPE.search(text):
        raise refuse_header("invalid URL escape")
    return unquote_to_bytes(text.replace(b"+", b" "))


def read_header(data: bytes) -> Header:
    """Return the fields needed from a header that the broker wrote itself (or raise Refusal)."""
    fields = _read(data) or {}
    trace_id = trace_number(fields[TRACE_ID], empty=False) if TRACE_ID in fields else None
    return Header(trace_id, tag_of(fields))


def body_by_length(request: Request, body: bytearray) -> bytes:
    """Return the body of a request with a Content-Length; a chunked body counts as empty."""
    names = {name.lower() for name, _ in request.headers}
    return bytes(body) if b"content-length" in names else b""


def _read(data: bytes) -> dict[str, JsonValue] | None:
    try:
        value = json.loads(
            data.decode("utf-8", "replace"),
            parse_int=_number,
            parse_float=_number,
            parse_constant=_number,
        )
    except (ValueError, RecursionError) as error:
        raise refuse_header(str(error)) from error
    if not isinstance(value, dict | None):
        raise refuse_header("not an object")
    return cast(dict[str, JsonValue] | None, value)


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is out of range")
    return value
