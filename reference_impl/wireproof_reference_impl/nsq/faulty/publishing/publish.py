"""Faults of PUB_EXT: which headers are accepted, which are refused, and with which codes."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import cast

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.faulty.consuming.consume import lose
from wireproof_reference_impl.nsq.faulty.shared_overrides import taking_header
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.header import Fields, Header, checked_object, reader
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import is_header_name
from wireproof_spec.strict_json import read as read_strictly

Test = Callable[[bytes], bool]


def _take_wrong(wrong: Test) -> Settings:
    """Return settings under which all headers that pass a test are accepted."""

    def read(data: bytes) -> Header:
        try:
            return header.published(data)
        except Refusal:
            if wrong(data):
                return Header()
            raise

    return {"publish.header": read}


def _refuse_unwanted(unwanted: Test) -> Settings:
    """Return settings under which all headers that pass a test are refused."""

    def read(data: bytes) -> Header:
        if unwanted(data):
            raise Refusal(error_codes.E_PUB_FAILED, "this header is not liked", fatal=False)
        return header.published(data)

    return {"publish.header": read}


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode())
    except ValueError:
        return False
    return True


def _is_cut(data: bytes) -> bool:
    return data.startswith(b"{") and not data.endswith(b"}")


def _has_tail(data: bytes) -> bool:
    try:
        _, end = json.JSONDecoder().raw_decode(data.decode())
    except ValueError:
        return False
    return end < len(data)


def _begins_well(data: bytes) -> bool:
    return data.startswith(b'{"k"')


def _lax(data: bytes) -> Fields:
    """Read an object without reporting faults in its JSON."""
    try:
        value = json.loads(data.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        raise header.refuse_header(str(error)) from error
    if not isinstance(value, dict):
        raise header.refuse_header("not an object")
    return cast(Fields, value)


def _overlook(*kinds: str) -> Callable[[bytes], Fields]:
    """Return a reader that ignores some kinds of JSON faults."""

    def parse(data: bytes) -> Fields:
        try:
            return checked_object(data)
        except Refusal:
            if not _is_json(data):
                raise
            read = read_strictly(data)
            if isinstance(read.value, dict) and {each.kind for each in read.faults} <= {*kinds}:
                return read.value
            raise

    return parse


def _do_nothing(fields: Fields) -> None:
    """Accept every header."""


def _first_character(fields: Fields) -> None:
    for name in fields:
        if not is_header_name(name[:1]):
            raise header.refuse_header("bad first character")


def _unknown_reserved(fields: Fields) -> None:
    for name in fields:
        if not is_header_name(name):
            raise header.refuse_header("bad name")


def _numbers(fields: Fields) -> None:
    for value in fields.values():
        if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
            raise header.refuse_header("neither text nor number")


def _first_is_text(fields: Fields) -> None:
    if not isinstance(next(iter(fields.values()), ""), str):
        raise header.refuse_header("not text")


def _not_null(fields: Fields) -> None:
    if None in fields.values():
        raise header.refuse_header("null")


def _taken_anywhere(data: bytes, topic: TopicKind) -> bool:
    return True


def _internal_taken_anywhere(data: bytes, topic: TopicKind) -> bool:
    return topic.extend or data.startswith(b'{"##')


def _lost_with_many_names(message: Message) -> bool:
    return message.header is not None and message.header.count(b'":"') > 10


def _lost_with_tag(message: Message) -> bool:
    return message.tag is not None


_ACCEPT = "publish.accept"
_JSON = "publish.header-json"
_NAME = "publish.header-name"
_VALUE = "publish.header-value"
_STRICT = "publish.header-strict"
_PLAIN = "publish.plain-topic"

FAULTS: tuple[Preset, ...] = (
    boundary(
        "accept-not-empty-object",
        "a header that is an empty JSON object is refused",
        breaks=_ACCEPT,
        settings=_refuse_unwanted(lambda data: data == b"{}"),
    ),
    wrong_value(
        "accept-not-signs",
        "header names with number signs or hyphens are refused",
        breaks=_ACCEPT,
        may_break="publish.ok-response",
        settings=_refuse_unwanted(lambda data: b"-" in data or b'"#' in data.replace(b'"##', b"")),
    ),
    wrong_value(
        "accept-not-escapes",
        "a header whose JSON has escapes is refused",
        breaks=_ACCEPT,
        may_break="publish.ok-response publish.trace-response",
        settings=_refuse_unwanted(lambda data: b"\\" in data),
    ),
    wrong_value(
        "accept-not-spaces",
        "a header with white space between its JSON tokens is refused",
        breaks=_ACCEPT,
        settings=_refuse_unwanted(lambda data: data[:1] in b" \t\r\n"),
    ),
    missing(
        "accept-but-lose-many-names",
        "a message whose header has more than ten names is answered OK and never delivered",
        breaks=_ACCEPT,
        may_break="consume.header-intact",
        overrides=lose(_lost_with_many_names),
    ),
    missing(
        "accept-but-lose-tagged",
        "a message with a dispatch tag is answered OK and never delivered",
        breaks="dispatch.to-matching dispatch.fallback",
        may_break=(
            "consume.batch consume.header-intact dispatch.leave dispatch.per-channel "
            "dispatch.shared-tag http.header-stored http.x-nsqext publish.accept "
            "publish.mpub-ext"
        ),
        overrides=lose(_lost_with_tag),
    ),
    missing(
        "header-anything",
        "PUB_EXT accepts any bytes as a header",
        breaks=f"{_JSON} {_NAME} {_STRICT}",
        may_break="publish.error-same-as-pub publish.reserved-name",
        settings=_take_wrong(lambda data: True),
    ),
    boundary(
        "header-cut",
        "a header whose JSON ends too early is accepted",
        breaks=_JSON,
        may_break="publish.error-same-as-pub",
        settings=_take_wrong(_is_cut),
    ),
    boundary(
        "header-with-tail",
        "bytes after the header's JSON value are ignored",
        breaks=_JSON,
        may_break="publish.header-name",
        settings=_take_wrong(_has_tail),
    ),
    boundary(
        "header-judged-by-its-beginning",
        "only the first bytes of the header are validated",
        breaks=_JSON,
        may_break="publish.header-name publish.header-strict publish.reserved-name",
        settings=_take_wrong(_begins_well),
    ),
    wrong_value(
        "header-text",
        "a header that is not JSON is accepted as text",
        breaks=_JSON,
        settings=_take_wrong(lambda data: data[:1].isalpha() and not _is_json(data)),
    ),
    wrong_value(
        "header-single-quotes",
        "single quotes are accepted in place of double quotes in a header",
        breaks=_JSON,
        settings=_take_wrong(lambda data: data.startswith(b"{'")),
    ),
    boundary(
        "header-byte-order-mark",
        "a byte order mark before the header is accepted",
        breaks=_JSON,
        settings=_take_wrong(lambda data: data.startswith(b"\xef\xbb\xbf")),
    ),
    missing(
        "name-not-checked",
        "header names may contain any character",
        breaks=_NAME,
        may_break="publish.reserved-name",
        settings={"publish.header": reader(names=_do_nothing)},
    ),
    boundary(
        "name-first-character-checked",
        "only the first character of a header name is validated",
        breaks=_NAME,
        may_break="publish.reserved-name",
        settings={"publish.header": reader(names=_first_character)},
    ),
    boundary(
        "name-may-be-empty",
        "an empty header name is accepted",
        breaks=_NAME,
        settings=_take_wrong(lambda data: _is_json(data) and b'"":' in data),
    ),
    wrong_value(
        "header-not-an-object",
        "a header that is JSON but not an object is accepted",
        breaks=_JSON,
        settings=_take_wrong(lambda data: _is_json(data) and not data.lstrip().startswith(b"{")),
    ),
    boundary(
        "value-first-checked",
        "only the first header value has to be a string",
        breaks=_VALUE,
        may_break="publish.header-strict",
        settings={"publish.header": reader(values=_first_is_text)},
    ),
    missing(
        "value-may-not-be-null",
        "every JSON type except null is accepted as a header value, not only strings",
        breaks=_VALUE,
        may_break="publish.header-strict",
        settings={"publish.header": reader(values=_not_null)},
    ),
    wrong_value(
        "value-may-be-number",
        "numbers are accepted as header values",
        breaks=_VALUE,
        settings={"publish.header": reader(values=_numbers)},
    ),
    missing(
        "strict-not-at-all",
        "duplicate names, control bytes, invalid UTF-8 and NaN are accepted in a header",
        breaks=_STRICT,
        settings={"publish.header": reader(parse=_lax)},
    ),
    condition(
        "strict-but-for-duplicates",
        "duplicate names are accepted in a header",
        breaks=_STRICT,
        may_break="publish.header-json",
        settings={"publish.header": reader(parse=_overlook("duplicate-name"))},
    ),
    condition(
        "strict-but-for-control-bytes",
        "unescaped control bytes are accepted in a header",
        breaks=_STRICT,
        may_break="parser.header-length publish.header-json",
        settings=_take_wrong(lambda data: b"\n" in data or b"\x01" in data or b"\x00" in data),
    ),
    missing(
        "reserved-names-taken",
        "unknown header names that begin with ## are accepted and stored",
        breaks="publish.reserved-name",
        settings={"publish.header": reader(names=_unknown_reserved)},
    ),
    missing(
        "plain-topic-takes-headers",
        "PUB_EXT on a topic without ext support is answered OK and its header is lost",
        breaks=_PLAIN,
        overrides=(taking_header(_taken_anywhere),),
    ),
    condition(
        "plain-topic-takes-internal-names",
        "PUB_EXT on a topic without ext support is answered OK if its header has only internal "
        "names",
        breaks=_PLAIN,
        overrides=(taking_header(_internal_taken_anywhere),),
    ),
)
