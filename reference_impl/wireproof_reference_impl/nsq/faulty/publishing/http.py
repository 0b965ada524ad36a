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
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests import http_header
from wireproof_reference_impl.nsq.requests.http_header import Fields, collect_added, compact
from wireproof_reference_impl.nsq.requests.http_request import Answer, Request
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.go_text import marshal
from wireproof_reference_impl.nsq.wire.header import Header, checked_object, reader
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.strict_json import JsonValue

Object = dict[str, JsonValue]


def _merge_with(merge: Callable[[Object, Fields], object]) -> Settings:
    """Return settings that change how ext and request headers are merged."""

    def build(ext: bytes, extra: Fields) -> bytes:
        fields = checked_object(ext)
        header.check_values(fields)
        return compact(merge(fields, extra))

    return {"http.build_header": build}


def _change_values(change: Callable[[str], str]) -> Settings:
    """Return settings that change the string values in ext."""
    return _merge_with(
        lambda fields, extra: (
            {name: change(str(value)) for name, value in fields.items()} | collect_added(extra)
        )
    )


def _take_wrong(wrong: Callable[[bytes], bool], stored: bytes = b"{}") -> Settings:
    """Return settings under which an ext that passes a test is replaced by another one."""

    def build(ext: bytes, extra: Fields) -> bytes:
        return http_header.make_stored(stored if wrong(ext) else ext, extra)

    return {"http.build_header": build}


def _entry(change: Callable[[NewMessage], NewMessage]) -> tuple[Override, ...]:
    """Return overrides under which another message is stored."""

    def ext_entry(
        original: Original, request: Request, stored_header: bytes, header: Header
    ) -> NewMessage:
        return change(cast(NewMessage, original(request, stored_header, header)))

    return (around(publish, "ext_entry", ext_entry),)


def _status_202(original: Original, node: Node, request: Request) -> Answer:
    return replace(cast(Answer, original(node, request)), status=202)


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
_ODD = "http.odd-value"
_X = "http.x-nsqext"
_JSON = "http.header-json"

