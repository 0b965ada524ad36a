"""Faults of attributes that must arrive as they were sent."""

import unicodedata
from collections.abc import Callable
from functools import partial
from urllib.parse import unquote_plus

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import (
    change_attribute,
    change_received,
    number_of,
    wrap,
)
from wireproof_reference_impl.oms.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.overrides import Override
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

KEY = "round-trip.message-key"
LONGS = (names.DELAY_TIME, names.EXPIRE_TIME)
STRINGS = (names.CORRELATION_ID, names.MESSAGE_KEY, names.TRACE_ID, names.TRANSACTION_ID)

Text = Callable[[str], str]


def _drop(name: str) -> Override:
    return change_attribute(name, lambda told: None)


def _text(name: str, change: Text) -> Override:
    return change_attribute(name, lambda told: change(str(told)))


def _longs(change: Callable[[int], int]) -> tuple[Override, ...]:
    return tuple(change_attribute(name, lambda told: change(number_of(told))) for name in LONGS)


@missing("round-trip.correlation-id round-trip.claimed")
def correlation_id_dropped() -> Change:
    """The correlationId does not arrive."""
    return _drop(names.CORRELATION_ID)


@boundary("round-trip.correlation-id", partial(_text, names.CORRELATION_ID))
def correlation_id_cut(text: str) -> str:
    """A correlationId is cut after 64 characters."""
    return text[:64]


@wrong_value("round-trip.correlation-id")
def correlation_id_lower_case() -> Change:
    """A correlationId arrives in lower case."""
    return _text(names.CORRELATION_ID, str.lower)


@missing("round-trip.message-key round-trip.claimed")
def message_key_dropped() -> Change:
    """The messageKey does not arrive."""
    return _drop(names.MESSAGE_KEY)


@boundary("round-trip.message-key", partial(_text, names.MESSAGE_KEY))
def message_key_cut(text: str) -> str:
    """A messageKey is cut after 64 characters."""
    return text[:64]


@wrong_value("round-trip.message-key", partial(_text, names.MESSAGE_KEY))
def message_key_stripped(text: str) -> str:
    """Blanks around a messageKey do not arrive."""
    return text.strip()


@wrong_value("round-trip.message-key", partial(_text, names.MESSAGE_KEY))
def message_key_ascii(text: str) -> str:
    """Characters of a messageKey outside ASCII arrive as question marks."""
    return text.encode("ascii", "replace").decode()


@missing("round-trip.trace-id round-trip.claimed")
def trace_id_dropped() -> Change:
    """The traceId does not arrive."""
    return _drop(names.TRACE_ID)


def _drop_again(name: str) -> Override:
    """Return an override by which an attribute is missing when a message is delivered again."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if count > 1:
            told.pop(name, None)

    return change_received(wrong)


@condition("round-trip.trace-id")
def trace_id_dropped_again() -> Change:
    """The traceId does not arrive when a message is delivered again."""
    return _drop_again(names.TRACE_ID)


@wrong_value("round-trip.trace-id")
def trace_id_upper_case() -> Change:
    """A traceId arrives in upper case."""
    return _text(names.TRACE_ID, str.upper)


@boundary("round-trip.trace-id", partial(_text, names.TRACE_ID))
def trace_id_cut(text: str) -> str:
    """A traceId is cut after 64 characters."""
    return text[:64]


def _drop_with(name: str, other: str) -> Override:
    """Return an override by which one attribute displaces another."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if other in message.sent.extension_header:
            told.pop(name, None)

    return change_received(wrong)


@condition("round-trip.unchanged")
def correlation_id_displaces_trace_id() -> Change:
    """A traceId does not arrive if the message has a correlationId as well."""
    return _drop_with(names.TRACE_ID, names.CORRELATION_ID)


def _exchange(one: str, other: str) -> Override:
    """Return an override by which two attributes are exchanged if a message has both."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if one in told and other in told:
            told[one], told[other] = told[other], told[one]

    return change_received(wrong)


@wrong_value("round-trip.unchanged")
def trace_id_and_key_exchanged() -> Change:
    """traceId and messageKey are exchanged in a message that has both."""
    return _exchange(names.TRACE_ID, names.MESSAGE_KEY)


@wrong_value("round-trip.unchanged", _longs)
def longs_through_doubles(told: int) -> int:
    """Long attributes arrive as the nearest 64-bit floating point number."""
    return int(float(told))


@boundary("round-trip.unchanged", _longs)
def longs_in_32_bits(told: int) -> int:
    """Long attributes arrive in 32 bits."""
    return wrap(told, 32)


@missing("round-trip.unchanged")
def times_dropped() -> Change:
    """delayTime and expireTime do not arrive."""
    return tuple(_drop(name) for name in LONGS)


def _texts(change: Text) -> tuple[Override, ...]:
    return tuple(_text(name, change) for name in STRINGS)


@wrong_value("round-trip.unchanged", _texts)
def texts_normalized(text: str) -> str:
    """String attributes arrive in the normalization form NFC."""
    return unicodedata.normalize("NFC", text)


def _as_number(told: JsonValue) -> JsonValue:
    text = str(told)
    return int(text) if text.isascii() and text.isdigit() else text


@wrong_value("round-trip.unchanged")
def texts_of_digits_are_numbers() -> Change:
    """A String attribute of digits arrives as a number."""
    return tuple(change_attribute(name, _as_number) for name in STRINGS)


@boundary("round-trip.unchanged", _texts)
def texts_cut(text: str) -> str:
    """String attributes are cut after 1024 characters."""
    return text[:1024]


@wrong_value("round-trip.unchanged", _texts)
def texts_end_at_separator(text: str) -> str:
    """A String attribute ends at its first semicolon."""
    return text.partition(";")[0]


@wrong_value("round-trip.message-key", partial(_text, names.MESSAGE_KEY))
def message_key_decoded(text: str) -> str:
    """Percent signs and plus signs of a messageKey are decoded as in a query."""
    return unquote_plus(text)


@condition("round-trip.trace-id")
def trace_id_null_dropped() -> Change:
    """A traceId of the four letters null does not arrive."""
    return change_attribute(names.TRACE_ID, lambda told: None if told == "null" else told)


FAULTS = list_faults(__name__)
