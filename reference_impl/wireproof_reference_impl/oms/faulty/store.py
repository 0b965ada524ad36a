"""Faults of what the storing server sets."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_received,
    change_told,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names

TIME = "store.timestamp"
STABLE = "store.timestamp-stable"
UNIT = "store.timestamp-unit"
OWN = "store.timestamp-own"
HOST = "store.host"
TIMES = f"{TIME} {STABLE} {UNIT} {OWN} store.timestamp-after-birth store.after-send"
_HOUR_MS = 3_600_000


def _timestamp(change: Callable[[int], int]) -> Override:
    def wrong(message: Message, behaviour: Behaviour) -> int:
        return change(message.stored)

    return replace_function(documents, "store_timestamp", wrong)


def _keep(name: str) -> Override:
    """Return an override by which an attribute of the server arrives as the sender set it."""

    def wrong(told: JsonObject, message: Message) -> None:
        if name in message.sent.extension_header:
            told[name] = message.sent.extension_header[name]

    return change_told(wrong)


def _keep_sane_timestamp(told: JsonObject, message: Message) -> None:
    """Keep what the sender set if it is a time of about now."""
    sent = message.sent.number(names.STORE_TIMESTAMP)
    if sent is not None and abs(sent - message.stored) < 24 * _HOUR_MS:
        told[names.STORE_TIMESTAMP] = sent


def _growing() -> Override:
    """Return an override by which the time grows with each delivery of any message."""
    seen: list[int] = []

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        seen.append(count)
        told[names.STORE_TIMESTAMP] = message.stored + len(seen)

    return change_received(wrong)


def _of_delivery() -> tuple[Override, ...]:
    """Return overrides by which a message has the time at which it is delivered."""
    times: list[int] = []

    def receive(original: Original, *arguments: object, most: int, now: int) -> object:
        times[:] = [now]
        return original(*arguments, most=most, now=now)

    def tell(told: JsonObject, message: Message, count: int) -> None:
        told[names.STORE_TIMESTAMP] = times[0]

    return around(Broker, "receive", receive), change_received(tell)


def _cut_when_read_again() -> Override:
    """Return an override by which the second reading of a message is cut to seconds."""
    read: set[str] = set()

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if message.id in read:
            told[names.STORE_TIMESTAMP] = message.stored // 1000 * 1000 - 1000
        read.add(message.id)

    return change_received(wrong)


def _later_of_both(told: JsonObject, message: Message) -> None:
    sent = message.sent.number(names.STORE_TIMESTAMP)
    told[names.STORE_TIMESTAMP] = max(message.stored, sent or 0)


def _of_first_sender() -> Override:
    """Return an override by which all messages have the store time of the first one."""
    first: list[int] = []

    def change(stored: int) -> int:
        first.append(stored)
        return first[0]

    return _timestamp(change)


def _host(change: Callable[[str], str | None]) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        host = change(cast(str, told[names.STORE_HOST]))
        if host is None:
            del told[names.STORE_HOST]
        else:
            told[names.STORE_HOST] = host

    return change_told(wrong)


def _append_host(told: JsonObject, message: Message) -> None:
    sent = message.sent.text(names.STORE_HOST)
    told[names.STORE_HOST] = f"{told[names.STORE_HOST]},{sent}" if sent else told[names.STORE_HOST]


def _put_host_in_front(told: JsonObject, message: Message) -> None:
    sent = message.sent.text(names.STORE_HOST)
    if sent:
        told[names.STORE_HOST] = f"{sent},{told[names.STORE_HOST]}"


FAULTS: tuple[Preset, ...] = (
    boundary(
        "store-time-an-hour-ahead",
        "storeTimestamp lies an hour ahead of the server's clock",
        _timestamp(lambda stored: stored + _HOUR_MS),
        breaks=TIME,
        may_break=TIMES,
    ),
    boundary(
        "store-time-an-hour-behind",
        "storeTimestamp lies an hour behind the server's clock",
        _timestamp(lambda stored: stored - _HOUR_MS),
        breaks=TIME,
        may_break=TIMES,
    ),
    condition(
        "store-time-of-the-first",
        "all messages have the storeTimestamp of the first one",
        _of_first_sender(),
        breaks=TIME,
        may_break=TIMES,
    ),
    missing(
        "store-time-is-0",
        "storeTimestamp is 0",
        _timestamp(lambda stored: 0),
        breaks=TIME,
        may_break=TIMES,
    ),
    wrong_value(
        "store-time-in-seconds",
        "storeTimestamp is in seconds",
        _timestamp(lambda stored: stored // 1000),
        breaks=UNIT,
        may_break=TIMES,
    ),
    wrong_value(
        "store-time-in-microseconds",
        "storeTimestamp is in microseconds",
        _timestamp(lambda stored: stored * 1000),
        breaks=UNIT,
        may_break=TIMES,
    ),
    wrong_value(
        "store-time-in-nanoseconds",
        "storeTimestamp is in nanoseconds",
        _timestamp(lambda stored: stored * 1_000_000),
        breaks=UNIT,
        may_break=TIMES,
    ),
    wrong_value(
        "store-time-grows",
        "storeTimestamp grows with each delivery",
        _growing(),
        breaks=STABLE,
        may_break=TIMES,
    ),
    condition(
        "store-time-of-the-delivery",
        "storeTimestamp is the time of the delivery",
        *_of_delivery(),
        breaks=STABLE,
        may_break=TIMES,
    ),
    boundary(
        "store-time-cut-when-read-again",
        "storeTimestamp is told in whole seconds when a message is read a second time",
        _cut_when_read_again(),
        breaks=STABLE,
        may_break=TIMES,
    ),
    boundary(
        "store-time-of-the-sender-if-later",
        "a storeTimestamp that the sender set arrives if it lies after the server's",
        change_told(_later_of_both),
        breaks=OWN,
        may_break=TIMES,
    ),
    extra(
        "store-time-of-the-sender",
        "a storeTimestamp that the sender set arrives",
        _keep(names.STORE_TIMESTAMP),
        breaks=OWN,
        may_break=f"{TIMES}",
    ),
    condition(
        "store-time-of-the-sender-if-near",
        "a storeTimestamp that the sender set arrives if it lies within a day",
        change_told(_keep_sane_timestamp),
        breaks=OWN,
        may_break=TIMES,
    ),
    extra(
        "store-host-of-the-sender",
        "a storeHost that the sender set arrives",
        _keep(names.STORE_HOST),
        breaks=HOST,
    ),
    boundary(
        "store-host-of-the-sender-in-front",
        "a storeHost that the sender set stands before the server's",
        change_told(_put_host_in_front),
        breaks=HOST,
    ),
    boundary(
        "store-host-empty",
        "storeHost is empty",
        _host(lambda host: ""),
        breaks="store.host-not-empty",
    ),
    condition(
        "store-host-appended",
        "a storeHost that the sender set is appended to the server's",
        change_told(_append_host),
        breaks=HOST,
    ),
)
