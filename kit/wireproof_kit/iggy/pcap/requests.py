"""Requests: a length, a code, and what the code needs to know."""

from typing import ClassVar

from scapy.fields import (
    AnyField,
    ByteEnumField,
    ByteField,
    FieldLenField,
    LEIntEnumField,
    LEIntField,
    LELongField,
    StrField,
)
from scapy.packet import Packet

from wireproof_kit.iggy.pcap.messages import SentMessage
from wireproof_kit.iggy.pcap.parts import Consumer, Identifier, utf8
from wireproof_kit.pcap.layer import (
    Enclosing,
    Inner,
    Layer,
    Layers,
    LayerViolation,
    Octets,
    cut,
    expect,
)

STRATEGIES = {1: "offset", 2: "timestamp", 3: "first", 4: "last", 5: "next"}
PARTITIONINGS = {1: "balanced", 2: "partition_id", 3: "messages_key"}


class Empty(Layer):
    """Scapy layer of a request without a payload."""

    name = "Iggy empty request"
    fields_desc: ClassVar[list[AnyField]] = []


class GetClient(Layer):
    """Scapy layer of the payload of get_client."""

    name = "Iggy get_client"
    fields_desc: ClassVar = [LEIntField("client_id", 1)]


class Partitioning(Layer):
    """Scapy layer that chooses the partition for messages: round robin, by number, or by a key."""

    name = "Iggy partitioning"
    fields_desc: ClassVar = [
        ByteEnumField("kind", 2, PARTITIONINGS),
        FieldLenField("length", None, length_of="value", fmt="B"),
        Octets("value", b"\1\0\0\0", lambda pkt: pkt.length),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown kind or an empty key."""
        expect("kind", "1 to 3", self.kind, holds=self.kind in PARTITIONINGS)
        expect("length", "1 to 255 of a key", self.length, holds=self.kind != 3 or self.length > 0)


_PLACE = (Inner("stream", Identifier), Inner("topic", Identifier))


class SendMessages(Layer):
    """Scapy layer of the payload of send_messages: the messages run to the end of the frame."""

    name = "Iggy send_messages"
    fields_desc: ClassVar = [
        *_PLACE,
        Inner("partitioning", Partitioning),
        Layers("messages", SentMessage),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` if there is no message."""
        expect("messages", "1 or more", len(self.messages), holds=bool(self.messages))


class PollMessages(Layer):
    """Scapy layer of the payload of poll_messages; a server ignores bytes after it."""

    name = "Iggy poll_messages"
    fields_desc: ClassVar = [
        Inner("consumer", Consumer),
        *_PLACE,
        LEIntField("partition_id", 1),
        ByteEnumField("strategy", 1, STRATEGIES),
        LELongField("value", 0),
        LEIntField("count", 1),
        ByteField("auto_commit", 0),
        StrField("ignored", None),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown polling strategy."""
        expect("strategy", "1 to 5", self.strategy, holds=self.strategy in STRATEGIES)


class GetOffset(Layer):
    """Scapy layer of the payload of get_consumer_offset."""

    name = "Iggy get_consumer_offset"
    fields_desc: ClassVar = [Inner("consumer", Consumer), *_PLACE, LEIntField("partition_id", 1)]


class StoreOffset(Layer):
    """Scapy layer of the payload of store_consumer_offset."""

    name = "Iggy store_consumer_offset"
    fields_desc: ClassVar = [
        Inner("consumer", Consumer),
        *_PLACE,
        LEIntField("partition_id", 1),
        LELongField("offset", 0),
    ]


class OfStream(Layer):
    """Scapy layer of the payload of get_stream, delete_stream and get_topics."""

    name = "Iggy request of a stream"
    fields_desc: ClassVar = [Inner("stream", Identifier)]


class CreateStream(Layer):
    """Scapy layer of the payload of create_stream: the name runs to the end of the frame."""

    name = "Iggy create_stream"
    fields_desc: ClassVar = [LEIntField("stream_id", 1), StrField("stream_name", b"s")]

    def check(self) -> None:
        """Raise `LayerViolation` if the name is not UTF-8."""
        utf8("stream_name", self.stream_name)


class OfTopic(Layer):
    """Scapy layer of the payload of get_topic, delete_topic and get_consumer_groups."""

    name = "Iggy request of a topic"
    fields_desc: ClassVar = [*_PLACE]


class CreateTopic(Layer):
    """Scapy layer of the payload of create_topic: the name runs to the end of the frame."""

    name = "Iggy create_topic"
    fields_desc: ClassVar = [
        Inner("stream", Identifier),
        LEIntField("topic_id", 1),
        LEIntField("partitions_count", 1),
        StrField("topic_name", b"t"),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` if the name is not UTF-8."""
        utf8("topic_name", self.topic_name)


class Partitions(Layer):
    """Scapy layer of the payload of create_partitions and delete_partitions."""

    name = "Iggy request of partitions"
    fields_desc: ClassVar = [*_PLACE, LEIntField("count", 1)]


class OfGroup(Layer):
    """Scapy layer of the payload that gets, creates, deletes, joins or leaves a consumer group."""

    name = "Iggy request of a consumer group"
    fields_desc: ClassVar = [*_PLACE, LEIntField("consumer_group_id", 1)]


COMMANDS: dict[int, tuple[str, type[Layer]]] = {
    0: ("kill", Empty),
    1: ("ping", Empty),
    10: ("get_stats", Empty),
    20: ("get_me", Empty),
    21: ("get_client", GetClient),
    22: ("get_clients", Empty),
    100: ("poll_messages", PollMessages),
    101: ("send_messages", SendMessages),
    120: ("get_consumer_offset", GetOffset),
    121: ("store_consumer_offset", StoreOffset),
    200: ("get_stream", OfStream),
    201: ("get_streams", Empty),
    202: ("create_stream", CreateStream),
    203: ("delete_stream", OfStream),
    300: ("get_topic", OfTopic),
    301: ("get_topics", OfStream),
    302: ("create_topic", CreateTopic),
    303: ("delete_topic", OfTopic),
    402: ("create_partitions", Partitions),
    403: ("delete_partitions", Partitions),
    600: ("get_consumer_group", OfGroup),
    601: ("get_consumer_groups", OfTopic),
    602: ("create_consumer_group", OfGroup),
    603: ("delete_consumer_group", OfGroup),
    604: ("join_consumer_group", OfGroup),
    605: ("leave_consumer_group", OfGroup),
}
"""Command code → name, and the layer of the payload."""


class Request(Enclosing):
    """Scapy layer of a request; `length` counts the code and the payload."""

    name = "Iggy request"
    fields_desc: ClassVar = [
        LEIntField("length", None),
        LEIntEnumField("code", 1, {code: name for code, (name, _) in COMMANDS.items()}),
    ]
    measure, counted = "length", 4

    def pre_dissect(self, s: bytes) -> bytes:
        """Reject a length without room for a code, rather than wait for the code's bytes.

        Raises:
            LayerViolation: the length is less than 4.
        """
        length = int.from_bytes(s[:4], "little")
        if len(s) >= 4 > length:
            raise LayerViolation(f"length: expected 4 or more, found {length}")
        return s

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the payload's layer by the command code."""
        if self.code not in COMMANDS:
            raise LayerViolation(f"code: expected one that is known, found {self.code}")
        return COMMANDS[self.code][1]


def read_request(data: bytes) -> tuple[Request, bytes]:
    """Decode one request; return it and the bytes after it.

    Raises:
        LayerViolation: the code is unknown, or the payload does not fit it.
        Short: the frame is incomplete.
    """
    return cut(Request, data)
