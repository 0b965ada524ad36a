"""Messages as a broker pushes them (one layer for each way to subscribe) and as it stores them."""

from typing import ClassVar

from scapy.fields import (
    ByteEnumField,
    ConditionalField,
    FieldLenField,
    IntField,
    LongField,
    ShortField,
    SignedLongField,
    StrField,
)
from scapy.packet import Packet

from wireproof_kit.pcap.layer import Bounded, Layer, Octets

EXTEND_VERSIONS = {0: "none", 2: "tag", 4: "json header"}

_HEAD = (
    SignedLongField("timestamp_ns", 0),
    ShortField("attempts", 1),
    LongField("internal_id", 1),
    LongField("trace_id", 0),
)

_VERSION = ByteEnumField("extend_version", 0, EXTEND_VERSIONS)
_LENGTH = FieldLenField("extend_length", None, length_of="extend_data", fmt="!H")
_DATA = Octets("extend_data", b"", lambda pkt: pkt.extend_length)


def _has_data(pkt: Packet) -> bool:
    return bool(pkt.extend_version != 0)


_EXTENSION = (
    _VERSION,
    ConditionalField(_LENGTH, _has_data),
    ConditionalField(_DATA, _has_data),
)
"""The published text always has a length after the version; brokers omit it after version 0."""

_PLACE = (LongField("disk_queue_offset", 0), IntField("disk_queue_data_size", 0))

_BODY = StrField("body", b"")


class Message(Layer):
    """Scapy layer of a message from a plain topic."""

    name = "NSQ message"
    fields_desc: ClassVar = [*_HEAD, _BODY]


class ExtendedMessage(Layer):
    """Scapy layer of a message from a topic with extend headers."""

    name = "NSQ message with extension"
    fields_desc: ClassVar = [*_HEAD, *_EXTENSION, _BODY]


class PlacedMessage(Layer):
    """Scapy layer of a message with its position in the queue (SUB_ORDERED, SUB_ADVANCED)."""

    name = "NSQ message with its place"
    fields_desc: ClassVar = [*_HEAD, *_PLACE, _BODY]


class PlacedExtendedMessage(Layer):
    """Scapy layer of a message with an extend header, then its position in the queue."""

    name = "NSQ message with extension and its place"
    fields_desc: ClassVar = [*_HEAD, *_EXTENSION, *_PLACE, _BODY]


def _is_extended(pkt: Packet) -> bool:
    return bool(pkt.attempts >> 12)


class StoredMessage(Layer):
    """Scapy layer of a message on disk; 4 high bits of attempts say if it has a header."""

    name = "NSQ stored message"
    fields_desc: ClassVar = [
        *_HEAD,
        ConditionalField(_VERSION, _is_extended),
        ConditionalField(_LENGTH, lambda pkt: _is_extended(pkt) and _has_data(pkt)),
        ConditionalField(_DATA, lambda pkt: _is_extended(pkt) and _has_data(pkt)),
        _BODY,
    ]


class Stored(Layer):
    """Scapy layer of a record in a queue file: a length, and a message."""

    name = "NSQ record"
    fields_desc: ClassVar = [
        FieldLenField("length", None, length_of="message", fmt="!I"),
        Bounded("message", StoredMessage, lambda pkt: pkt.length),
    ]


MESSAGES: dict[tuple[bool, bool], type[Layer]] = {
    (False, False): Message,
    (True, False): ExtendedMessage,
    (False, True): PlacedMessage,
    (True, True): PlacedExtendedMessage,
}
"""(topic with extend headers, subscribed in order) → the layer of its messages."""
