"""Faults of publishing with a header over HTTP."""

import json
from collections.abc import Callable
from urllib.parse import unquote_plus

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Topic
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.http import publish
from wireproof_reference_impl.nsq.requests import http_header
from wireproof_reference_impl.nsq.requests.http_header import Fields, collect_added, compact
from wireproof_reference_impl.nsq.requests.http_request import Answer, Request
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.go_text import marshal
from wireproof_reference_impl.nsq.wire.header import Header, checked_object, reader
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG
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
        return change(original(request, stored_header, header))

    return (around(publish, "ext_entry", ext_entry),)


def _is_json(ext: bytes) -> bool:
    try:
        json.loads(ext.decode())
    except ValueError:
        return False
    return True


_LONGEST = 65535

_ANY_VALUES = {"http.header": reader(values=lambda fields: None)}


@wrong_value("http.accept")
def http_answer_in_lower_case() -> Change:
    """A successful HTTP publish is answered with ok in lower case."""
    return {"http.ok": b"ok"}


@wrong_value("http.accept", around(publish, "untraced_answer"))
def http_status_202(original: Original, node: Node, request: Request) -> Answer:
    """A successful HTTP publish is answered with status 202."""
    answer: Answer = original(node, request)
    return replace(answer, status=202)


@missing("http.accept")
def http_answer_empty() -> Change:
    """A successful HTTP publish is answered with an empty body."""
    return {"http.ok": b""}


@boundary("http.accept", _entry)
def http_body_cut(entry: NewMessage) -> NewMessage:
    """The last byte of a message published over HTTP is lost."""
    return entry._replace(body=entry.body[:-1] or b"?")


@wrong_value("http.accept", _entry)
def http_body_unescaped(entry: NewMessage) -> NewMessage:
    """Percent and plus signs in a message published over HTTP are decoded as URL escapes."""
    return entry._replace(
        body=unquote_plus(entry.body.decode("latin-1"), "latin-1").encode("latin-1")
    )


@missing("http.header-stored http.x-nsqext", _entry)
def http_header_lost(entry: NewMessage) -> NewMessage:
    """A header published over HTTP in the parameter ext is validated but not stored."""
    return entry._replace(header=None)


@missing("http.header-stored http.x-nsqext", _entry)
def http_header_emptied(entry: NewMessage) -> NewMessage:
    """A header published over HTTP is stored as an empty JSON object."""
    return entry._replace(header=b"{}")


@boundary("http.header-stored", _merge_with)
def http_header_first_name(fields: Object, extra: Fields) -> object:
    """Only the first name of the HTTP parameter ext is stored."""
    return dict([*fields.items()][:1]) | collect_added(extra)


@wrong_value("http.header-stored", _merge_with)
def http_header_lower_case(fields: Object, extra: Fields) -> object:
    """Names in the HTTP parameter ext are stored in lower case."""
    return {k.lower(): v for k, v in fields.items()} | collect_added(extra)


@wrong_value("http.header-stored", _entry)
def http_header_as_text(entry: NewMessage) -> NewMessage:
    """The HTTP parameter ext is stored as a JSON string instead of an object."""
    return entry._replace(header=compact((entry.header or b"").decode())[:_LONGEST])


@wrong_value("http.value-exact", setting("http.build_header"))
def http_unescaped_twice(ext: bytes, extra: Fields) -> bytes:
    """The HTTP parameter ext is URL-decoded twice."""
    twice = unquote_plus(ext.decode("utf-8", "surrogateescape"), errors="surrogateescape")
    return http_header.make_stored(twice.encode("utf-8", "surrogateescape"), extra)


@boundary("http.value-exact", _change_values)
def http_value_cut_at_nul(value: str) -> str:
    """Values in the HTTP parameter ext are truncated at a NUL character."""
    return value.partition("\0")[0]


@missing("http.value-exact", _change_values)
def http_value_without_controls(value: str) -> str:
    """Control characters in values of the HTTP parameter ext are dropped."""
    return "".join(c for c in value if c >= " ")


@condition("http.value-exact", _change_values)
def http_value_of_16_bits(value: str) -> str:
    """Characters beyond U+FFFF in values of the HTTP parameter ext are replaced."""
    return "".join(c if c <= "\uffff" else "\ufffd" for c in value)


def _digits_as_numbers(fields: Object) -> Object:
    """Turn values of digits into numbers, except for internal names."""
    return {
        name: int(value) if name[:1] != "#" and str(value).isdigit() else value
        for name, value in fields.items()
        if isinstance(value, str)
    }


