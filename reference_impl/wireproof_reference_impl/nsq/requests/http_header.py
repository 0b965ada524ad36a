"""The header of a message published over HTTP: the ext parameter and X-NSQEXT- headers."""

import json
from collections.abc import Sequence

from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.message import PublishResult

Fields = Sequence[tuple[bytes, bytes]]


def make_stored(ext: bytes, extra: Fields) -> bytes:
    """Return the header to store for /pub_ext: ext as written, or with request headers added.

    Raises:
        Refusal: ext is not a JSON object, or the result breaks a rule for headers.

    Clause: ext.http.header-stored, ext.http.x-nsqext
    """
    fields = header.checked_object(ext)
    header.check_values(fields)
    if not extra:
        return ext
    return compact({**fields, **collect_added(extra)})


def collect_added(extra: Fields) -> dict[str, str]:
    """Return the names, in lower case, and values of X-NSQEXT- headers; the first of each name."""
    fields: dict[str, str] = {}
    for name, value in extra:
        fields.setdefault(name.lower().decode("latin-1"), text(value))
    return fields


def text(value: bytes) -> str:
    """Return the value of a request header as text: UTF-8 if it is valid, else byte by byte."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def compact(fields: object) -> bytes:
    """Return a value as JSON without spaces and unnecessary escapes."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def trace_answer(stored: PublishResult) -> dict[str, object]:
    """Return the JSON fields of the answer to a traced /pub_ext.

    Clause: ext.http.trace-response
    """
    return {
        "status": "OK",
        "id": stored.internal_id,
        "trace_id": str(stored.trace_id),
        "queue_offset": stored.offset,
        "rawsize": stored.size,
    }


def whole_body(request: Request, body: bytearray) -> bytes:
    """Return the body of a request, with a length or in chunks."""
    return bytes(body)
