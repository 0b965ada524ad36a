"""Faults of the answer to a traced message over HTTP."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.publishing.trace import (
    empty_beside_others,
    empty_fails,
    empty_is_zero,
)
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests.http_header import trace_answer
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.header import Header, reader
from wireproof_reference_impl.nsq.wire.message import PublishResult


def _answer_with(change: Callable[[PublishResult], dict[str, object]]) -> Settings:
    return {"http.trace_answer": change}


def _plus(stored: PublishResult, **other: object) -> dict[str, object]:
    return {**trace_answer(stored), **other}


def _without(stored: PublishResult, name: str) -> dict[str, object]:
    fields = trace_answer(stored)
    del fields[name]
    return fields


def _rename_key(stored: PublishResult, old: str, new: str) -> dict[str, object]:
    return {new if name == old else name: value for name, value in trace_answer(stored).items()}


def _no_trace(data: bytes) -> Header:
    return header.published(data)._replace(trace_id=None)


_TRACE = "http.trace-response"
_EMPTY = "http.trace-empty"

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "http-trace-id-as-number",
        "trace_id in the HTTP answer to a traced message is a number",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings=_answer_with(lambda stored: _plus(stored, trace_id=stored.trace_id)),
    ),
    wrong_value(
        "http-rawsize-without-header",
        "rawsize in the HTTP answer omits the record's length bytes and message head",
        breaks=_TRACE,
        settings=_answer_with(lambda stored: _plus(stored, rawsize=stored.size - 30)),
    ),
    missing(
        "http-trace-without-status",
        "the HTTP answer to a traced message has no status",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings=_answer_with(lambda stored: _without(stored, "status")),
    ),
    wrong_value(
        "http-trace-id-of-the-next",
        "id in the HTTP answer to a traced message is that of the next message",
        breaks=_TRACE,
        settings=_answer_with(lambda stored: _plus(stored, id=stored.internal_id + 1)),
    ),
    boundary(
        "http-trace-id-of-63-bits",
        "trace ids from 2^63 on are negative in the HTTP answer",
        breaks=_TRACE,
        settings=_answer_with(
            lambda stored: _plus(stored, trace_id=str((stored.trace_id ^ (1 << 63)) - (1 << 63)))
        ),
    ),
    wrong_value(
        "http-trace-offset-of-the-end",
        "queue_offset in the HTTP answer is the end of the message instead of its beginning",
        breaks=_TRACE,
        settings=_answer_with(
            lambda stored: _plus(stored, queue_offset=stored.offset + 2 * stored.size)
        ),
    ),
    wrong_value(
        "http-trace-field-renamed",
        "rawsize is called raw_size in the HTTP answer to a traced message",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings=_answer_with(lambda stored: _rename_key(stored, "rawsize", "raw_size")),
    ),
    missing(
        "http-trace-not-answered",
        "a traced message published over HTTP is answered with OK alone",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings={"http.header": _no_trace},
    ),
    wrong_value(
        "http-trace-empty-is-zero",
        "an empty trace id over HTTP is read as trace id 0",
        breaks=_EMPTY,
        settings={"http.header": reader(trace=empty_is_zero)},
    ),
    missing(
        "http-trace-empty-fails",
        "a message with an empty trace id over HTTP is refused",
        breaks=_EMPTY,
        settings={"http.header": reader(trace=empty_fails)},
    ),
    condition(
        "http-trace-empty-beside-others",
        "over HTTP, a header with an empty trace id and other names is answered as a traced "
        "message",
        breaks=_EMPTY,
        settings={"http.header": empty_beside_others},
    ),
)
