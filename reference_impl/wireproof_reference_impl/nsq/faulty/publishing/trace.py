"""Faults of the answer to PUB_EXT: OK, and the 30 bytes for a traced message."""

import re
from collections.abc import Callable
from struct import pack
from weakref import WeakKeyDictionary

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.commands import publish_ext
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.ways import (
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


def change_response(stored: PublishResult, **other: int) -> bytes:
    """Return a trace response with some parts replaced."""
    parts = stored._replace(**other)
    return packed.trace_response(
        parts.internal_id % _U64, parts.trace_id % _U64, offset=parts.offset, size=parts.size
    )


def empty_is_zero(value: JsonValue) -> int | None:
    """Return the trace id in a header value; an empty one is read as 0."""
    return header.empty_is_none(value) or 0


def empty_fails(value: JsonValue) -> int | None:
    """Return the trace id in a header value; an empty one is refused."""
    if value == "":
        raise Refusal(E_PUB_FAILED, "empty trace id", fatal=False)
    return header.empty_is_none(value)


def empty_beside_others(data: bytes) -> Header:
    """Return the header's fields; an empty trace id beside other names is read as 1."""
    read = header.published(data)
    among_others = b'"##trace_id":""' in data and b"," in data
    return read._replace(trace_id=1) if among_others else read


@wrong_value("publish.trace-response", _answer_with)
def trace_little_endian(stored: PublishResult) -> bytes:
    """The trace response is in little-endian byte order."""
    return pack("<2sQQQI", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


@wrong_value("publish.trace-response", _answer_with)
def trace_ids_swapped(stored: PublishResult) -> bytes:
    """The trace response has the trace id before the internal id."""
    return change_response(stored, internal_id=stored.trace_id, trace_id=stored.internal_id)


@wrong_value("publish.trace-response", _answer_with)
def trace_offset_size_swapped(stored: PublishResult) -> bytes:
    """The trace response has the data size before the offset."""
    return pack(">2sQQIQ", OK, stored.internal_id, stored.trace_id, stored.size, stored.offset)


@extra("publish.trace-response", _answer_with)
def trace_size_of_8_bytes(stored: PublishResult) -> bytes:
    """The data size in the trace response takes 8 bytes."""
    return pack(">2sQQQQ", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


@wrong_value("publish.trace-response", _answer_with)
def trace_size_without_length(stored: PublishResult) -> bytes:
    """The data size in the trace response omits the record's 4 length bytes."""
    return change_response(stored, size=stored.size - 4)


@wrong_value("publish.trace-response", _answer_with)
def trace_offset_of_the_end(stored: PublishResult) -> bytes:
    """The offset in the trace response is the end of the record instead of its beginning."""
    return change_response(stored, offset=stored.offset + 2 * stored.size)


@wrong_value("publish.trace-response", _answer_with)
def trace_id_of_the_next(stored: PublishResult) -> bytes:
    """The internal id in the trace response is that of the next message."""
    return change_response(stored, internal_id=stored.internal_id + 1)


@boundary("publish.trace-response", _answer_with)
def trace_id_of_63_bits(stored: PublishResult) -> bytes:
    """The trace response clears the highest bit of trace ids from 2^63 on."""
    return change_response(stored, trace_id=stored.trace_id % (1 << 63))


@boundary("publish.trace-response", _answer_with)
def trace_id_through_a_float(stored: PublishResult) -> bytes:
    """The trace response rounds trace ids above 2^53."""
    return change_response(stored, trace_id=int(float(stored.trace_id)))


@boundary("publish.trace-response", _answer_with)
def trace_id_zero_not_answered(stored: PublishResult) -> bytes:
    """A message with trace id 0 is answered as if it had no trace id."""
    return change_response(stored) if stored.trace_id else OK


@missing("publish.trace-response", _answer_with)
def trace_not_answered(stored: PublishResult) -> bytes:
    """A traced message is answered with OK alone, without a trace response."""
    return OK


@condition("publish.trace-response", setting("publish.header"))
def trace_found_when_first(data: bytes) -> Header:
    """The trace id is found only if it is the first name in the header."""
    read = header.published(data)
    return read if data.startswith(b'{"##trace_id"') else read._replace(trace_id=None)


@condition("publish.trace-response", setting("publish.header"))
def trace_found_when_spelled_plainly(data: bytes) -> Header:
    """The trace id is not found if its JSON has spaces or escapes."""
    read = header.published(data)
    return read if b'"##trace_id":"' in data else read._replace(trace_id=None)


@extra("publish.ok-response", setting("publish.header"))
def trace_found_by_text(data: bytes) -> Header:
    """The trace id is searched in the header's text, so that it is also found inside values."""
    read = header.published(data)
    found = re.search(rb'##trace_id\W*"?(\d+)?', data)
    return read._replace(trace_id=int(found[1] or 0) if found else None)


@wrong_value("publish.ok-response")
def ok_with_line_feed() -> Change:
    """From a topic's fourth message on, the OK response has a line feed appended."""
    return _from_the_fourth(b"OK\n")


@extra("publish.ok-response", _answering_as_traced)
def ok_always_traced(before: Header | None) -> bool:
    """Every PUB_EXT except the first on a connection is answered with a trace response."""
    return before is not None


@missing("publish.ok-response")
def ok_empty() -> Change:
    """From a topic's fourth message on, the response to a successful publish is empty."""
    return _from_the_fourth(b"")


@condition("publish.ok-response", _answering_as_traced)
def ok_traced_from_then_on(before: Header | None) -> bool:
    """After a traced message, the next message on the connection is also answered as traced."""
    return before is not None and before.trace_id is not None


@wrong_value("publish.trace-empty")
def trace_empty_is_zero() -> Change:
    """An empty trace id is read as trace id 0."""
    return {"publish.header": reader(trace=empty_is_zero)}


@missing("publish.trace-empty")
def trace_empty_fails() -> Change:
    """An empty trace id is refused with the error code of a failed publish."""
    return {"publish.header": reader(trace=empty_fails)}


def _empty_ends_the_connection(value: JsonValue) -> int | None:
    if value == "":
        raise Refusal(E_INVALID, "trace id is empty")
    return header.empty_is_none(value)


@missing("publish.trace-empty")
def trace_empty_ends() -> Change:
    """An empty trace id closes the connection."""
    return {"publish.header": reader(trace=_empty_ends_the_connection)}


@condition("publish.trace-empty")
def trace_empty_beside_others() -> Change:
    """A header with an empty trace id and other names is answered as a traced message."""
    return {"publish.header": empty_beside_others}


FAULTS = list_faults(__name__)
