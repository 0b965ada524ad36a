"""What the server that stores a message sets: storeTimestamp and storeHost."""

from collections.abc import Callable, Mapping

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Delivery, Sent, attributes_of
from wireproof_kit.oms.adapter.system import ServerClock, System
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.steps import TOLERANCE_MS, missing, travel

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
PAUSE_MS = 300.0
UNTOLD = "untold"
UNITS = {"milliseconds": 1.0, "seconds": 1e-3, "microseconds": 1e3, "nanoseconds": 1e6}


@case(
    "oms/store/timestamp", clause="oms.store.timestamp", needs=("store-timestamp",), waiting=True
)
def test_timestamp(system: System) -> Observation:
    """The storeTimestamp of two messages lies between the call of send and their delivery."""
    destination, consumer = system.warm_destination()
    shown = observed(UNTOLD)
    for _ in range(2):  # the second shows a time that is not that message's own
        sent = destination.send()
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        delivery = consumer.take([sent]).get(sent.key)
        if delivery is None:
            return missing()
        shown = _observe_time(system.clock, sent, delivery)
        if shown.value != "server-time":
            return shown
        system.wait_until(system.clock.now_ms() + PAUSE_MS)
    return shown


def _observe_time(clock: ServerClock, sent: Sent, delivery: Delivery) -> Observation:
    told = delivery.attributes.get(names.STORE_TIMESTAMP)
    if told is None:
        return observed(UNTOLD)
    if not isinstance(told, int):
        return observed("other-type")
    tolerance = TOLERANCE_MS + clock.uncertain_ms
    earliest = sent.called_ms + clock.ahead_ms - tolerance
    latest = delivery.at_ms + clock.ahead_ms + tolerance
    note = f"{told - earliest:.0f} ms after the earliest, {latest - told:.0f} before the latest"
    return observed("server-time" if earliest <= told <= latest else "other-time", note=note)


@case(
    "oms/store/timestamp-stable",
    clause="oms.store.timestamp-stable",
    needs=("store-timestamp",),
    waiting=True,
)
def test_timestamp_stable(system: System) -> Observation:
    """Two consumer groups that read a message one after the other get the same storeTimestamp."""
    destination, consumer = system.warm_destination()
    other = destination.new_consumer("wp_other_group")
    sent = destination.send()
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    first = consumer.take([sent]).get(sent.key)
    system.wait_until(system.clock.now_ms() + PAUSE_MS)
    second = other.take([sent]).get(sent.key)
    if first is None or second is None:
        return missing()
    told = [each.attributes.get(names.STORE_TIMESTAMP) for each in (first, second)]
    if None in told:
        return observed(UNTOLD)
    return observed("same" if told[0] == told[1] else "differs", note=f"{told[0]} and {told[1]}")


@case(
    "oms/store/timestamp-unit",
    clause="oms.store.timestamp-unit",
    needs=("store-timestamp",),
    waiting=True,
)
def test_timestamp_unit(system: System) -> Observation:
    """The storeTimestamp is in milliseconds: within a day of now."""
    trip = travel(system)
    if trip.delivery is None:
        return trip.failure() or missing()
    told = trip.delivery.attributes.get(names.STORE_TIMESTAMP)
    if not isinstance(told, int):
        return observed(UNTOLD if told is None else "other-type")
    now = system.clock.now_ms()
    fitting = [name for name, factor in UNITS.items() if abs(told / factor - now) < DAY_MS]
    return observed(fitting[0] if fitting else "other-unit", note=f"{told}, now is {now:.0f}")


OWN: Mapping[str, Callable[[int], int]] = {
    "one": lambda now: 1,
    "an-hour-ago": lambda now: now - HOUR_MS,
    "in-an-hour": lambda now: now + HOUR_MS,
}


@case(
    "oms/store/timestamp-own",
    clause="oms.store.timestamp-own",
    needs=("store-timestamp",),
    waiting=True,
)
@pytest.mark.parametrize("make", OWN.values(), ids=OWN)
def test_timestamp_own(system: System, make: Callable[[int], int]) -> Observation:
    """A storeTimestamp that the sender set does not reach the consumer."""
    set_by_sender = make(int(system.clock.now_ms()))
    trip = travel(system, {names.STORE_TIMESTAMP: set_by_sender})
    return _observe_own(trip.delivery, names.STORE_TIMESTAMP, set_by_sender) or (
        trip.failure() or missing()
    )


@case(
    "oms/store/timestamp-after-birth",
    clause="oms.store.timestamp-after-birth",
    needs=("store-timestamp",),
    waiting=True,
)
def test_timestamp_after_birth(system: System) -> Observation:
    """The storeTimestamp is not earlier than bornTimestamp."""
    trip = travel(system)
    if trip.delivery is None:
        return trip.failure() or missing()
    stored = trip.delivery.attributes.get(names.STORE_TIMESTAMP)
    born = trip.delivery.header.get(names.BORN_TIMESTAMP)
    if not isinstance(stored, int) or not isinstance(born, int):
        return observed(UNTOLD)
    is_after = stored >= born - TOLERANCE_MS
    return observed("after" if is_after else "before", note=f"{stored - born} ms after birth")


@case("oms/store/host", clause="oms.store.host", needs=("store-host",), waiting=True)
@pytest.mark.parametrize("host", ["wp-sender.example:1", "wp-sender"])
def test_host(system: System, host: str) -> Observation:
    """A storeHost that the sender set does not reach the consumer."""
    return _observe_host(system, host)


@case(
    "oms/store/host-not-empty",
    clause="oms.store.host-not-empty",
    needs=("store-host",),
    waiting=True,
)
def test_host_not_empty(system: System) -> Observation:
    """The storeHost is not empty."""
    return _observe_host(system, None)


def _observe_host(system: System, host: str | None) -> Observation:
    trip = travel(system, NOTHING if host is None else {names.STORE_HOST: host})
    if trip.delivery is None:
        return trip.failure() or missing()
    told = trip.delivery.attributes.get(names.STORE_HOST)
    if not isinstance(told, str):
        return observed(UNTOLD if told is None else "other-type")
    if host is not None and host in told:
        return observed("senders", note=told)
    return observed("own" if told else "empty", note=told)


@case(
    "oms/store/after-send",
    clause="oms.store.after-send",
    needs=("store-timestamp", "store-host"),
    waiting=True,
)
def test_after_send(system: System) -> Observation:
    """After send returns, the sender's message has storeTimestamp and storeHost."""
    sent = system.new_destination().send()
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    told = attributes_of(sent.document)
    has_both = names.STORE_TIMESTAMP in told and names.STORE_HOST in told
    return observed("present" if has_both else "absent")


def _observe_own(
    delivery: Delivery | None, name: str, set_by_sender: JsonValue
) -> Observation | None:
    if delivery is None:
        return None
    told = delivery.attributes.get(name)
    if told is None:
        return observed(UNTOLD)
    return observed("senders" if told == set_by_sender else "own", note=str(told))
