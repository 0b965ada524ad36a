"""Attributes arrive as they were sent."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING
from wireproof_kit.oms.adapter.system import System
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.steps import (
    TEXTS,
    UNCHANGED,
    compare,
    compare_trip,
    missing,
    take_again,
    travel,
)

LONGEST = 2**63 - 1
YEAR_MS = 365 * 86_400_000
LONGS = {"in-a-year": None, "beyond-2-53": 2**53 + 1, "largest": LONGEST}
STRINGS = (names.CORRELATION_ID, names.MESSAGE_KEY, names.TRACE_ID)
texts = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


@case("oms/round-trip/strings-together", clause="oms.round-trip.unchanged", waiting=True)
@texts
def test_strings_together(system: System, text: str) -> Observation:
    """All String attributes of one message arrive unchanged, each with its own value."""
    claimed = [name for name in STRINGS if system.claims(name)]
    if not claimed:
        return observed("unsupported:no-string-attribute", note="no String attribute is claimed")
    return compare_trip(system, {name: f"{text}{number}" for number, name in enumerate(claimed)})


@case("oms/round-trip/digits-alone", clause="oms.round-trip.unchanged", waiting=True)
def test_digits_alone(system: System) -> Observation:
    """A String attribute that consists of digits arrives as a string."""
    claimed = [name for name in STRINGS if system.claims(name)]
    if not claimed:
        return observed("unsupported:no-string-attribute", note="no String attribute is claimed")
    return compare_trip(system, dict.fromkeys(claimed, "9007199254740993"))


@case(
    "oms/round-trip/expire-time",
    clause="oms.round-trip.unchanged",
    needs=("expire-time",),
    waiting=True,
)
@pytest.mark.parametrize("value", LONGS.values(), ids=LONGS)
def test_expire_time(system: System, value: int | None) -> Observation:
    """An expireTime in the future arrives unchanged, also beyond 2^53."""
    expires = int(system.clock.now_ms()) + YEAR_MS if value is None else value
    return compare_trip(system, {names.EXPIRE_TIME: expires})


@case(
    "oms/round-trip/delay-time",
    clause="oms.round-trip.unchanged",
    needs=("delay-time",),
    waiting=True,
)
def test_delay_time(system: System) -> Observation:
    """A delayTime arrives unchanged."""
    return compare_trip(system, {names.DELAY_TIME: 301})


@case(
    "oms/round-trip/priority",
    clause="oms.round-trip.unchanged",
    needs=("priority",),
    waiting=True,
)
@pytest.mark.parametrize("priority", range(names.LOWEST_PRIORITY, names.HIGHEST_PRIORITY + 1))
def test_priority(system: System, priority: int) -> Observation:
    """A priority from 1 to 10 arrives unchanged."""
    return compare_trip(system, {names.PRIORITY: priority})


@case(
    "oms/round-trip/correlation-id",
    clause="oms.round-trip.correlation-id",
    needs=("correlation-id",),
    waiting=True,
)
@texts
def test_correlation_id(system: System, text: str) -> Observation:
    """A correlationId arrives unchanged."""
    return compare_trip(system, {names.CORRELATION_ID: text})


@case(
    "oms/round-trip/message-key",
    clause="oms.round-trip.message-key",
    needs=("message-key",),
    waiting=True,
)
@texts
def test_message_key(system: System, text: str) -> Observation:
    """A messageKey arrives unchanged."""
    return compare_trip(system, {names.MESSAGE_KEY: text})


@case(
    "oms/round-trip/trace-id", clause="oms.round-trip.trace-id", needs=("trace-id",), waiting=True
)
@texts
def test_trace_id(system: System, text: str) -> Observation:
    """A traceId arrives unchanged."""
    return compare_trip(system, {names.TRACE_ID: text})


@case(
    "oms/round-trip/trace-id-again",
    clause="oms.round-trip.trace-id",
    needs=("trace-id", "nack"),
    waiting=True,
)
def test_trace_id_again(system: System) -> Observation:
    """A traceId arrives unchanged each time that the message is delivered."""
    attributes = {names.TRACE_ID: TEXTS["long"]}
    deliveries = take_again(system, 3, attributes)
    if isinstance(deliveries, Observation):
        return deliveries
    seen = [compare(each.attributes, attributes) for each in deliveries]
    return next((each for each in seen if each.value != UNCHANGED), seen[0])


CLAIMED: dict[str, tuple[str, JsonValue]] = {
    "correlation-id": (names.CORRELATION_ID, "wp"),
    "message-key": (names.MESSAGE_KEY, "wp"),
    "trace-id": (names.TRACE_ID, "wp"),
    "delay-time": (names.DELAY_TIME, 1),
    "expire-time": (names.EXPIRE_TIME, LONGEST),
    "priority": (names.PRIORITY, 3),
    "store-timestamp": (names.STORE_TIMESTAMP, None),
    "store-host": (names.STORE_HOST, None),
}


@case(
    "oms/round-trip/claimed",
    clause="oms.round-trip.claimed",
    needs_of={name: (name,) for name in CLAIMED},
    waiting=True,
)
@pytest.mark.parametrize(("name", "value"), CLAIMED.values(), ids=CLAIMED)
def test_claimed(system: System, name: str, value: JsonValue) -> Observation:
    """A consumer gets each attribute that the system claims, as sent or as the server sets it."""
    trip = travel(system, NOTHING if value is None else {name: value})
    if trip.delivery is None:
        return trip.failure() or missing()
    return observed("arrives" if name in trip.delivery.attributes else "dropped")


@case(
    "oms/round-trip/claimed/delivery-count",
    clause="oms.round-trip.claimed",
    needs=("delivery-count", "nack"),
    waiting=True,
)
def test_claimed_delivery_count(system: System) -> Observation:
    """If the system claims deliveryCount, a consumer gets one with each redelivered message."""
    deliveries = take_again(system, 2)
    if isinstance(deliveries, Observation):
        return deliveries
    has_count = names.DELIVERY_COUNT in deliveries[1].attributes
    return observed("arrives" if has_count else "dropped")