_ANY_VALUES = {"http.header": reader(values=lambda fields: None)}

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "http-answer-in-lower-case",
        "a successful HTTP publish is answered with ok in lower case",
        breaks=_ACCEPT,
        may_break=(
            "http.header-json http.header-stored http.trace-empty http.odd-value http.value-exact "
            "http.x-nsqext http.x-nsqext-override parser.header-length"
        ),
        settings={"http.ok": b"ok"},
    ),
    wrong_value(
        "http-status-202",
        "a successful HTTP publish is answered with status 202",
        breaks=_ACCEPT,
        may_break=(
            "http.header-json http.header-stored http.trace-empty http.odd-value http.value-exact "
            "http.x-nsqext http.x-nsqext-override parser.header-length"
        ),
        overrides=(around(publish, "untraced_answer", _status_202),),
    ),
    missing(
        "http-answer-empty",
        "a successful HTTP publish is answered with an empty body",
        breaks=_ACCEPT,
        may_break="http.header-json http.trace-empty parser.header-length",
        settings={"http.ok": b""},
    ),
    boundary(
        "http-body-cut",
        "the last byte of a message published over HTTP is lost",
        breaks=_ACCEPT,
        may_break=(
            "dispatch.to-matching http.header-stored http.odd-value http.value-exact http.x-nsqext"
        ),
        overrides=_entry(lambda entry: entry._replace(body=entry.body[:-1] or b"?")),
    ),
    wrong_value(
        "http-body-unescaped",
        "percent and plus signs in a message published over HTTP are decoded as URL escapes",
        breaks=_ACCEPT,
        overrides=_entry(
            lambda entry: entry._replace(
                body=unquote_plus(entry.body.decode("latin-1"), "latin-1").encode("latin-1")
            )
        ),
    ),
    missing(
        "http-header-lost",
        "a header published over HTTP in the parameter ext is validated but not stored",
        breaks=f"{_STORED} {_X}",
        may_break=(
            "http.accept http.odd-value http.value-exact http.x-nsqext-override "
            "parser.header-length"
        ),
        overrides=_entry(lambda entry: entry._replace(header=None)),
    ),
    missing(
        "http-header-emptied",
        "a header published over HTTP is stored as an empty JSON object",
        breaks=f"{_STORED} {_X}",
        may_break="http.odd-value http.value-exact http.x-nsqext-override parser.header-length",
        overrides=_entry(lambda entry: entry._replace(header=b"{}")),
    ),
    boundary(
        "http-header-first-name",
        "only the first name of the HTTP parameter ext is stored",
        breaks=_STORED,
        may_break="http.odd-value http.value-exact",
        settings=_merge_with(
            lambda fields, extra: dict([*fields.items()][:1]) | collect_added(extra)
        ),
    ),
    wrong_value(
        "http-header-lower-case",
        "names in the HTTP parameter ext are stored in lower case",
        breaks=_STORED,
        may_break="http.odd-value http.value-exact",
        settings=_merge_with(
            lambda fields, extra: {k.lower(): v for k, v in fields.items()} | collect_added(extra)
        ),
    ),
    wrong_value(
        "http-header-as-text",
        "the HTTP parameter ext is stored as a JSON string instead of an object",
        breaks=_STORED,
        may_break=(
            "http.odd-value http.value-exact http.x-nsqext http.x-nsqext-override "
            "parser.header-length"
        ),
        overrides=_entry(
            lambda entry: entry._replace(header=compact((entry.header or b"").decode())[:_LONGEST])
        ),
    ),
    wrong_value(
        "http-unescaped-twice",
        "the HTTP parameter ext is URL-decoded twice",
        breaks=_EXACT,
        may_break="http.header-json",
        settings={"http.build_header": _unescaped_again},
    ),
    boundary(
        "http-value-cut-at-nul",
        "values in the HTTP parameter ext are truncated at a NUL character",
        breaks=_EXACT,
        settings=_change_values(lambda value: value.partition("\0")[0]),
    ),
    missing(
        "http-value-without-controls",
        "control characters in values of the HTTP parameter ext are dropped",
        breaks=_EXACT,
        settings=_change_values(lambda value: "".join(c for c in value if c >= " ")),
    ),
    condition(
        "http-value-of-16-bits",
        "characters beyond U+FFFF in values of the HTTP parameter ext are replaced",
        breaks=_EXACT,
        settings=_change_values(
            lambda value: "".join(c if c <= "\uffff" else "\ufffd" for c in value)
        ),
    ),
    condition(
        "http-digits-as-numbers",
        "values in the HTTP parameter ext that consist of digits are stored as numbers",
        breaks=_STORED,
        may_break=_EXACT,
        settings={
            **_merge_with(lambda fields, extra: _digits_as_numbers(fields) | collect_added(extra)),
            **_ANY_VALUES,
        },
    ),
    boundary(
        "http-numbers-through-floats",
        "numbers in the HTTP parameter ext are accepted and stored as the nearest float",
        breaks=_ODD,
        settings={"http.build_header": _numbers_through_floats, **_ANY_VALUES},
    ),
    wrong_value(
        "x-nsqext-case-kept",
        "names from X-NSQEXT- request headers are stored with their letter case as sent",
        breaks=_X,
        may_break="http.odd-value http.value-exact http.x-nsqext-override",
        settings=_merge_with(lambda fields, extra: fields | _spell(extra)),
    ),
    missing(
        "x-nsqext-overlooked",
        "X-NSQEXT- request headers are ignored",
        breaks=_X,
        may_break="http.odd-value http.value-exact http.x-nsqext-override publish.header-name",
        settings=_merge_with(lambda fields, extra: fields),
    ),
    condition(
        "x-nsqext-as-numbers",
        "values of X-NSQEXT- request headers that consist of digits are stored as numbers",
        breaks=_X,
        may_break="http.odd-value http.value-exact",
        settings={
            **_merge_with(lambda fields, extra: fields | _as_numbers(extra)),
            **_ANY_VALUES,
        },
    ),
    boundary(
        "x-nsqext-first-only",
        "only the first X-NSQEXT- request header is stored",
        breaks=_X,
        may_break="http.odd-value http.value-exact",
        settings=_merge_with(lambda fields, extra: fields | collect_added(extra[:1])),
    ),
    wrong_value(
        "x-nsqext-instead-of-ext",
        "X-NSQEXT- request headers replace the parameter ext instead of being added to it",
        breaks=_X,
        may_break="http.odd-value http.value-exact",
        settings=_merge_with(lambda fields, extra: collect_added(extra) if extra else fields),
    ),
    wrong_value(
        "x-nsqext-with-prefix",
        "X-NSQEXT- request headers are stored with the prefix in their name",
        breaks=_X,
        may_break="http.odd-value http.value-exact http.x-nsqext-override",
        settings=_merge_with(
            lambda fields, extra: (
                fields | {f"x-nsqext-{k}": v for k, v in collect_added(extra).items()}
            )
        ),
    ),
    boundary(
        "x-nsqext-not-one-letter",
        "X-NSQEXT- request headers with a name of one letter after the prefix are ignored",
        breaks=_X,
        may_break="http.odd-value http.value-exact http.x-nsqext-override",
        settings=_merge_with(lambda fields, extra: fields | _upper_prefix_only(extra)),
    ),
    missing(
        "http-ext-text",
        "an HTTP parameter ext that is not JSON is read as an empty object",
        breaks=_JSON,
        settings=_take_wrong(lambda ext: ext[:1].isalpha() and not _is_json(ext)),
    ),
    wrong_value(
        "http-ext-array",
        "an HTTP parameter ext that is JSON but not an object is read as an empty object",
        breaks=_JSON,
        may_break="http.header-stored",
        settings=_take_wrong(lambda ext: _is_json(ext) and not ext.startswith((b"{", b"null"))),
    ),
    boundary(
        "http-ext-cut",
        "an HTTP parameter ext that ends too early is read as an empty object",
        breaks=_JSON,
        settings=_take_wrong(lambda ext: ext.startswith(b"{") and not ext.endswith(b"}")),
    ),
    missing(
        "http-plain-topic-takes-headers",
        "a header published over HTTP to a topic without ext support is dropped without an error",
        breaks="http.plain-topic",
        overrides=(replace_function(publish, "check_support", _taken_anywhere),),
    ),
    missing(
        "http-partition-ignored",
        "a message published over HTTP goes to the first partition of the node, whatever it names",
        breaks="http.accept",
        may_break=(
            "http.header-stored http.odd-value http.trace-response http.value-exact http.x-nsqext "
            "http.x-nsqext-override parser.header-length "
            "consume.layout consume.header-intact consume.body-intact consume.attempts "
            "consume.version consume.plain-topic dispatch.to-matching smart.order.layout "
            "smart.partition.own-messages"
        ),
        overrides=(replace_function(publish, "_partition_number", _first_partition),),
    ),
)
