"""Expiry of messages that nobody has received."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from wireproof_kit.case import case
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Attributes, Sent
from wireproof_kit.oms.adapter.system import Consumer, Destination, System
from wireproof_kit.runner.patience import PUSH
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.steps import REST_S, missing
from wireproof_suites.oms.test_transaction import NEEDS as COMMIT
from wireproof_suites.oms.test_transaction import commit, transaction_id

MARGIN_MS = 150.0
SOONEST_MS = 400
LONGER = (1, 3, 9)
"""How many times as far ahead to try again if sending took until the expireTime was over."""
DESTROYED, DELIVERED, NO_CONTROL = "destroyed", "delivered", "no-control"
RELATIVE = "relative"
PARTITIONS = 3


@case("oms/expire/discarded", clause="oms.expire.discarded", needs=("expire-time",), waiting=True)
@pytest.mark.parametrize("after", [SOONEST_MS, 1300])
def test_discarded(system: System, after: int) -> Observation:
    """A message that nobody received before its expireTime is never delivered.

    The expireTime of a second message counts from sending: where that one alone is destroyed, the
    system follows the other reading.
    """
    found = _send_both(system, after)
    if isinstance(found, Observation):
        return found
    if not found.has_absolute:
        return observed(DESTROYED)
    return observed(DELIVERED if found.has_relative else RELATIVE)


@case("oms/expire/unset", clause="oms.expire.unset", needs=("expire-time",), waiting=True)
@pytest.mark.parametrize("is_second", [False, True], ids=["alone", "after-expiring"])
def test_unset(system: System, *, is_second: bool) -> Observation:
    """A message without expireTime is delivered, however late a consumer first receives."""
    destination, consumer = system.warm_destination()
    if is_second:
        _send_expiring(system, SOONEST_MS, _expiring(destination))
    sent = destination.send()
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    system.wait_until(system.clock.now_ms() + 1500)
    return _observe(destination, consumer, sent)


BESIDE: Mapping[str, Attributes] = {
    "priority": {names.PRIORITY: names.HIGHEST_PRIORITY},
    "texts": dict.fromkeys((names.CORRELATION_ID, names.MESSAGE_KEY, names.TRACE_ID), "wp"),
    "delay": {names.DELAY_TIME: SOONEST_MS // 4},
    "partition": {names.PARTITION: 2},
    "at-most-once": {names.QOS: 1},
    "committed": {},
}
"""What else an expiring message has; `names.QOS` stands in its header."""
NEEDS_BESIDE = {
    "priority": ("priority",),
    "delay": ("delay-time",),
    "partition": ("partition", "partitions"),
    "committed": COMMIT,
}


@case(
    "oms/expire/discarded/beside",
    clause="oms.expire.discarded",
    needs=("expire-time",),
    needs_of=NEEDS_BESIDE,
    waiting=True,
)
@pytest.mark.parametrize("beside", BESIDE, ids=BESIDE)
def test_discarded_beside(system: System, beside: str) -> Observation:
    """A message is not delivered after its expireTime, whatever else it has."""
    found = _send_both(system, SOONEST_MS, beside)
    if isinstance(found, Observation):
        return found
    if not found.has_absolute:
        return observed(DESTROYED)
    return observed(DELIVERED if found.has_relative else RELATIVE)


EARLIER = {"second": 1000, "minute": 60_000, "hour": 3_600_000}


@case("oms/expire/earlier", clause="oms.expire.earlier", needs=("expire-time",), waiting=True)
@pytest.mark.parametrize("before", EARLIER.values(), ids=EARLIER)
def test_earlier(system: System, before: int) -> Observation:
    """A message whose expireTime is earlier than its birth does not expire."""
    destination, consumer = system.warm_destination()
    sent = destination.send({names.EXPIRE_TIME: int(system.clock.now_ms()) - before})
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    return _observe(destination, consumer, sent)


@case("oms/expire/delivered", clause="oms.expire.delivered", needs=("expire-time",), waiting=True)
def test_delivered(system: System) -> Observation:
    """A message that was received before its expireTime can be acknowledged after it."""
    destination, consumer = system.warm_destination()
    sent, expires = _send_expiring(system, 1500, _expiring(destination))
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    found = [
        each
        for each in consumer.receive(within=system.patience.seconds(PUSH))
        if each.key == sent.key
    ]
    if not found:
        return missing()
    system.wait_until(expires + MARGIN_MS)
    return observed("kept" if consumer.settle(found[0]) else "withdrawn")


@case(
    "oms/expire/between",
    clause="oms.expire.between",
    needs=("expire-time", "delay-time"),
    waiting=True,
)
def test_between(system: System) -> Observation:
    """A message that expires before its delivery time is delivered anyway or never delivered."""
    destination, consumer = system.warm_destination()
    sent, _ = _send_expiring(system, 500, _expiring(destination, **{names.DELAY_TIME: 5000}))
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    control = destination.send({names.DELAY_TIME: 5400})
    found = consumer.take([control], rest=REST_S)
    if control.key not in found:
        return observed(NO_CONTROL, overdue=True)
    return observed("never" if sent.key in found else DESTROYED)


@case("oms/expire/base", clause="oms.expire.base", needs=("expire-time",), waiting=True)
def test_base(system: System) -> Observation:
    """Of messages with an absolute and a relative expireTime, exactly one is delivered."""
    found = _send_both(system, SOONEST_MS)
    if isinstance(found, Observation):
        return found
    here = (found.has_absolute, found.has_relative)
    shown = {(False, True): "absolute", (True, False): RELATIVE, (True, True): "not-enforced"}
    return observed(shown.get(here, "both-discarded"))


@dataclass(frozen=True, slots=True)
class _Found:
    """Which of two messages came after both had expired, each by one reading."""

    has_absolute: bool
    has_relative: bool


def _send_both(system: System, after: int, beside: str = "") -> _Found | Observation:
    """Send a message that expires so long after sending, and one that expires at that time."""
    others = {name: each for name, each in BESIDE.get(beside, {}).items() if _has(system, name)}
    header = {names.QOS: others.pop(names.QOS)} if names.QOS in others else {}
    partitions = PARTITIONS if beside == "partition" else None
    destination, consumer = system.warm_destination(partitions=partitions)
    is_committed = beside == "committed"

    def send(expires: int) -> Sent:
        attributes = {names.EXPIRE_TIME: expires, **others}
        if not is_committed:
            return destination.send(attributes, header=header)
        used = f"{destination.name}-{expires}"
        sent = destination.send({**attributes, names.TRANSACTION_ID: used}, op="prepare")
        if sent.is_accepted:
            commit(system, transaction_id(sent))
        return sent

    relative = send(after)
    absolute, expires = _send_expiring(system, after, send)
    if not (relative.is_accepted and absolute.is_accepted):
        # No text says that an expireTime is taken together with others.
        word = "unsupported:refused" if beside else "refused"
        return observed(word, note=relative.why or absolute.why)
    system.wait_until(expires + MARGIN_MS)
    control = destination.send()
    found = consumer.take([control], rest=REST_S)
    if control.key not in found:
        return observed(NO_CONTROL, overdue=True)
    return _Found(absolute.key in found, relative.key in found)


def _has(system: System, name: str) -> bool:
    return name == names.QOS or system.claims(name)


def _expiring(destination: Destination, **attributes: JsonValue) -> Callable[[int], Sent]:
    """Return a function that sends a message with an expireTime and these attributes."""
    return lambda expires: destination.send({names.EXPIRE_TIME: expires, **attributes})


def _send_expiring(system: System, after: int, send: Callable[[int], Sent]) -> tuple[Sent, int]:
    """Send a message that expires so many ms from now; return it with its expireTime.

    Raises:
        ArrangementFailed: sending takes longer than the message may live.
    """
    clock = system.clock
    for longer in LONGER:
        expires = int(clock.now_ms()) + after * longer
        sent = send(expires)
        if clock.now_ms() + clock.uncertain_ms < expires or not sent.is_accepted:
            return sent, expires
    raise ArrangementFailed("send returned after the expireTime of the message, three times")


def _observe(destination: Destination, consumer: Consumer, sent: Sent) -> Observation:
    """Return whether a message is delivered; a control message is sent now, and must be."""
    control = destination.send()
    found = consumer.take([control], rest=REST_S)
    if sent.key in found:
        return observed(DELIVERED)
    return observed(DESTROYED) if control.key in found else observed(NO_CONTROL, overdue=True)