@condition("http.header-stored")
def http_digits_as_numbers() -> Change:
    """Values in the HTTP parameter ext that consist of digits are stored as numbers."""
    return {
        **_merge_with(lambda fields, extra: _digits_as_numbers(fields) | collect_added(extra)),
        **_ANY_VALUES,
    }


def _numbers_through_floats(ext: bytes, extra: Fields) -> bytes:
    """Accept any JSON values, with numbers as floats."""
    checked_object(ext)
    return marshal({**json.loads(ext), **collect_added(extra)}).encode()


@boundary("http.odd-value")
def http_numbers_through_floats() -> Change:
    """Numbers in the HTTP parameter ext are accepted and stored as the nearest float."""
    return {"http.build_header": _numbers_through_floats, **_ANY_VALUES}


def _spell(extra: Fields) -> Object:
    """Return request headers with their names in the spelling of the request."""
    return {name.decode("latin-1"): http_header.text(value) for name, value in extra}


@wrong_value("http.x-nsqext", _merge_with)
def x_nsqext_case_kept(fields: Object, extra: Fields) -> object:
    """Names from X-NSQEXT- request headers are stored with their letter case as sent."""
    return fields | _spell(extra)


@missing("http.x-nsqext", _merge_with)
def x_nsqext_overlooked(fields: Object, extra: Fields) -> object:
    """X-NSQEXT- request headers are ignored."""
    return fields


def _as_numbers(extra: Fields) -> Object:
    fields = collect_added(extra)
    return {name: int(value) if value.isdigit() else value for name, value in fields.items()}


@condition("http.x-nsqext")
def x_nsqext_as_numbers() -> Change:
    """Values of X-NSQEXT- request headers that consist of digits are stored as numbers."""
    return {
        **_merge_with(lambda fields, extra: fields | _as_numbers(extra)),
        **_ANY_VALUES,
    }


@boundary("http.x-nsqext", _merge_with)
def x_nsqext_first_only(fields: Object, extra: Fields) -> object:
    """Only the first X-NSQEXT- request header is stored."""
    return fields | collect_added(extra[:1])


@condition("dispatch.to-matching", around(publish, "ext_entry"))
def x_nsqext_tag_unread(
    original: Original, request: Request, stored_header: bytes, header: Header
) -> NewMessage:
    """A tag in an X-NSQEXT- request header is stored, but decides nothing."""
    entry: NewMessage = original(request, stored_header, header)
    names = {name.lower() for name, _ in publish.extra_fields(request)}
    return entry._replace(tag=None) if CLIENT_DISPATCH_TAG.encode() in names else entry


@wrong_value("http.x-nsqext", _merge_with)
def x_nsqext_instead_of_ext(fields: Object, extra: Fields) -> object:
    """X-NSQEXT- request headers replace the parameter ext instead of being added to it."""
    return collect_added(extra) if extra else fields


@wrong_value("http.x-nsqext", _merge_with)
def x_nsqext_with_prefix(fields: Object, extra: Fields) -> object:
    """X-NSQEXT- request headers are stored with the prefix in their name."""
    return fields | {f"x-nsqext-{k}": v for k, v in collect_added(extra).items()}


def _upper_prefix_only(extra: Fields) -> Object:
    return {name: value for name, value in collect_added(extra).items() if len(name) > 1}


@boundary("http.x-nsqext", _merge_with)
def x_nsqext_not_one_letter(fields: Object, extra: Fields) -> object:
    """X-NSQEXT- request headers with a name of one letter after the prefix are ignored."""
    return fields | _upper_prefix_only(extra)


@missing("http.header-json", _take_wrong)
def http_ext_text(ext: bytes) -> bool:
    """An HTTP parameter ext that is not JSON is read as an empty object."""
    return ext[:1].isalpha() and not _is_json(ext)


@wrong_value("http.header-json", _take_wrong)
def http_ext_array(ext: bytes) -> bool:
    """An HTTP parameter ext that is JSON but not an object is read as an empty object."""
    return _is_json(ext) and not ext.startswith((b"{", b"null"))


@boundary("http.header-json", _take_wrong)
def http_ext_cut(ext: bytes) -> bool:
    """An HTTP parameter ext that ends too early is read as an empty object."""
    return ext.startswith(b"{") and not ext.endswith(b"}")


@missing("http.plain-topic", replace_function(publish, "check_support"))
def http_plain_topic_takes_headers(topic: Topic) -> None:
    """A header published over HTTP to a topic without ext support is dropped without an error."""


@missing("http.accept", replace_function(publish, "_partition_number"))
def http_partition_ignored(request: Request) -> int | None:
    """A message published over HTTP goes to the first partition of the node, whatever it names."""
    return None


FAULTS = list_faults(__name__)
