"""Faults of PUB_EXT: which headers are accepted, which are refused, and with which codes."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import cast

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.faulty.consuming.consume import lose
from wireproof_reference_impl.nsq.faulty.shared_overrides import taking_header
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
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


@boundary("publish.accept", _refuse_unwanted)
def accept_not_empty_object(data: bytes) -> bool:
    """A header that is an empty JSON object is refused."""
    return data == b"{}"


@wrong_value("publish.accept", _refuse_unwanted)
def accept_not_signs(data: bytes) -> bool:
    """Header names with number signs or hyphens are refused."""
    return b"-" in data or b'"#' in data.replace(b'"##', b"")


@wrong_value("publish.accept", _refuse_unwanted)
def accept_not_escapes(data: bytes) -> bool:
    """A header whose JSON has escapes is refused."""
    return b"\\" in data


@wrong_value("publish.accept", _refuse_unwanted)
def accept_not_spaces(data: bytes) -> bool:
    """A header with white space between its JSON tokens is refused."""
    return data[:1] in b" \t\r\n"


@missing("publish.accept", lose)
def accept_but_lose_many_names(message: Message) -> bool:
    """A message whose header has more than ten names is answered OK and never delivered."""
    return message.header is not None and message.header.count(b'":"') > 10


@missing("dispatch.to-matching dispatch.fallback", lose)
def accept_but_lose_tagged(message: Message) -> bool:
    """A message with a dispatch tag is answered OK and never delivered."""
    return message.tag is not None


@missing("publish.header-json publish.header-name publish.header-strict", _take_wrong)
def header_anything(data: bytes) -> bool:
    """PUB_EXT accepts any bytes as a header."""
    return True


@boundary("publish.header-json", _take_wrong)
def header_cut(data: bytes) -> bool:
    """A header whose JSON ends too early is accepted."""
    return data.startswith(b"{") and not data.endswith(b"}")


@boundary("publish.header-json", _take_wrong)
def header_with_tail(data: bytes) -> bool:
    """Bytes after the header's JSON value are ignored."""
    try:
        _, end = json.JSONDecoder().raw_decode(data.decode())
    except ValueError:
        return False
    return end < len(data)


@boundary("publish.header-json", _take_wrong)
def header_judged_by_its_beginning(data: bytes) -> bool:
    """Only the first bytes of the header are validated."""
    return data.startswith(b'{"k"')


@wrong_value("publish.header-json", _take_wrong)
def header_text(data: bytes) -> bool:
    """A header that is not JSON is accepted as text."""
    return data[:1].isalpha() and not _is_json(data)


@wrong_value("publish.header-json", _take_wrong)
def header_single_quotes(data: bytes) -> bool:
    """Single quotes are accepted in place of double quotes in a header."""
    return data.startswith(b"{'")


@boundary("publish.header-json", _take_wrong)
def header_byte_order_mark(data: bytes) -> bool:
    """A byte order mark before the header is accepted."""
    return data.startswith(b"\xef\xbb\xbf")


def _do_nothing(fields: Fields) -> None:
    """Accept every header."""


@missing("publish.header-name")
def name_not_checked() -> Change:
    """Header names may contain any character."""
    return {"publish.header": reader(names=_do_nothing)}


def _first_character(fields: Fields) -> None:
    for name in fields:
        if not is_header_name(name[:1]):
            raise header.refuse_header("bad first character")


@boundary("publish.header-name")
def name_first_character_checked() -> Change:
    """Only the first character of a header name is validated."""
    return {"publish.header": reader(names=_first_character)}


@boundary("publish.header-name", _take_wrong)
def name_may_be_empty(data: bytes) -> bool:
    """An empty header name is accepted."""
    return _is_json(data) and b'"":' in data


@wrong_value("publish.header-json", _take_wrong)
def header_not_an_object(data: bytes) -> bool:
    """A header that is JSON but not an object is accepted."""
    return _is_json(data) and not data.lstrip().startswith(b"{")


def _first_is_text(fields: Fields) -> None:
    if not isinstance(next(iter(fields.values()), ""), str):
        raise header.refuse_header("not text")


@boundary("publish.header-value")
def value_first_checked() -> Change:
    """Only the first header value has to be a string."""
    return {"publish.header": reader(values=_first_is_text)}


def _not_null(fields: Fields) -> None:
    if None in fields.values():
        raise header.refuse_header("null")


@missing("publish.header-value")
def value_may_not_be_null() -> Change:
    """Every JSON type except null is accepted as a header value, not only strings."""
    return {"publish.header": reader(values=_not_null)}


def _numbers(fields: Fields) -> None:
    for value in fields.values():
        if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
            raise header.refuse_header("neither text nor number")


@wrong_value("publish.header-value")
def value_may_be_number() -> Change:
    """Numbers are accepted as header values."""
    return {"publish.header": reader(values=_numbers)}


def _lax(data: bytes) -> Fields:
    """Read an object without reporting faults in its JSON."""
    try:
        value = json.loads(data.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        raise header.refuse_header(str(error)) from error
    if not isinstance(value, dict):
        raise header.refuse_header("not an object")
    return cast(Fields, value)


@missing("publish.header-strict")
def strict_not_at_all() -> Change:
    """Duplicate names, control bytes, invalid UTF-8 and NaN are accepted in a header."""
    return {"publish.header": reader(parse=_lax)}


def _overlook(*kinds: str) -> Callable[[bytes], Fields]:
    """Return a reader that ignores some kinds of JSON faults."""

    def parse(data: bytes) -> Fields:
        try:
            return checked_object(data)
        except Refusal:
            if not _is_json(data):
                raise
            read = read_strictly(data)
            if isinstance(read.value, dict) and {fault.kind for fault in read.faults} <= {*kinds}:
                return read.value
            raise

    return parse


@condition("publish.header-strict")
def strict_but_for_duplicates() -> Change:
    """Duplicate names are accepted in a header."""
    return {"publish.header": reader(parse=_overlook("duplicate-name"))}


@condition("publish.header-strict", _take_wrong)
def strict_but_for_control_bytes(data: bytes) -> bool:
    """Unescaped control bytes are accepted in a header."""
    return b"\n" in data or b"\x01" in data or b"\x00" in data


def _unknown_reserved(fields: Fields) -> None:
    for name in fields:
        if not is_header_name(name):
            raise header.refuse_header("bad name")


@missing("publish.reserved-name")
def reserved_names_taken() -> Change:
    """Unknown header names that begin with ## are accepted and stored."""
    return {"publish.header": reader(names=_unknown_reserved)}


@missing("publish.plain-topic", taking_header)
def plain_topic_takes_headers(data: bytes, topic: TopicKind) -> bool:
    """PUB_EXT on a topic without ext support is answered OK and its header is lost."""
    return True


@condition("publish.plain-topic", taking_header)
def plain_topic_takes_internal_names(data: bytes, topic: TopicKind) -> bool:
    """PUB_EXT on a topic without ext support is answered OK if its header has only internal
    names.
    """
    return topic.extend or data.startswith(b'{"##')


FAULTS = list_faults(__name__)
