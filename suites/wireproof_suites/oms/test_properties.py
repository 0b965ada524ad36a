"""User properties, and attributes together, on every way that a message may take."""

from collections.abc import Mapping
from decimal import Decimal
from typing import cast

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes
from wireproof_kit.oms.adapter.system import System
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.message_way import MessageWay
from wireproof_suites.oms.steps import TEXTS, compare

SENT = MessageWay()
WAYS: Mapping[str, MessageWay] = {
    "sent": SENT,
    "again": MessageWay(comes_again=True),
    "committed": MessageWay(is_committed=True),
    "second-group": MessageWay(in_second_group=True),
}
NEEDS = {name: way.needs for name, way in WAYS.items()}
FAR_MS = 2**62
VALUES: Mapping[str, JsonValue] = {
    names.CORRELATION_ID: "wp-correlation",
    names.MESSAGE_KEY: "wp-key",
    names.TRACE_ID: "wp-trace",
    names.PRIORITY: 7,
    names.EXPIRE_TIME: FAR_MS,
}
"""Attributes that arrive as they were sent, on every way."""
USUAL: Attributes = {"wp-name": "value", "wpOther": "another value", "WP_NAME": "a third one"}
UNUSUAL: Mapping[str, Attributes] = {
    "long": {"wp": "0123456789abcdef" * 2063},
    "empty": {"wp": "", "wp-other": "a"},
    "separators": {"wp": "a=b;c,d:e|f&g", "wp-other": "a"},
    "many": {f"wp-{number}": str(number) for number in range(100)},
    "separators-in-name": {"wp=a;b,c:d": "a", "wp-other": "b"},
    "other-script": {"ключ-鍵": "значение-値", "wp-other": "b"},
    "named-as-attribute": {names.TRACE_ID: "a", names.MESSAGE_KEY: "b", "wp-other": "c"},
    "named-as-header": {names.MESSAGE_ID: "a", names.DESTINATION: "b", "wp-other": "c"},
}
"""Properties that no text forbids, and that a system may refuse, but not alter.

Control characters are not among them: a String is a sequence of printable characters.
"""

NUMBERS: Mapping[str, float] = {"double": 2.5, "negative": -(2**31), "long": 2**53 + 1}


def _compare_properties(system: System, way: MessageWay, properties: Attributes) -> Observation:
    """Return whether user properties arrive unchanged on a way."""
    delivery = way.deliver(system, NOTHING, properties, None)
    if isinstance(delivery, Observation):
        return delivery
    return compare(delivery.properties, properties)


def _compare_attributes(
    system: System, way: MessageWay, attributes: Attributes, properties: Attributes
) -> Observation:
    """Return whether attributes arrive unchanged on a way, beside properties."""
    delivery = way.deliver(system, attributes, properties, None)
    if isinstance(delivery, Observation):
        return delivery
    return compare(delivery.attributes, attributes)


@case("oms/round-trip/properties", clause="oms.round-trip.properties", waiting=True)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_properties(system: System, text: str) -> Observation:
    """User properties that are strings arrive unchanged."""
    return _compare_properties(system, SENT, {**USUAL, "wp-text": text})


@case(
    "oms/round-trip/properties/way",
    clause="oms.round-trip.properties",
    needs_of=NEEDS,
    waiting=True,
)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_properties_way(system: System, way: MessageWay) -> Observation:
    """User properties arrive unchanged on every way that a message may take."""
    return _compare_properties(system, way, USUAL)


@case("oms/round-trip/properties/unusual", clause="oms.round-trip.properties", waiting=True)
@pytest.mark.parametrize("properties", UNUSUAL.values(), ids=UNUSUAL)
def test_properties_unusual(system: System, properties: Attributes) -> Observation:
    """User properties of any length, number and name arrive unchanged, or are refused."""
    return _compare_properties(system, SENT, properties)


@case("oms/round-trip/properties/number", clause="oms.round-trip.properties-numbers", waiting=True)
def test_properties_number(system: System) -> Observation:
    """A user property that is a number arrives as the same number, or is refused."""
    return _compare_properties(system, SENT, {"wp-number": 7})


@case(
    "oms/round-trip/properties/number/any",
    clause="oms.round-trip.properties-numbers",
    waiting=True,
)
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_properties_any_number(system: System, number: float) -> Observation:
    """A user property that is a number of any type arrives as the same number, or is refused."""
    delivery = SENT.deliver(system, NOTHING, {"wp-number": cast(JsonValue, number)}, None)
    if isinstance(delivery, Observation):
        return delivery
    due = Decimal(number) if isinstance(number, float) else number  # as the kit reads it
    return compare(delivery.properties, {"wp-number": due})


@case(
    "oms/round-trip/properties/nothing-added", clause="oms.round-trip.nothing-added", waiting=True
)
def test_nothing_added(system: System) -> Observation:
    """A message arrives without user properties that its sender did not set."""
    delivery = SENT.deliver(system, NOTHING, USUAL, None)
    if isinstance(delivery, Observation):
        return delivery
    for name, value in delivery.properties.items():
        if name not in USUAL:
            return observed("added", difference=Difference(name, None, "nothing", repr(value)))
    return observed("nothing-added")


@case(
    "oms/round-trip/together",
    clause="oms.round-trip.unchanged",
    needs_of=NEEDS,
    waiting=True,
)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_together(system: System, way: MessageWay) -> Observation:
    """All attributes of one message arrive unchanged on every way, beside properties."""
    claimed = {name: value for name, value in VALUES.items() if system.claims(name)}
    if not claimed:
        return observed("unsupported:no-attribute", note="no attribute is claimed")
    return _compare_attributes(system, way, claimed, USUAL)
