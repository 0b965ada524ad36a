"""Faults of publishing with a header over HTTP."""

import json
from collections.abc import Callable
from urllib.parse import unquote_plus

from wireproof_reference_impl.nsq import http_header
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core import header
from wireproof_reference_impl.nsq.core.go_text import marshalled
from wireproof_reference_impl.nsq.core.header import Header, checked_object, reader
from wireproof_reference_impl.nsq.core.message import Entry, Stored
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.faults_trace import (
    empty_beside_others,
    empty_fails,
    empty_is_zero,
)
from wireproof_reference_impl.nsq.http_header import Fields, added, compact, trace_answer
from wireproof_reference_impl.nsq.preset import Preset, fault
from wireproof_spec.strict_json import JsonValue

Object = dict[str, JsonValue]


def _merged(merge: Callable[[Object, Fields], object]) -> Settings:
    """Return settings under which ext and request headers are put together so."""

    def build(ext: bytes, extra: Fields) -> bytes:
        fields = checked_object(ext)
        header.check_values(fields)
        return compact(merge(fields, extra))

    return {"http.build_header": build}


def _taking(wrong: Callable[[bytes], bool], stored: bytes = b"{}") -> Settings:
    """Return settings under which an ext that passes a test is taken for another one."""

    def build(ext: bytes, extra: Fields) -> bytes:
        return http_header.published(stored if wrong(ext) else ext, extra)

    return {"http.build_header": build}


def _answered(change: Callable[[Stored], dict[str, object]]) -> Settings:
    return {"http.trace_answer": change}


def _entry(change: Callable[[Entry], Entry]) -> Settings:
    return {"http.entry": change}


def _plus(stored: Stored, **other: object) -> dict[str, object]:
    return {**trace_answer(stored), **other}


def _without(stored: Stored, name: str) -> dict[str, object]:
    fields = trace_answer(stored)
    del fields[name]
    return fields


def _renamed(stored: Stored, old: str, new: str) -> dict[str, object]:
    return {new if name == old else name: value for name, value in trace_answer(stored).items()}


def _spelled(extra: Fields) -> Object:
    """Return request headers with their names as they were spelled."""
    return {name.decode("latin-1"): http_header.text(value) for name, value in extra}


def _as_numbers(extra: Fields) -> Object:
    fields = added(extra)
    return {name: int(value) if value.isdigit() else value for name, value in fields.items()}


def _upper_prefix_only(extra: Fields) -> Object:
    return {name: value for name, value in added(extra).items() if len(name) > 1}


def _unescaped_again(ext: bytes, extra: Fields) -> bytes:
    return http_header.published(unquote_plus(ext.decode()).encode(), extra)


def _digits_as_numbers(fields: Object) -> Object:
    """Turn values of digits into numbers, but for those of internal names."""
    return {
        name: int(value) if name[:1] != "#" and str(value).isdigit() else value
        for name, value in fields.items()
        if isinstance(value, str)
    }


def _numbers_through_floats(ext: bytes, extra: Fields) -> bytes:
    """Take any values, numbers as floats."""
    checked_object(ext)
    return marshalled({**json.loads(ext), **added(extra)}).encode()


def _is_json(ext: bytes) -> bool:
    try:
        json.loads(ext.decode())
    except ValueError:
        return False
    return True


def _no_trace(data: bytes) -> Header:
    return header.published(data)._replace(trace_id=None)


def _taken_anywhere(data: bytes, topic: TopicKind) -> bool:
    return True


_ACCEPT = "http.accept"
_STORED = "http.header-stored"
_EXACT = "http.value-exact"
_X = "http.x-nsqext"
_TRACE = "http.trace-response"
_EMPTY = "http.trace-empty"
_JSON = "http.header-json"

_ANY_VALUES = {"http.header": reader(values=lambda fields: None)}

