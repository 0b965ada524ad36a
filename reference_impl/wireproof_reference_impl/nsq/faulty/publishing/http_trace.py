"""Faults of the answer to a traced message over HTTP."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.publishing.trace import (
    empty_beside_others,
    empty_fails,
    empty_is_zero,
)
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.requests.http_header import trace_answer
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.header import Header, reader
from wireproof_reference_impl.nsq.wire.message import PublishResult


def _answer_with(change: Callable[[PublishResult], dict[str, object]]) -> Settings:
    return {"http.trace_answer": change}


def _plus(stored: PublishResult, **other: object) -> dict[str, object]:
    return {**trace_answer(stored), **other}


@wrong_value("http.trace-response", _answer_with)
def http_trace_id_as_number(stored: PublishResult) -> dict[str, object]:
    """trace_id in the HTTP answer to a traced message is a number."""
    return _plus(stored, trace_id=stored.trace_id)


@wrong_value("http.trace-response", _answer_with)
def http_rawsize_without_header(stored: PublishResult) -> dict[str, object]:
    """Rawsize in the HTTP answer omits the record's length bytes and message head."""
    return _plus(stored, rawsize=stored.size - 30)


def _without(stored: PublishResult, name: str) -> dict[str, object]:
    fields = trace_answer(stored)
    del fields[name]
    return fields


@missing("http.trace-response", _answer_with)
def http_trace_without_status(stored: PublishResult) -> dict[str, object]:
    """The HTTP answer to a traced message has no status."""
    return _without(stored, "status")


@wrong_value("http.trace-response", _answer_with)
def http_trace_id_of_the_next(stored: PublishResult) -> dict[str, object]:
    """Id in the HTTP answer to a traced message is that of the next message."""
    return _plus(stored, id=stored.internal_id + 1)


@boundary("http.trace-response", _answer_with)
def http_trace_id_of_63_bits(stored: PublishResult) -> dict[str, object]:
    """Trace ids from 2^63 on are negative in the HTTP answer."""
    return _plus(stored, trace_id=str((stored.trace_id ^ (1 << 63)) - (1 << 63)))


@wrong_value("http.trace-response", _answer_with)
def http_trace_offset_of_the_end(stored: PublishResult) -> dict[str, object]:
    """queue_offset in the HTTP answer is the end of the message instead of its beginning."""
    return _plus(stored, queue_offset=stored.offset + 2 * stored.size)


def _rename_key(stored: PublishResult, old: str, new: str) -> dict[str, object]:
    return {new if name == old else name: value for name, value in trace_answer(stored).items()}


@wrong_value("http.trace-response", _answer_with)
def http_trace_field_renamed(stored: PublishResult) -> dict[str, object]:
    """Rawsize is called raw_size in the HTTP answer to a traced message."""
    return _rename_key(stored, "rawsize", "raw_size")


@missing("http.trace-response", setting("http.header"))
def http_trace_not_answered(data: bytes) -> Header:
    """A traced message published over HTTP is answered with OK alone."""
    return header.published(data)._replace(trace_id=None)


@wrong_value("http.trace-empty")
def http_trace_empty_is_zero() -> Change:
    """An empty trace id over HTTP is read as trace id 0."""
    return {"http.header": reader(trace=empty_is_zero)}


@missing("http.trace-empty")
def http_trace_empty_fails() -> Change:
    """A message with an empty trace id over HTTP is refused."""
    return {"http.header": reader(trace=empty_fails)}


@condition("http.trace-empty")
def http_trace_empty_beside_others() -> Change:
    """Over HTTP, a header with an empty trace id and other names is answered as a traced
    message.
    """
    return {"http.header": empty_beside_others}


FAULTS = list_faults(__name__)
