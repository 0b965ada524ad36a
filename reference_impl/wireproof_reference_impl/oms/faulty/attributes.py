"""Faults of attributes that must arrive as they were sent."""

import unicodedata
from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_attribute,
    change_received,
    condition,
    missing,
    wrap,
    wrong_value,
)
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

UNCHANGED = "round-trip.unchanged"
CORRELATION = "round-trip.correlation-id"
KEY = "round-trip.message-key"
TRACE = "round-trip.trace-id"
CLAIMED = "round-trip.claimed"
TEXTS = f"{UNCHANGED} {CORRELATION} {KEY} {TRACE} {CLAIMED} transaction.same-id"
LONGS = (names.DELAY_TIME, names.EXPIRE_TIME)
STRINGS = (names.CORRELATION_ID, names.MESSAGE_KEY, names.TRACE_ID, names.TRANSACTION_ID)

Text = Callable[[str], str]


def _drop(name: str) -> Override:
    return change_attribute(name, lambda told: None)


def _text(name: str, change: Text) -> Override:
    return change_attribute(name, lambda told: change(cast(str, told)))


def _texts(change: Text) -> tuple[Override, ...]:
    return tuple(_text(name, change) for name in STRINGS)


def _longs(change: Callable[[int], int]) -> tuple[Override, ...]:
    return tuple(change_attribute(name, lambda told: change(cast(int, told))) for name in LONGS)


def _drop_again(name: str) -> Override:
    """Return an override by which an attribute is missing when a message is delivered again."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if count > 1:
            told.pop(name, None)

    return change_received(wrong)


def _drop_with(name: str, other: str) -> Override:
    """Return an override by which one attribute displaces another."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if other in message.sent.extension_header:
            told.pop(name, None)

    return change_received(wrong)


def _exchange(one: str, other: str) -> Override:
    """Return an override by which two attributes are exchanged if a message has both."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if one in told and other in told:
            told[one], told[other] = told[other], told[one]

    return change_received(wrong)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _stripped(text: str) -> str:
    return text.strip()


def _as_number(told: JsonValue) -> JsonValue:
    text = cast(str, told)
    return int(text) if text.isascii() and text.isdigit() else text


FAULTS: tuple[Preset, ...] = (
    missing(
        "correlation-id-dropped",
        "the correlationId does not arrive",
        _drop(names.CORRELATION_ID),
        breaks=f"{CORRELATION} {CLAIMED}",
        may_break=TEXTS,
    ),
    boundary(
        "correlation-id-cut",
        "a correlationId is cut after 64 characters",
        _text(names.CORRELATION_ID, lambda text: text[:64]),
        breaks=CORRELATION,
        may_break=TEXTS,
    ),
    wrong_value(
        "correlation-id-lower-case",
        "a correlationId arrives in lower case",
        _text(names.CORRELATION_ID, str.lower),
        breaks=CORRELATION,
        may_break=TEXTS,
    ),
    missing(
        "message-key-dropped",
        "the messageKey does not arrive",
        _drop(names.MESSAGE_KEY),
        breaks=f"{KEY} {CLAIMED}",
        may_break=TEXTS,
    ),
    boundary(
        "message-key-cut",
        "a messageKey is cut after 64 characters",
        _text(names.MESSAGE_KEY, lambda text: text[:64]),
        breaks=KEY,
        may_break=TEXTS,
    ),
    wrong_value(
        "message-key-stripped",
        "blanks around a messageKey do not arrive",
        _text(names.MESSAGE_KEY, _stripped),
        breaks=KEY,
        may_break=TEXTS,
    ),
    wrong_value(
        "message-key-ascii",
        "characters of a messageKey outside ASCII arrive as question marks",
        _text(names.MESSAGE_KEY, _ascii),
        breaks=KEY,
        may_break=TEXTS,
    ),
    missing(
        "trace-id-dropped",
        "the traceId does not arrive",
        _drop(names.TRACE_ID),
        breaks=f"{TRACE} {CLAIMED}",
        may_break=TEXTS,
    ),
    condition(
        "trace-id-dropped-again",
        "the traceId does not arrive when a message is delivered again",
        _drop_again(names.TRACE_ID),
        breaks=TRACE,
        may_break=TEXTS,
    ),
    wrong_value(
        "trace-id-upper-case",
        "a traceId arrives in upper case",
        _text(names.TRACE_ID, str.upper),
        breaks=TRACE,
        may_break=TEXTS,
    ),
    boundary(
        "trace-id-cut",
        "a traceId is cut after 64 characters",
        _text(names.TRACE_ID, lambda text: text[:64]),
        breaks=TRACE,
        may_break=TEXTS,
    ),
    condition(
        "correlation-id-displaces-trace-id",
        "a traceId does not arrive if the message has a correlationId as well",
        _drop_with(names.TRACE_ID, names.CORRELATION_ID),
        breaks=UNCHANGED,
        may_break=TEXTS,
    ),
    wrong_value(
        "trace-id-and-key-exchanged",
        "traceId and messageKey are exchanged in a message that has both",
        _exchange(names.TRACE_ID, names.MESSAGE_KEY),
        breaks=UNCHANGED,
        may_break=TEXTS,
    ),
    wrong_value(
        "longs-through-doubles",
        "Long attributes arrive as the nearest 64-bit floating point number",
        *_longs(lambda told: int(float(told))),
        breaks=UNCHANGED,
        may_break=CLAIMED,
    ),
    boundary(
        "longs-in-32-bits",
        "Long attributes arrive in 32 bits",
        *_longs(lambda told: wrap(told, 32)),
        breaks=UNCHANGED,
        may_break=CLAIMED,
    ),
    missing(
        "times-dropped",
        "delayTime and expireTime do not arrive",
        *(_drop(name) for name in LONGS),
        breaks=UNCHANGED,
        may_break=CLAIMED,
    ),
    wrong_value(
        "texts-normalized",
        "String attributes arrive in the normalization form NFC",
        *_texts(_normalized),
        breaks=UNCHANGED,
        may_break=TEXTS,
    ),
    wrong_value(
        "texts-of-digits-are-numbers",
        "a String attribute of digits arrives as a number",
        *(change_attribute(name, _as_number) for name in STRINGS),
        breaks=UNCHANGED,
        may_break=TEXTS,
    ),
)
