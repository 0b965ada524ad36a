"""Faults of publishing with a header over HTTP."""

import json
from collections.abc import Callable
from typing import cast
from urllib.parse import unquote_plus

from msgspec.structs import replace

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Topic
from wireproof_reference_impl.nsq.http import publish
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    MISSING,
    WRONG_VALUE,
    Preset,
    fault,
)
from wireproof_reference_impl.nsq.requests import http_header
from wireproof_reference_impl.nsq.requests.http_header import Fields, collect_added, compact
from wireproof_reference_impl.nsq.requests.http_request import Answer, Request
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.go_text import marshal
from wireproof_reference_impl.nsq.wire.header import Header, checked_object, reader
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_spec.strict_json import JsonValue

Object = dict[str, JsonValue]


def _merge_with(merge: Callable[[Object, Fields], object]) -> Settings:
    """Return settings that change how ext and request headers are merged."""

    def build(ext: bytes, extra: Fields) -> bytes:
        fields = checked_object(ext)
        header.check_values(fields)
        return compact(merge(fields, extra))

    return {"http.build_header": build}


def _take_wrong(wrong: Callable[[bytes], bool], stored: bytes = b"{}") -> Settings:
    """Return settings under which an ext that passes a test is replaced by another one."""

    def build(ext: bytes, extra: Fields) -> bytes:
        return http_header.make_stored(stored if wrong(ext) else ext, extra)

    return {"http.build_header": build}


def _entry(change: Callable[[NewMessage], NewMessage]) -> tuple[Override, ...]:
    """Return overrides under which another message is stored."""

    def wrap(original: Callable[..., object]) -> Callable[..., object]:
        def ext_entry(request: Request, stored_header: bytes, header: Header) -> NewMessage:
            return change(cast(NewMessage, original(request, stored_header, header)))

        return ext_entry

    return (Override(publish, "ext_entry", wrap),)


def _status_202(original: Callable[..., object]) -> Callable[..., object]:
    def untraced_answer(node: Node, request: Request) -> Answer:
        return replace(cast(Answer, original(node, request)), status=202)

    return untraced_answer


def _spell(extra: Fields) -> Object:
    """Return request headers with their names in the spelling of the request."""
    return {name.decode("latin-1"): http_header.text(value) for name, value in extra}


def _as_numbers(extra: Fields) -> Object:
    fields = collect_added(extra)
    return {name: int(value) if value.isdigit() else value for name, value in fields.items()}


def _upper_prefix_only(extra: Fields) -> Object:
    return {name: value for name, value in collect_added(extra).items() if len(name) > 1}


def _unescaped_again(ext: bytes, extra: Fields) -> bytes:
    twice = unquote_plus(ext.decode("utf-8", "surrogateescape"), errors="surrogateescape")
    return http_header.make_stored(twice.encode("utf-8", "surrogateescape"), extra)


def _digits_as_numbers(fields: Object) -> Object:
    """Turn values of digits into numbers, except for internal names."""
    return {
        name: int(value) if name[:1] != "#" and str(value).isdigit() else value
        for name, value in fields.items()
        if isinstance(value, str)
    }


def _numbers_through_floats(ext: bytes, extra: Fields) -> bytes:
    """Accept any JSON values, with numbers as floats."""
    checked_object(ext)
    return marshal({**json.loads(ext), **collect_added(extra)}).encode()


def _is_json(ext: bytes) -> bool:
    try:
        json.loads(ext.decode())
    except ValueError:
        return False
    return True


def _first_partition(request: Request) -> int | None:
    return None


def _taken_anywhere(topic: Topic) -> None:
    """Accept a header on every kind of topic."""


_LONGEST = 65535
_ACCEPT = "http.accept"
_STORED = "http.header-stored"
_EXACT = "http.value-exact"
_X = "http.x-nsqext"
_JSON = "http.header-json"

_ANY_VALUES = {"http.header": reader(values=lambda fields: None)}

