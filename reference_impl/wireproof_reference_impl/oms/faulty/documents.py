"""Faults of the document of a message: parts that are missing, of another type, or not valid."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_header,
    change_told,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

VALUE = "extension-header.value"
NUMBER = "extension-header.number"
TEXT = "extension-header.text"
PRINTABLE = "document.printable"
TIMES = "store.timestamp store.timestamp-unit store.timestamp-stable store.timestamp-after-birth"
HOST = "store.host"
BIRTH = "message.born-timestamp-assigned store.timestamp-after-birth"
BODY = "message.body-restored"
QOS = "message.qos-default"
DICTIONARY = "extension-header.dictionary"
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
        document = cast(JsonObject, original(message, extension_header))
        cast(JsonObject, document[names.MESSAGE])[name] = value
        return document

    return around(documents, "message_document", wrong)


def _without(name: str) -> Override:
    """Return an override by which every message lacks a part."""

    def wrong(original: Original, message: Message, extension_header: JsonObject) -> JsonObject:
        document = cast(JsonObject, original(message, extension_header))
        cast(JsonObject, document[names.MESSAGE]).pop(name, None)
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


FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "extension-header-as-list",
        "the extension header is a list of dictionaries",
        _part(names.EXTENSION_HEADER, [{names.PRIORITY: 1}]),
        breaks=DICTIONARY,
        may_break=ATTRIBUTES,
    ),
    wrong_value(
        "extension-header-as-text",
        "the extension header is a string",
        _part(names.EXTENSION_HEADER, "priority=1"),
        breaks=DICTIONARY,
        may_break=ATTRIBUTES,
    ),
    missing(
        "extension-header-null",
        "the extension header is null",
        _part(names.EXTENSION_HEADER, None),
        breaks=DICTIONARY,
        may_break=ATTRIBUTES,
    ),
    wrong_value(
        "qos-by-default-1",
        "the qos of a message without one is 1",
        _qos(1),
        breaks=QOS,
    ),
    boundary(
        "qos-by-default-2",
        "the qos of a message without one is 2",
        _qos(2),
        breaks=QOS,
    ),
    extra(
        "attribute-null",
        "every extension header has an attribute that is null",
        _further(None),
        breaks=VALUE,
    ),
    extra(
        "attribute-boolean",
        "every extension header has an attribute that is a boolean",
        _further(True),
        breaks=VALUE,
    ),
    extra(
        "attribute-dictionary",
        "every extension header has an attribute that is an empty dictionary",
        _further({}),
        breaks=VALUE,
    ),
    wrong_value(
        "store-time-as-text",
        "storeTimestamp is a string of digits",
        _told(names.STORE_TIMESTAMP, str),
        breaks=NUMBER,
        may_break=TIMES,
    ),
    boundary(
        "store-time-beyond-long",
        "storeTimestamp is one more than a Long can be",
        _told(names.STORE_TIMESTAMP, lambda told: 2**63),
        breaks=NUMBER,
        may_break=TIMES,
    ),
    missing(
        "store-time-boolean",
        "storeTimestamp is a boolean",
        _told(names.STORE_TIMESTAMP, lambda told: True),
        breaks=NUMBER,
        may_break=f"{TIMES} {VALUE}",
    ),
    wrong_value(
        "store-host-as-number",
        "storeHost is a number",
        _told(names.STORE_HOST, lambda told: 2130706433),
        breaks=TEXT,
        may_break=HOST,
    ),
    extra(
        "attribute-with-control-character",
        "every extension header has an attribute with a control character",
        _further("a\u0007b"),
        breaks=PRINTABLE,
    ),
    boundary(
        "attribute-with-line-separator",
        "every extension header has an attribute with the character U+2028",
        _further("a\u2028b"),
        breaks=PRINTABLE,
    ),
    missing(
        "version-dropped",
        "a message has no version",
        _without(names.VERSION),
        breaks="message.version",
    ),
    wrong_value(
        "version-as-number",
        "the version of a message is a number",
        _part(names.VERSION, 1),
        breaks="message.version",
    ),
    missing(
        "properties-dropped",
        "a message has no properties",
        _without(names.PROPERTIES),
        breaks="message.properties",
    ),
    extra(
        "property-null",
        "every message has a property that is null",
        _part(names.PROPERTIES, {"x": None}),
        breaks="message.value",
    ),
    extra(
        "header-with-list",
        "every header has a value that is a list",
        _header("hops", []),
        breaks="message.value",
    ),
    missing(
        "header-with-null",
        "every header has a value that is null",
        _header("replyTo", None),
        breaks="message.value",
    ),
    wrong_value(
        "message-id-as-number",
        "the messageId is a number",
        _header(names.MESSAGE_ID, 7),
        breaks="message.message-id",
        may_break="message.message-id-assigned",
    ),
    wrong_value(
        "birth-as-text",
        "bornTimestamp is a string",
        _header(names.BORN_TIMESTAMP, "1790000000000"),
        breaks="message.born-timestamp",
        may_break=f"{BIRTH} extension-header.expiry",
    ),
    missing(
        "birth-dropped",
        "a message has no bornTimestamp",
        _headless(names.BORN_TIMESTAMP),
        breaks="message.born-timestamp",
        may_break=BIRTH,
    ),
    missing(
        "born-host-dropped",
        "a message has no bornHost",
        _headless(names.BORN_HOST),
        breaks="message.born-host",
    ),
    boundary(
        "born-host-empty",
        "the bornHost is empty",
        _header(names.BORN_HOST, ""),
        breaks="message.born-host",
    ),
    boundary(
        "qos-of-3",
        "the qos is 3",
        _header(names.QOS, 3),
        breaks="message.qos",
        may_break="message.qos-default",
    ),
    wrong_value(
        "qos-as-text",
        "the qos is a string",
        _header(names.QOS, "0"),
        breaks="message.qos",
        may_break="message.qos-default",
    ),
    wrong_value(
        "destination-as-number",
        "the destination is a number",
        _header(names.DESTINATION, 1),
        breaks="message.destination",
        may_break="message.destination-received",
    ),
    wrong_value(
        "compression-as-number",
        "the compression is a number",
        _header(names.COMPRESSION, 1),
        breaks="message.compression",
        may_break=BODY,
    ),
)
