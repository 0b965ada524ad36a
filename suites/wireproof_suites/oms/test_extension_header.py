"""The extension header: one dictionary, attributes of their types."""

from wireproof_kit.case import case
from wireproof_kit.observation import Observation
from wireproof_kit.oms.capture import Capture


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
