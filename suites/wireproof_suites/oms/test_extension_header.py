"""The extension header: one dictionary, attributes of their types."""

from collections.abc import Mapping

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Attributes
from wireproof_kit.oms.adapter.system import System
from wireproof_kit.oms.capture import Capture
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue


@case("oms/extension-header/dictionary", clause="oms.extension-header.dictionary")
def test_dictionary(capture: Capture, document_name: str) -> Observation:
    """If a message has an extension header, the header is a single dictionary."""
    return capture.observe(document_name, "oms.extension-header.dictionary")


@case("oms/extension-header/value", clause="oms.extension-header.value")
def test_value(capture: Capture, document_name: str) -> Observation:
    """Every value in the extension header is a String, a Binary or a Numeric value."""
    return capture.observe(document_name, "oms.extension-header.value")


@case("oms/extension-header/number", clause="oms.extension-header.number")
def test_number(capture: Capture, document_name: str) -> Observation:
    """Long and Integer attributes are whole numbers within the range of their type."""
    return capture.observe(document_name, "oms.extension-header.number")


@case("oms/extension-header/text", clause="oms.extension-header.text")
def test_text(capture: Capture, document_name: str) -> Observation:
    """Attributes of type String hold strings."""
    return capture.observe(document_name, "oms.extension-header.text")


@case("oms/extension-header/delivery-count", clause="oms.extension-header.delivery-count")
def test_delivery_count(capture: Capture, document_name: str) -> Observation:
    """The attribute deliveryCount, if present, is not negative."""
    return capture.observe(document_name, "oms.extension-header.delivery-count")


@case("oms/extension-header/expiry", clause="oms.extension-header.expiry")
def test_expiry(capture: Capture, document_name: str) -> Observation:
    """The expireTime, if present, does not lie between the birth time and the due time."""
    return capture.observe(document_name, "oms.extension-header.expiry")


ONE_BY_ONE: Mapping[str, tuple[str, JsonValue]] = {
    "correlation-id": (names.CORRELATION_ID, "wp"),
    "message-key": (names.MESSAGE_KEY, "wp"),
    "trace-id": (names.TRACE_ID, "wp"),
    "delay-time": (names.DELAY_TIME, 0),
    "expire-time": (names.EXPIRE_TIME, 2**63 - 1),
    "priority": (names.PRIORITY, 5),
}


@case(
    "oms/extension-header/subset",
    clause="oms.extension-header.subset",
    needs_of={name: (name,) for name in ONE_BY_ONE},
    waiting=True,
)
@pytest.mark.parametrize(("name", "value"), ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_subset(system: System, name: str, value: JsonValue) -> Observation:
    """A message with a single attribute is accepted."""
    return _observe_accepted(system, {name: value})


@case(
    "oms/extension-header/subset/several",
    clause="oms.extension-header.subset",
    waiting=True,
)
@pytest.mark.parametrize("count", ["no-header", "none", "all"])
def test_subset_of_several(system: System, count: str) -> Observation:
    """A message is accepted without an extension header, with an empty one and with a full one."""
    if count == "no-header":
        return _observe_accepted(system, None)
    every = ONE_BY_ONE.values() if count == "all" else ()
    return _observe_accepted(system, {name: value for name, value in every if system.claims(name)})


def _observe_accepted(system: System, attributes: Attributes | None) -> Observation:
    sent = system.new_destination().send(attributes)
    return observed("accepted" if sent.is_accepted else "refused", note=sent.why)
