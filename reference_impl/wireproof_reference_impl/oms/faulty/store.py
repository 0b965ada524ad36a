"""Faults of what the storing server sets."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_received, change_told
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
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


@boundary("store.timestamp", _timestamp)
def store_time_an_hour_ahead(stored: int) -> int:
    """storeTimestamp lies an hour ahead of the server's clock."""
    return stored + _HOUR_MS


@boundary("store.timestamp", _timestamp)
def store_time_an_hour_behind(stored: int) -> int:
    """storeTimestamp lies an hour behind the server's clock."""
    return stored - _HOUR_MS


@condition("store.timestamp")
def store_time_of_the_first() -> Change:
    """All messages have the storeTimestamp of the first one."""
    first: list[int] = []

    def change(stored: int) -> int:
        first.append(stored)
        return first[0]

    return _timestamp(change)


@missing("store.timestamp", _timestamp)
def store_time_is_0(stored: int) -> int:
    """storeTimestamp is 0."""
    return 0


@wrong_value("store.timestamp-unit", _timestamp)
def store_time_in_seconds(stored: int) -> int:
    """storeTimestamp is in seconds."""
    return stored // 1000


@wrong_value("store.timestamp-unit", _timestamp)
def store_time_in_microseconds(stored: int) -> int:
    """storeTimestamp is in microseconds."""
    return stored * 1000


@wrong_value("store.timestamp-unit", _timestamp)
def store_time_in_nanoseconds(stored: int) -> int:
    """storeTimestamp is in nanoseconds."""
    return stored * 1_000_000


@wrong_value("store.timestamp-stable")
def store_time_grows() -> Change:
    """storeTimestamp grows with each delivery."""
    seen: list[int] = []

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        seen.append(count)
        told[names.STORE_TIMESTAMP] = message.stored + len(seen)

    return change_received(wrong)


@condition("store.timestamp-stable")
def store_time_of_the_delivery() -> Change:
    """storeTimestamp is the time of the delivery."""
    times: list[int] = []

    def receive(original: Original, *arguments: object, most: int, now: int) -> object:
        times[:] = [now]
        return original(*arguments, most=most, now=now)

    def tell(told: JsonObject, message: Message, count: int) -> None:
        told[names.STORE_TIMESTAMP] = times[0]

    return around(Broker, "receive", receive), change_received(tell)


@boundary("store.timestamp-stable")
def store_time_cut_when_read_again() -> Change:
    """storeTimestamp is told in whole seconds when a message is read a second time."""
    read: set[str] = set()

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if message.id in read:
            told[names.STORE_TIMESTAMP] = message.stored // 1000 * 1000 - 1000
        read.add(message.id)

    return change_received(wrong)


@boundary("store.timestamp-own", change_told)
def store_time_of_the_sender_if_later(told: JsonObject, message: Message) -> None:
    """A storeTimestamp that the sender set arrives if it lies after the server's."""
    sent = message.sent.number(names.STORE_TIMESTAMP)
    told[names.STORE_TIMESTAMP] = max(message.stored, sent or 0)


@extra("store.timestamp-own")
def store_time_of_the_sender() -> Change:
    """A storeTimestamp that the sender set arrives."""
    return _keep(names.STORE_TIMESTAMP)


@condition("store.timestamp-own", change_told)
def store_time_of_the_sender_if_near(told: JsonObject, message: Message) -> None:
    """A storeTimestamp that the sender set arrives if it lies within a day."""
    sent = message.sent.number(names.STORE_TIMESTAMP)
    if sent is not None and abs(sent - message.stored) < 24 * _HOUR_MS:
        told[names.STORE_TIMESTAMP] = sent


@extra("store.host")
def store_host_of_the_sender() -> Change:
    """A storeHost that the sender set arrives."""
    return _keep(names.STORE_HOST)


@boundary("store.host", change_told)
def store_host_of_the_sender_in_front(told: JsonObject, message: Message) -> None:
    """A storeHost that the sender set stands before the server's."""
    sent = message.sent.text(names.STORE_HOST)
    if sent:
        told[names.STORE_HOST] = f"{sent},{told[names.STORE_HOST]}"


def _host(change: Callable[[str], str | None]) -> Override:
    def wrong(told: JsonObject, message: Message) -> None:
        host = change(str(told[names.STORE_HOST]))
        if host is None:
            del told[names.STORE_HOST]
        else:
            told[names.STORE_HOST] = host

    return change_told(wrong)


@boundary("store.host-not-empty", _host)
def store_host_empty(host: str) -> str | None:
    """storeHost is empty."""
    return ""


@condition("store.host", change_told)
def store_host_appended(told: JsonObject, message: Message) -> None:
    """A storeHost that the sender set is appended to the server's."""
    sent = message.sent.text(names.STORE_HOST)
    told[names.STORE_HOST] = f"{told[names.STORE_HOST]},{sent}" if sent else told[names.STORE_HOST]


FAULTS = list_faults(__name__)
