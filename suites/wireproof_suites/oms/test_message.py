"""The message around the extension header: its wrapper, its parts, its header."""

from wireproof_kit.case import case
from wireproof_kit.observation import Observation
from wireproof_kit.oms.capture import Capture


@case("oms/message/wrapper", clause="oms.message.wrapper")
def test_wrapper(capture: Capture, document_name: str) -> Observation:
    """The document contains the message as a dictionary under the name "message"."""
    return capture.observe(document_name, "oms.message.wrapper")


@case("oms/message/version", clause="oms.message.version")
def test_version(capture: Capture, document_name: str) -> Observation:
    """A message has a version of type String."""
    return capture.observe(document_name, "oms.message.version")


@case("oms/message/header", clause="oms.message.header")
def test_header(capture: Capture, document_name: str) -> Observation:
    """A message has a header of type KeyValue."""
    return capture.observe(document_name, "oms.message.header")


@case("oms/message/properties", clause="oms.message.properties")
def test_properties(capture: Capture, document_name: str) -> Observation:
    """A message has properties of type KeyValue, which may be empty."""
    return capture.observe(document_name, "oms.message.properties")


@case("oms/message/value", clause="oms.message.value")
def test_value(capture: Capture, document_name: str) -> Observation:
    """Every value in the header and properties is a String, a Binary or a Numeric value."""
    return capture.observe(document_name, "oms.message.value")


@case("oms/message/data", clause="oms.message.data")
def test_data(capture: Capture, document_name: str) -> Observation:
    """The data of a message, if present, is of type Binary."""
    return capture.observe(document_name, "oms.message.data")


@case("oms/message/message-id", clause="oms.message.message-id")
def test_message_id(capture: Capture, document_name: str) -> Observation:
    """A message header has a messageId, a non-empty String."""
    return capture.observe(document_name, "oms.message.message-id")


@case("oms/message/born-timestamp", clause="oms.message.born-timestamp")
def test_born_timestamp(capture: Capture, document_name: str) -> Observation:
    """A message header has a bornTimestamp of type Long."""
    return capture.observe(document_name, "oms.message.born-timestamp")


@case("oms/message/born-host", clause="oms.message.born-host")
def test_born_host(capture: Capture, document_name: str) -> Observation:
    """A message header has a bornHost, a non-empty String."""
    return capture.observe(document_name, "oms.message.born-host")


@case("oms/message/qos", clause="oms.message.qos")
def test_qos(capture: Capture, document_name: str) -> Observation:
    """The qos field of a message header, if present, is 0, 1 or 2."""
    return capture.observe(document_name, "oms.message.qos")


@case("oms/message/destination", clause="oms.message.destination")
def test_destination(capture: Capture, document_name: str) -> Observation:
    """A message header has a destination of type String."""
    return capture.observe(document_name, "oms.message.destination")


@case("oms/message/compression", clause="oms.message.compression")
def test_compression(capture: Capture, document_name: str) -> Observation:
    """The compression field of a message header, if present, is a String."""
    return capture.observe(document_name, "oms.message.compression")
