"""User properties, and attributes together, on every way that a message may take."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import Consumer, System
from wireproof_kit.runner.patience import PUSH, REDELIVERY
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.steps import TEXTS, compare, missing
from wireproof_suites.oms.test_transaction import commit, transaction_id

WAYS: Mapping[str, tuple[str, ...]] = {
    "sent": (),
    "again": ("nack",),
    "committed": ("transaction", "transaction-id"),
    "second-group": (),
}
"""The ways that a message may take, with what a system must claim for them."""
FAR_MS = 2**62
VALUES: Mapping[str, JsonValue] = {
    names.CORRELATION_ID: "wp-correlation",
    names.MESSAGE_KEY: "wp-key",
    names.TRACE_ID: "wp-trace",
    names.PRIORITY: 7,
    names.EXPIRE_TIME: FAR_MS,
}
"""Attributes that arrive as they were sent, on every way."""
CLAIMS: Mapping[str, str] = {
    names.CORRELATION_ID: "correlation-id",
    names.MESSAGE_KEY: "message-key",
    names.TRACE_ID: "trace-id",
    names.PRIORITY: "priority",
    names.EXPIRE_TIME: "expire-time",
}
PAIRS = {f"{CLAIMS[one]}/{CLAIMS[other]}": (one, other) for one, other in combinations(VALUES, 2)}
WAY_OF_PAIR = {pair: list(WAYS)[number % len(WAYS)] for number, pair in enumerate(PAIRS)}
USUAL: Attributes = {"wp-name": "value", "wpOther": "another value", "WP_NAME": "a third one"}
UNUSUAL: Mapping[str, Attributes] = {
    "long": {"wp": "0123456789abcdef" * 2063},
    "empty": {"wp": "", "wp-other": "a"},
    "separators": {"wp": "a=b;c,d:e|f&g", "wp-other": "a"},
    "many": {f"wp-{number}": str(number) for number in range(100)},
    "separators-in-name": {"wp=a;b,c:d": "a", "wp-other": "b"},
    "other-script": {"ключ-鍵": "a", "wp-other": "b"},
    "named-as-attribute": {names.TRACE_ID: "a", names.MESSAGE_KEY: "b", "wp-other": "c"},
    "named-as-header": {names.MESSAGE_ID: "a", names.DESTINATION: "b", "wp-other": "c"},
}
"""Properties that no text forbids, and that a system may refuse, but not alter.

Control characters are not among them: a String is a sequence of printable characters.
"""


def deliver(
    system: System, way: str, attributes: Attributes, properties: Attributes
) -> Delivery | Observation:
    """Send a message that takes a way, and return its last delivery, or what was seen instead."""
    destination, consumer = system.warm_destination()
    if way == "second-group":
        consumer = destination.new_consumer("wp_second_group")
    if way == "committed":
        attributes = {**attributes, names.TRANSACTION_ID: f"{destination.name}-transaction"}
    op = "prepare" if way == "committed" else "send"
    sent = destination.send(attributes or NOTHING, properties=properties, op=op)
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    ended = commit(system, transaction_id(sent)) if way == "committed" else None
    if isinstance(ended, Observation):
        return ended
    if way == "again":
        return _take_second(consumer, sent)
    return consumer.take([sent]).get(sent.key) or missing()


def _take_second(consumer: Consumer, sent: Sent) -> Delivery | Observation:
    """Reject the first delivery of a message, and return the second."""
    patience = consumer.system.patience
    first = _find(consumer.receive(within=patience.seconds(PUSH)), sent)
    if first is None:
        return missing()
    if not consumer.reject(first):
        return observed("nack-refused")
    second = _find(consumer.receive(within=patience.seconds(REDELIVERY)), sent)
    if second is None:
        return missing()
    consumer.settle(second)
    return second


def _find(deliveries: Sequence[Delivery], sent: Sent) -> Delivery | None:
    return next((each for each in deliveries if each.key == sent.key), None)


def _compare_properties(system: System, way: str, properties: Attributes) -> Observation:
    """Return whether user properties arrive unchanged on a way."""
    delivery = deliver(system, way, NOTHING, properties)
    if isinstance(delivery, Observation):
        return delivery
    return compare(delivery.properties, properties)


def _compare_attributes(
    system: System, way: str, attributes: Attributes, properties: Attributes
) -> Observation:
    """Return whether attributes arrive unchanged on a way, beside properties."""
    delivery = deliver(system, way, attributes, properties)
    if isinstance(delivery, Observation):
        return delivery
    return compare(delivery.attributes, attributes)


@case("oms/round-trip/properties", clause="oms.round-trip.properties", waiting=True)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_properties(system: System, text: str) -> Observation:
    """User properties that are strings arrive unchanged."""
    return _compare_properties(system, "sent", {**USUAL, "wp-text": text})


@case(
    "oms/round-trip/properties/way",
    clause="oms.round-trip.properties",
    needs_of=WAYS,
    waiting=True,
)
@pytest.mark.parametrize("way", WAYS)
def test_properties_way(system: System, way: str) -> Observation:
    """User properties arrive unchanged on every way that a message may take."""
    return _compare_properties(system, way, USUAL)


@case("oms/round-trip/properties/unusual", clause="oms.round-trip.properties", waiting=True)
@pytest.mark.parametrize("properties", UNUSUAL.values(), ids=UNUSUAL)
def test_properties_unusual(system: System, properties: Attributes) -> Observation:
    """User properties of any length, number and name arrive unchanged, or are refused."""
    return _compare_properties(system, "sent", properties)


@case("oms/round-trip/properties/number", clause="oms.round-trip.properties-numbers", waiting=True)
def test_properties_number(system: System) -> Observation:
    """A user property that is a number arrives as the same number, or is refused."""
    return _compare_properties(system, "sent", {"wp-number": 7})


@case(
    "oms/round-trip/properties/nothing-added", clause="oms.round-trip.nothing-added", waiting=True
)
def test_nothing_added(system: System) -> Observation:
    """A message arrives without user properties that its sender did not set."""
    delivery = deliver(system, "sent", NOTHING, USUAL)
    if isinstance(delivery, Observation):
        return delivery
    for name, value in delivery.properties.items():
        if name not in USUAL:
            return observed("added", difference=Difference(name, None, "nothing", repr(value)))
    return observed("nothing-added")


@case(
    "oms/round-trip/together",
    clause="oms.round-trip.unchanged",
    needs_of=WAYS,
    waiting=True,
)
@pytest.mark.parametrize("way", WAYS)
def test_together(system: System, way: str) -> Observation:
    """All attributes of one message arrive unchanged on every way, beside properties."""
    claimed = {name: value for name, value in VALUES.items() if system.claims(name)}
    if not claimed:
        return observed("unsupported:no-attribute", note="no attribute is claimed")
    return _compare_attributes(system, way, claimed, USUAL)


@case(
    "oms/round-trip/pair",
    clause="oms.round-trip.unchanged",
    needs_of={
        pair: (*map(CLAIMS.__getitem__, named), *WAYS[WAY_OF_PAIR[pair]])
        for pair, named in PAIRS.items()
    },
    waiting=True,
)
@pytest.mark.parametrize("pair", PAIRS)
def test_pair(system: System, pair: str) -> Observation:
    """Two attributes of one message arrive unchanged, beside a property with the first's name."""
    one, other = PAIRS[pair]
    attributes = {one: VALUES[one], other: VALUES[other]}
    return _compare_attributes(system, WAY_OF_PAIR[pair], attributes, {one: "wp-property"})
