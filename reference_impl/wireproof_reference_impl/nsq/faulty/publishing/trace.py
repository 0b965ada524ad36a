"""Faults of the answer to PUB_EXT: OK, and the 30 bytes for a traced message."""

import re
from collections.abc import Callable
from struct import pack
from weakref import WeakKeyDictionary

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.commands import publish_ext
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.preset import (
    PUBLISHERS,
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import header, packed
from wireproof_reference_impl.nsq.wire.header import Header, reader
from wireproof_reference_impl.nsq.wire.message import PublishResult
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Override, around
from wireproof_spec.nsq.error_codes import E_INVALID, E_PUB_FAILED
from wireproof_spec.nsq.names import OK
from wireproof_spec.strict_json import JsonValue

_U64 = 1 << 64


def _answer_with(traced: Callable[[PublishResult], bytes]) -> Settings:
    """Return settings that change the answer to a traced PUB_EXT."""
    return {"publish.ext_trace_response": traced}


def _from_the_fourth(said: bytes) -> tuple[Override, ...]:
    """Return overrides that change the answer to an untraced PUB_EXT from the fourth on."""

    def answer(
        original: Callable[..., bytes], connection: Connection, read: Header, stored: PublishResult
    ) -> bytes:
        if read.trace_id is None and stored.internal_id > 3:
            return said
        return original(connection, read, stored)

    return (around(publish_ext, "answer", answer),)


def _answering_as_traced(traced: Callable[[Header | None], bool]) -> tuple[Override, ...]:
    """Return overrides under which PUB_EXT with some other headers gets a trace response."""
    headers = WeakKeyDictionary[Connection, Header]()

    def answer(
        original: Callable[..., bytes], connection: Connection, read: Header, stored: PublishResult
    ) -> bytes:
        before = headers.get(connection)
        headers[connection] = read
        if traced(before):
            return connection.node.behaviour.publish.ext_trace_response(stored)
        return original(connection, read, stored)

    return (around(publish_ext, "answer", answer),)


def _response(stored: PublishResult, **other: int) -> bytes:
    """Return a trace response with some parts replaced."""
    parts = stored._replace(**other)
    return packed.trace_response(
        parts.internal_id % _U64, parts.trace_id % _U64, offset=parts.offset, size=parts.size
    )


def _by_text(data: bytes) -> Header:
    """Read a header; find the trace id by searching the text for its name."""
    read = header.published(data)
    found = re.search(rb'##trace_id\W*"?(\d+)?', data)
    return read._replace(trace_id=int(found[1] or 0) if found else None)


def _when_first(data: bytes) -> Header:
    read = header.published(data)
    return read if data.startswith(b'{"##trace_id"') else read._replace(trace_id=None)


def _when_spelled_plainly(data: bytes) -> Header:
    read = header.published(data)
    return read if b'"##trace_id":"' in data else read._replace(trace_id=None)


def empty_is_zero(value: JsonValue) -> int | None:
    """Return the trace id in a header value; an empty one is read as 0."""
    return header.empty_is_none(value) or 0


def empty_fails(value: JsonValue) -> int | None:
    """Return the trace id in a header value; an empty one is refused."""
    if value == "":
        raise Refusal(E_PUB_FAILED, "empty trace id", fatal=False)
    return header.empty_is_none(value)


def _empty_ends_the_connection(value: JsonValue) -> int | None:
    if value == "":
        raise Refusal(E_INVALID, "trace id is empty")
    return header.empty_is_none(value)


def empty_beside_others(data: bytes) -> Header:
    """Return the header's fields; an empty trace id beside other names is read as 1."""
    read = header.published(data)
    among_others = b'"##trace_id":""' in data and b"," in data
    return read._replace(trace_id=1) if among_others else read


def _little_endian(stored: PublishResult) -> bytes:
    return pack("<2sQQQI", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


def _ids_swapped(stored: PublishResult) -> bytes:
    return _response(stored, internal_id=stored.trace_id, trace_id=stored.internal_id)


def _offset_and_size_swapped(stored: PublishResult) -> bytes:
    return pack(">2sQQIQ", OK, stored.internal_id, stored.trace_id, stored.size, stored.offset)


def _size_of_8_bytes(stored: PublishResult) -> bytes:
    return pack(">2sQQQQ", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


_TRACE = "publish.trace-response"
_OK = "publish.ok-response"
_EMPTY = "publish.trace-empty"

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "trace-little-endian",
        "the trace response is in little-endian byte order",
        breaks=_TRACE,
        may_break="disk.position",
        settings=_answer_with(_little_endian),
    ),
    wrong_value(
        "trace-ids-swapped",
        "the trace response has the trace id before the internal id",
        breaks=_TRACE,
        settings=_answer_with(_ids_swapped),
    ),
    wrong_value(
        "trace-offset-size-swapped",
        "the trace response has the data size before the offset",
        breaks=_TRACE,
        may_break="disk.position",
        settings=_answer_with(_offset_and_size_swapped),
    ),
    extra(
        "trace-size-of-8-bytes",
        "the data size in the trace response takes 8 bytes",
        breaks=_TRACE,
        settings=_answer_with(_size_of_8_bytes),
    ),
    wrong_value(
        "trace-size-without-length",
        "the data size in the trace response omits the record's 4 length bytes",
        breaks=_TRACE,
        may_break="disk.position",
        settings=_answer_with(lambda stored: _response(stored, size=stored.size - 4)),
    ),
    wrong_value(
        "trace-offset-of-the-end",
        "the offset in the trace response is the end of the record instead of its beginning",
        breaks=_TRACE,
        settings=_answer_with(
            lambda stored: _response(stored, offset=stored.offset + 2 * stored.size)
        ),
    ),
    wrong_value(
        "trace-id-of-the-next",
        "the internal id in the trace response is that of the next message",
        breaks=_TRACE,
        settings=_answer_with(
            lambda stored: _response(stored, internal_id=stored.internal_id + 1)
        ),
    ),
    boundary(
        "trace-id-of-63-bits",
        "the trace response clears the highest bit of trace ids from 2^63 on",
        breaks=_TRACE,
        settings=_answer_with(
            lambda stored: _response(stored, trace_id=stored.trace_id % (1 << 63))
        ),
    ),
    boundary(
        "trace-id-through-a-float",
        "the trace response rounds trace ids above 2^53",
        breaks=_TRACE,
        settings=_answer_with(
            lambda stored: _response(stored, trace_id=int(float(stored.trace_id)))
        ),
    ),
    boundary(
        "trace-id-zero-not-answered",
        "a message with trace id 0 is answered as if it had no trace id",
        breaks=_TRACE,
        settings=_answer_with(lambda stored: _response(stored) if stored.trace_id else OK),
    ),
    missing(
        "trace-not-answered",
        "a traced message is answered with OK alone, without a trace response",
        breaks=_TRACE,
        may_break="parser.segmentation publish.accept publish.trace-id-form",
        settings=_answer_with(lambda stored: OK),
    ),
    condition(
        "trace-found-when-first",
        "the trace id is found only if it is the first name in the header",
        breaks=_TRACE,
        settings={"publish.header": _when_first},
    ),
    condition(
        "trace-found-when-spelled-plainly",
        "the trace id is not found if its JSON has spaces or escapes",
        breaks=_TRACE,
        settings={"publish.header": _when_spelled_plainly},
    ),
    extra(
        "trace-found-by-text",
        "the trace id is searched in the header's text, so that it is also found inside values",
        breaks=_OK,
        may_break="publish.trace-empty publish.trace-response",
        settings={"publish.header": _by_text},
    ),
    wrong_value(
        "ok-with-line-feed",
        "from a topic's fourth message on, the OK response has a line feed appended",
        breaks=_OK,
        may_break=PUBLISHERS,
        overrides=_from_the_fourth(b"OK\n"),
    ),
    extra(
        "ok-always-traced",
        "every PUB_EXT except the first on a connection is answered with a trace response",
        breaks=_OK,
        may_break=(
            "parser.segmentation publish.accept publish.trace-empty publish.trace-id-form "
            "publish.trace-response"
        ),
        overrides=_answering_as_traced(lambda before: before is not None),
    ),
    missing(
        "ok-empty",
        "from a topic's fourth message on, the response to a successful publish is empty",
        breaks=_OK,
        may_break=PUBLISHERS,
        overrides=_from_the_fourth(b""),
    ),
    condition(
        "ok-traced-from-then-on",
        "after a traced message, the next message on the connection is also answered as traced",
        breaks=_OK,
        may_break=(
            "parser.segmentation publish.accept publish.trace-id-form publish.trace-response"
        ),
        overrides=_answering_as_traced(
            lambda before: before is not None and before.trace_id is not None
        ),
    ),
    wrong_value(
        "trace-empty-is-zero",
        "an empty trace id is read as trace id 0",
        breaks=_EMPTY,
        settings={"publish.header": reader(trace=empty_is_zero)},
    ),
    missing(
        "trace-empty-fails",
        "an empty trace id is refused with the error code of a failed publish",
        breaks=_EMPTY,
        settings={"publish.header": reader(trace=empty_fails)},
    ),
    missing(
        "trace-empty-ends",
        "an empty trace id closes the connection",
        breaks=_EMPTY,
        settings={"publish.header": reader(trace=_empty_ends_the_connection)},
    ),
    condition(
        "trace-empty-beside-others",
        "a header with an empty trace id and other names is answered as a traced message",
        breaks=_EMPTY,
        settings={"publish.header": empty_beside_others},
    ),
)