FAULTS: tuple[Preset, ...] = (
    fault(
        "http-answer-in-lower-case",
        "success over HTTP is answered with ok",
        breaks=_ACCEPT,
        may_break=(
            "http.header-json http.header-stored http.trace-empty http.value-exact "
            "http.x-nsqext http.x-nsqext-override parser.header-length"
        ),
        settings={"http.ok": b"ok"},
    ),
    fault(
        "http-status-202",
        "success over HTTP has status 202",
        breaks=_ACCEPT,
        may_break=(
            "http.header-json http.header-stored http.trace-empty http.value-exact "
            "http.x-nsqext http.x-nsqext-override parser.header-length"
        ),
        settings={"http.ok_status": 202},
    ),
    fault(
        "http-answer-empty",
        "success over HTTP has an empty answer",
        breaks=_ACCEPT,
        may_break="http.header-json http.trace-empty parser.header-length",
        settings={"http.ok": b""},
    ),
    fault(
        "http-body-cut",
        "the last byte of the request body is lost",
        breaks=_ACCEPT,
        may_break="dispatch.to-matching http.header-stored http.value-exact http.x-nsqext",
        settings=_entry(lambda entry: entry._replace(body=entry.body[:-1] or b"?")),
    ),
    fault(
        "http-body-unescaped",
        "percent signs and plus signs in the request body are taken for escapes",
        breaks=_ACCEPT,
        settings=_entry(
            lambda entry: entry._replace(
                body=unquote_plus(entry.body.decode("latin-1"), "latin-1").encode("latin-1")
            )
        ),
    ),
    fault(
        "http-header-lost",
        "ext is read and not stored",
        breaks=f"{_STORED} {_X}",
        may_break="http.accept http.value-exact http.x-nsqext-override parser.header-length",
        settings=_entry(lambda entry: entry._replace(header=None)),
    ),
    fault(
        "http-header-emptied",
        "the header stored has no names",
        breaks=f"{_STORED} {_X}",
        may_break="http.value-exact http.x-nsqext-override parser.header-length",
        settings=_entry(lambda entry: entry._replace(header=b"{}")),
    ),
    fault(
        "http-header-first-name",
        "only the first name of ext is stored",
        breaks=_STORED,
        may_break="http.value-exact",
        settings=_merged(lambda fields, extra: dict([*fields.items()][:1]) | added(extra)),
    ),
    fault(
        "http-header-lower-case",
        "the names of ext are stored in lower case",
        breaks=_STORED,
        may_break="http.value-exact",
        settings=_merged(
            lambda fields, extra: {k.lower(): v for k, v in fields.items()} | added(extra)
        ),
    ),
    fault(
        "http-header-as-text",
        "ext is stored as a JSON string",
        breaks=_STORED,
        may_break="http.value-exact http.x-nsqext http.x-nsqext-override parser.header-length",
        settings=_entry(
            lambda entry: entry._replace(header=compact((entry.header or b"").decode()))
        ),
    ),
    fault(
        "http-unescaped-twice",
        "ext is unescaped once more than it was escaped",
        breaks=_EXACT,
        may_break="http.header-json",
        settings={"http.build_header": _unescaped_again},
    ),
    fault(
        "http-digits-as-numbers",
        "values of digits are stored as numbers",
        breaks=_STORED,
        may_break=_EXACT,
        settings={
            **_merged(lambda fields, extra: _digits_as_numbers(fields) | added(extra)),
            **_ANY_VALUES,
        },
    ),
    fault(
        "http-numbers-through-floats",
        "numbers in ext are taken and stored as the nearest float",
        breaks=_EXACT,
        settings={"http.build_header": _numbers_through_floats, **_ANY_VALUES},
    ),
    fault(
        "x-nsqext-case-kept",
        "the names of request headers are stored as they were spelled",
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override",
        settings=_merged(lambda fields, extra: fields | _spelled(extra)),
    ),
    fault(
        "x-nsqext-overlooked",
        "request headers are not added",
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override publish.header-name",
        settings=_merged(lambda fields, extra: fields),
    ),
    fault(
        "x-nsqext-as-numbers",
        "values of digits in request headers are stored as numbers",
        breaks=_X,
        may_break="http.value-exact",
        settings={
            **_merged(lambda fields, extra: fields | _as_numbers(extra)),
            **_ANY_VALUES,
        },
    ),
    fault(
        "x-nsqext-first-only",
        "only the first request header is added",
        breaks=_X,
        may_break="http.value-exact",
        settings=_merged(lambda fields, extra: fields | added(extra[:1])),
    ),
    fault(
        "x-nsqext-instead-of-ext",
        "request headers take the place of ext",
        breaks=_X,
        may_break="http.value-exact",
        settings=_merged(lambda fields, extra: added(extra) if extra else fields),
    ),
    fault(
        "x-nsqext-with-prefix",
        "request headers are stored under their whole name",
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override",
        settings=_merged(
            lambda fields, extra: fields | {f"x-nsqext-{k}": v for k, v in added(extra).items()}
        ),
    ),
    fault(
        "x-nsqext-not-one-letter",
        "request headers with a name of one letter are not added",
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override",
        settings=_merged(lambda fields, extra: fields | _upper_prefix_only(extra)),
    ),
    fault(
        "http-trace-id-as-number",
        "trace_id in the answer is a number",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings=_answered(lambda stored: _plus(stored, trace_id=stored.trace_id)),
    ),
    fault(
        "http-rawsize-without-header",
        "rawsize leaves the record's 4 length bytes and head out",
        breaks=_TRACE,
        settings=_answered(lambda stored: _plus(stored, rawsize=stored.size - 30)),
    ),
    fault(
        "http-trace-without-status",
        "the answer to a traced message has no status",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings=_answered(lambda stored: _without(stored, "status")),
    ),
    fault(
        "http-trace-id-of-the-next",
        "id in the answer is that of the next message",
        breaks=_TRACE,
        settings=_answered(lambda stored: _plus(stored, id=stored.internal_id + 1)),
    ),
    fault(
        "http-trace-id-of-63-bits",
        "trace ids from 2^63 on are negative in the answer",
        breaks=_TRACE,
        settings=_answered(
            lambda stored: _plus(stored, trace_id=str((stored.trace_id ^ (1 << 63)) - (1 << 63)))
        ),
    ),
    fault(
        "http-trace-offset-of-the-end",
        "queue_offset in the answer lies behind the message",
        breaks=_TRACE,
        settings=_answered(
            lambda stored: _plus(stored, queue_offset=stored.offset + 2 * stored.size)
        ),
    ),
    fault(
        "http-trace-field-renamed",
        "rawsize is called raw_size",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings=_answered(lambda stored: _renamed(stored, "rawsize", "raw_size")),
    ),
    fault(
        "http-trace-not-answered",
        "a traced message is answered with OK alone",
        breaks=_TRACE,
        may_break="http.x-nsqext",
        settings={"http.header": _no_trace},
    ),
    fault(
        "http-trace-empty-is-zero",
        "an empty trace id over HTTP counts as trace id 0",
        breaks=_EMPTY,
        settings={"http.header": reader(trace=empty_is_zero)},
    ),
    fault(
        "http-trace-empty-fails",
        "an empty trace id over HTTP fails",
        breaks=_EMPTY,
        settings={"http.header": reader(trace=empty_fails)},
    ),
    fault(
        "http-trace-empty-beside-others",
        "an empty trace id beside other names is answered as a traced message",
        breaks=_EMPTY,
        settings={"http.header": empty_beside_others},
    ),
    fault(
        "http-ext-text",
        "an ext that is no JSON at all is taken for an empty one",
        breaks=_JSON,
        settings=_taking(lambda ext: ext[:1].isalpha() and not _is_json(ext)),
    ),
    fault(
        "http-ext-array",
        "an ext that is JSON but no object is taken for an empty one",
        breaks=_JSON,
        may_break="http.header-stored",
        settings=_taking(lambda ext: _is_json(ext) and not ext.startswith((b"{", b"null"))),
    ),
    fault(
        "http-ext-cut",
        "an ext that ends too early is taken for an empty one",
        breaks=_JSON,
        settings=_taking(lambda ext: ext.startswith(b"{") and not ext.endswith(b"}")),
    ),
    fault(
        "http-plain-topic-takes-headers",
        "a header published over HTTP on a plain topic is lost silently",
        breaks="http.plain-topic",
        settings={"http.takes_header": _taken_anywhere},
    ),
)