FAULTS: tuple[Preset, ...] = (
    fault(
        "http-answer-in-lower-case",
        "a successful HTTP publish is answered with ok in lower case",
        way=WRONG_VALUE,
        breaks=_ACCEPT,
        may_break=(
            "http.header-json http.header-stored http.trace-empty http.value-exact "
            "http.x-nsqext http.x-nsqext-override parser.header-length"
        ),
        settings={"http.ok": b"ok"},
    ),
    fault(
        "http-status-202",
        "a successful HTTP publish is answered with status 202",
        way=WRONG_VALUE,
        breaks=_ACCEPT,
        may_break=(
            "http.header-json http.header-stored http.trace-empty http.value-exact "
            "http.x-nsqext http.x-nsqext-override parser.header-length"
        ),
        overrides=(Override(publish, "untraced_answer", _status_202),),
    ),
    fault(
        "http-answer-empty",
        "a successful HTTP publish is answered with an empty body",
        way=MISSING,
        breaks=_ACCEPT,
        may_break="http.header-json http.trace-empty parser.header-length",
        settings={"http.ok": b""},
    ),
    fault(
        "http-body-cut",
        "the last byte of a message published over HTTP is lost",
        way=BOUNDARY,
        breaks=_ACCEPT,
        may_break="dispatch.to-matching http.header-stored http.value-exact http.x-nsqext",
        overrides=_entry(lambda entry: entry._replace(body=entry.body[:-1] or b"?")),
    ),
    fault(
        "http-body-unescaped",
        "percent and plus signs in a message published over HTTP are decoded as URL escapes",
        way=WRONG_VALUE,
        breaks=_ACCEPT,
        overrides=_entry(
            lambda entry: entry._replace(
                body=unquote_plus(entry.body.decode("latin-1"), "latin-1").encode("latin-1")
            )
        ),
    ),
    fault(
        "http-header-lost",
        "a header published over HTTP in the parameter ext is validated but not stored",
        way=MISSING,
        breaks=f"{_STORED} {_X}",
        may_break="http.accept http.value-exact http.x-nsqext-override parser.header-length",
        overrides=_entry(lambda entry: entry._replace(header=None)),
    ),
    fault(
        "http-header-emptied",
        "a header published over HTTP is stored as an empty JSON object",
        way=MISSING,
        breaks=f"{_STORED} {_X}",
        may_break="http.value-exact http.x-nsqext-override parser.header-length",
        overrides=_entry(lambda entry: entry._replace(header=b"{}")),
    ),
    fault(
        "http-header-first-name",
        "only the first name of the HTTP parameter ext is stored",
        way=BOUNDARY,
        breaks=_STORED,
        may_break="http.value-exact",
        settings=_merge_with(
            lambda fields, extra: dict([*fields.items()][:1]) | collect_added(extra)
        ),
    ),
    fault(
        "http-header-lower-case",
        "names in the HTTP parameter ext are stored in lower case",
        way=WRONG_VALUE,
        breaks=_STORED,
        may_break="http.value-exact",
        settings=_merge_with(
            lambda fields, extra: {k.lower(): v for k, v in fields.items()} | collect_added(extra)
        ),
    ),
    fault(
        "http-header-as-text",
        "the HTTP parameter ext is stored as a JSON string instead of an object",
        way=WRONG_VALUE,
        breaks=_STORED,
        may_break="http.value-exact http.x-nsqext http.x-nsqext-override parser.header-length",
        overrides=_entry(
            lambda entry: entry._replace(header=compact((entry.header or b"").decode())[:_LONGEST])
        ),
    ),
    fault(
        "http-unescaped-twice",
        "the HTTP parameter ext is URL-decoded twice",
        way=WRONG_VALUE,
        breaks=_EXACT,
        may_break="http.header-json",
        settings={"http.build_header": _unescaped_again},
    ),
    fault(
        "http-digits-as-numbers",
        "values in the HTTP parameter ext that consist of digits are stored as numbers",
        way=CONDITION,
        breaks=_STORED,
        may_break=_EXACT,
        settings={
            **_merge_with(lambda fields, extra: _digits_as_numbers(fields) | collect_added(extra)),
            **_ANY_VALUES,
        },
    ),
    fault(
        "http-numbers-through-floats",
        "numbers in the HTTP parameter ext are accepted and stored as the nearest float",
        way=BOUNDARY,
        breaks=_EXACT,
        settings={"http.build_header": _numbers_through_floats, **_ANY_VALUES},
    ),
    fault(
        "x-nsqext-case-kept",
        "names from X-NSQEXT- request headers are stored with their letter case as sent",
        way=WRONG_VALUE,
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override",
        settings=_merge_with(lambda fields, extra: fields | _spell(extra)),
    ),
    fault(
        "x-nsqext-overlooked",
        "X-NSQEXT- request headers are ignored",
        way=MISSING,
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override publish.header-name",
        settings=_merge_with(lambda fields, extra: fields),
    ),
    fault(
        "x-nsqext-as-numbers",
        "values of X-NSQEXT- request headers that consist of digits are stored as numbers",
        way=CONDITION,
        breaks=_X,
        may_break="http.value-exact",
        settings={
            **_merge_with(lambda fields, extra: fields | _as_numbers(extra)),
            **_ANY_VALUES,
        },
    ),
    fault(
        "x-nsqext-first-only",
        "only the first X-NSQEXT- request header is stored",
        way=BOUNDARY,
        breaks=_X,
        may_break="http.value-exact",
        settings=_merge_with(lambda fields, extra: fields | collect_added(extra[:1])),
    ),
    fault(
        "x-nsqext-instead-of-ext",
        "X-NSQEXT- request headers replace the parameter ext instead of being added to it",
        way=WRONG_VALUE,
        breaks=_X,
        may_break="http.value-exact",
        settings=_merge_with(lambda fields, extra: collect_added(extra) if extra else fields),
    ),
    fault(
        "x-nsqext-with-prefix",
        "X-NSQEXT- request headers are stored with the prefix in their name",
        way=WRONG_VALUE,
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override",
        settings=_merge_with(
            lambda fields, extra: (
                fields | {f"x-nsqext-{k}": v for k, v in collect_added(extra).items()}
            )
        ),
    ),
    fault(
        "x-nsqext-not-one-letter",
        "X-NSQEXT- request headers with a name of one letter after the prefix are ignored",
        way=BOUNDARY,
        breaks=_X,
        may_break="http.value-exact http.x-nsqext-override",
        settings=_merge_with(lambda fields, extra: fields | _upper_prefix_only(extra)),
    ),
    fault(
        "http-ext-text",
        "an HTTP parameter ext that is not JSON is read as an empty object",
        way=MISSING,
        breaks=_JSON,
        settings=_take_wrong(lambda ext: ext[:1].isalpha() and not _is_json(ext)),
    ),
    fault(
        "http-ext-array",
        "an HTTP parameter ext that is JSON but not an object is read as an empty object",
        way=WRONG_VALUE,
        breaks=_JSON,
        may_break="http.header-stored",
        settings=_take_wrong(lambda ext: _is_json(ext) and not ext.startswith((b"{", b"null"))),
    ),
    fault(
        "http-ext-cut",
        "an HTTP parameter ext that ends too early is read as an empty object",
        way=BOUNDARY,
        breaks=_JSON,
        settings=_take_wrong(lambda ext: ext.startswith(b"{") and not ext.endswith(b"}")),
    ),
    fault(
        "http-plain-topic-takes-headers",
        "a header published over HTTP to a topic without ext support is dropped without an error",
        way=MISSING,
        breaks="http.plain-topic",
        overrides=(replace_function(publish, "check_support", _taken_anywhere),),
    ),
    fault(
        "http-partition-ignored",
        "a message published over HTTP goes to the first partition of the node, whatever it names",
        way=MISSING,
        breaks="http.accept",
        may_break=(
            "consume.layout consume.header-intact consume.body-intact consume.attempts "
            "consume.version consume.plain-topic dispatch.to-matching smart.order.layout "
            "smart.partition.own-messages"
        ),
        overrides=(replace_function(publish, "_partition_number", _first_partition),),
    ),
)
