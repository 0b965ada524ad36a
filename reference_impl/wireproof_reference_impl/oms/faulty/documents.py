"""Faults of the document of a message: parts that are missing, of another type, or not valid."""

from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_header, change_told
from wireproof_reference_impl.oms.faulty.ways import boundary, extra, missing, wrong_value
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue, fields_of

TEXT = "extension-header.text"
TIMES = "store.timestamp store.timestamp-unit store.timestamp-stable store.timestamp-after-birth"
HOST = "store.host"
BIRTH = "message.born-timestamp-assigned store.timestamp-after-birth"
BODY = "message.body-restored"
QOS = "message.qos-default"
ATTRIBUTES = (
    "round-trip.unchanged round-trip.correlation-id round-trip.message-key "
    "round-trip.trace-id round-trip.claimed store.after-send store.timestamp "
    "store.timestamp-unit store.timestamp-own store.timestamp-stable store.timestamp-after-birth "
    "store.host store.host-not-empty delivery-count.present delivery-count.not-negative "
    "delivery-count.grows delivery-count.base priority.default priority.not-folded "
    "partition.delivered-from message-key.one-partition transaction.same-id"
)
"""What depends on the extension header as a whole."""


def _part(name: str, value: JsonValue) -> Override:
    """Return an override by which a part of every message has this value."""

    def wrong(original: Original, message: Message, extension_header: JsonObject) -> JsonObject:
        document: JsonObject = original(message, extension_header)
        fields_of(document[names.MESSAGE])[name] = value
        return document

    return around(documents, "message_document", wrong)


def _without(name: str) -> Override:
    """Return an override by which every message lacks a part."""

    def wrong(original: Original, message: Message, extension_header: JsonObject) -> JsonObject:
        document: JsonObject = original(message, extension_header)
        fields_of(document[names.MESSAGE]).pop(name, None)
        return document

    return around(documents, "message_document", wrong)


def _header(name: str, value: JsonValue) -> Override:
    """Return an override by which the header of every message has this value."""

    def wrong(told: JsonObject, message: Message) -> None:
        told[name] = value

    return change_header(wrong)


def _headless(name: str) -> Override:
    """Return an override by which the header of every message lacks a name."""

    def wrong(told: JsonObject, message: Message) -> None:
        told.pop(name, None)

    return change_header(wrong)


def _further(value: JsonValue) -> Override:
    """Return an override by which every extension header has a further attribute."""

    def wrong(told: JsonObject, message: Message) -> None:
        told["x-server"] = value

    return change_told(wrong)


def _told(name: str, change: Callable[[JsonValue], JsonValue]) -> Override:
    """Return an override that changes an attribute that the server sets."""

    def wrong(told: JsonObject, message: Message) -> None:
        told[name] = change(told[name])

    return change_told(wrong)


def _qos(value: int) -> Override:
    """Return an override by which a message without a qos is told to have this one."""

    def wrong(told: JsonObject, message: Message) -> None:
        if names.QOS not in message.sent.header:
            told[names.QOS] = value

    return change_header(wrong)


@wrong_value("extension-header.dictionary")
def extension_header_as_list() -> Change:
    """The extension header is a list of dictionaries."""
    return _part(names.EXTENSION_HEADER, [{names.PRIORITY: 1}])


@wrong_value("extension-header.dictionary")
def extension_header_as_text() -> Change:
    """The extension header is a string."""
    return _part(names.EXTENSION_HEADER, "priority=1")


@missing("extension-header.dictionary")
def extension_header_null() -> Change:
    """The extension header is null."""
    return _part(names.EXTENSION_HEADER, None)


@wrong_value("message.qos-default")
def qos_by_default_1() -> Change:
    """The qos of a message without one is 1."""
    return _qos(1)


@boundary("message.qos-default")
def qos_by_default_2() -> Change:
    """The qos of a message without one is 2."""
    return _qos(2)


@extra("extension-header.value")
def attribute_null() -> Change:
    """Every extension header has an attribute that is null."""
    return _further(None)


@extra("extension-header.value")
def attribute_boolean() -> Change:
    """Every extension header has an attribute that is a boolean."""
    return _further(True)


@extra("extension-header.value")
def attribute_dictionary() -> Change:
    """Every extension header has an attribute that is an empty dictionary."""
    return _further({})


@wrong_value("extension-header.number")
def store_time_as_text() -> Change:
    """storeTimestamp is a string of digits."""
    return _told(names.STORE_TIMESTAMP, str)


@boundary("extension-header.number", partial(_told, names.STORE_TIMESTAMP))
def store_time_beyond_long(told: JsonValue) -> JsonValue:
    """storeTimestamp is one more than a Long can be."""
    return 2**63


@missing("extension-header.number", partial(_told, names.STORE_TIMESTAMP))
def store_time_boolean(told: JsonValue) -> JsonValue:
    """storeTimestamp is a boolean."""
    return True


@wrong_value("extension-header.text", partial(_told, names.STORE_HOST))
def store_host_as_number(told: JsonValue) -> JsonValue:
    """storeHost is a number."""
    return 2130706433


@extra("document.printable")
def attribute_with_control_character() -> Change:
    """Every extension header has an attribute with a control character."""
    return _further("a\u0007b")


@boundary("document.printable")
def attribute_with_line_separator() -> Change:
    """Every extension header has an attribute with the character U+2028."""
    return _further("a\u2028b")


@missing("message.version")
def version_dropped() -> Change:
    """A message has no version."""
    return _without(names.VERSION)


@wrong_value("message.version")
def version_as_number() -> Change:
    """The version of a message is a number."""
    return _part(names.VERSION, 1)


@missing("message.properties")
def properties_dropped() -> Change:
    """A message has no properties."""
    return _without(names.PROPERTIES)


@extra("message.value")
def property_null() -> Change:
    """Every message has a property that is null."""
    return _part(names.PROPERTIES, {"x": None})


@extra("message.value")
def header_with_list() -> Change:
    """Every header has a value that is a list."""
    return _header("hops", [])


@missing("message.value")
def header_with_null() -> Change:
    """Every header has a value that is null."""
    return _header("replyTo", None)


@wrong_value("message.message-id")
def message_id_as_number() -> Change:
    """The messageId is a number."""
    return _header(names.MESSAGE_ID, 7)


@wrong_value("message.born-timestamp")
def birth_as_text() -> Change:
    """bornTimestamp is a string."""
    return _header(names.BORN_TIMESTAMP, "1790000000000")


@missing("message.born-timestamp")
def birth_dropped() -> Change:
    """A message has no bornTimestamp."""
    return _headless(names.BORN_TIMESTAMP)


@missing("message.born-host")
def born_host_dropped() -> Change:
    """A message has no bornHost."""
    return _headless(names.BORN_HOST)


@boundary("message.born-host")
def born_host_empty() -> Change:
    """The bornHost is empty."""
    return _header(names.BORN_HOST, "")


@boundary("message.qos")
def qos_of_3() -> Change:
    """The qos is 3."""
    return _header(names.QOS, 3)


@wrong_value("message.qos")
def qos_as_text() -> Change:
    """The qos is a string."""
    return _header(names.QOS, "0")


@wrong_value("message.destination")
def destination_as_number() -> Change:
    """The destination is a number."""
    return _header(names.DESTINATION, 1)


@wrong_value("message.compression")
def compression_as_number() -> Change:
    """The compression is a number."""
    return _header(names.COMPRESSION, 1)


FAULTS = list_faults(__name__)
