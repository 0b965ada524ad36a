"""Messages as a broker pushes them, one layer for each way to subscribe."""

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

from wireproof_kit.pcap.layer import Layer, Octets

EXTEND_VERSIONS = {0: "none", 2: "tag", 4: "json header"}

_HEAD = (
    SignedLongField("timestamp_ns", 0),
    ShortField("attempts", 1),
    LongField("internal_id", 1),
    LongField("trace_id", 0),
)

_EXTENSION = (
    ByteEnumField("extend_version", 0, EXTEND_VERSIONS),
    ConditionalField(
        FieldLenField("extend_length", None, length_of="extend_data", fmt="!H"),
        lambda pkt: pkt.extend_version != 0,
    ),
    ConditionalField(
        Octets("extend_data", b"", lambda pkt: pkt.extend_length),
        lambda pkt: pkt.extend_version != 0,
    ),
)
"""The text always has a length behind the version; brokers leave it out of version 0."""

_PLACE = (LongField("disk_queue_offset", 0), IntField("disk_queue_data_size", 0))

_BODY = StrField("body", b"")


class Message(Layer):
    """A message of a plain topic."""

    name = "NSQ message"
    fields_desc: ClassVar = [*_HEAD, _BODY]


class ExtendedMessage(Layer):
    """A message of a topic with extend headers."""

    name = "NSQ message with extension"
    fields_desc: ClassVar = [*_HEAD, *_EXTENSION, _BODY]


class PlacedMessage(Layer):
    """A message as SUB_ORDERED and SUB_ADVANCED push it: with its place in the queue."""

    name = "NSQ message with its place"
    fields_desc: ClassVar = [*_HEAD, *_PLACE, _BODY]


class PlacedExtendedMessage(Layer):
    """Both: the extension stands before the place."""

    name = "NSQ message with extension and its place"
    fields_desc: ClassVar = [*_HEAD, *_EXTENSION, *_PLACE, _BODY]


MESSAGES: dict[tuple[bool, bool], type[Layer]] = {
    (False, False): Message,
    (True, False): ExtendedMessage,
    (False, True): PlacedMessage,
    (True, True): PlacedExtendedMessage,
}
"""(topic with extend headers, subscribed in order) → the layer."""
