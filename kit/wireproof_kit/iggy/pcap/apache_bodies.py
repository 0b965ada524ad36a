"""Bodies of Apache Iggy's frames with headers of 256 bytes, protocol 0.11."""

from typing import ClassVar

from scapy.fields import (
    ByteEnumField,
    ByteField,
    FieldLenField,
    LEIntField,
    LELongField,
    StrField,
)

from wireproof_kit.iggy.pcap.parts import CONSUMER_KINDS, Identifier, Utf8, Wide, text
from wireproof_kit.iggy.pcap.requests import STRATEGIES, Empty, Partitioning
from wireproof_kit.pcap.layer import Bounded, Inner, Layer, Layers, Octets, expect

BATCH_HEADER_SIZE = 256


def zeros(name: str, size: int) -> Octets:
    """Return a field of reserved bytes."""
    return Octets(name, bytes(size), lambda pkt: size)


def short_text(name: str) -> tuple[FieldLenField, Utf8]:
    """Return two fields for a text: its length in 1 byte, and its bytes."""
    length = f"{name}_length"
    return (
        FieldLenField(length, None, length_of=name, fmt="B"),
        Utf8(name, b"x", lambda pkt: int(pkt.getfieldval(length))),
    )


class Login(Layer):
    """Scapy layer of the body of a login with name and password."""

    name = "Iggy login"
    fields_desc: ClassVar = [
        LEIntField("protocol_version", 11 << 10),
        *short_text("sdk_name"),
        *short_text("sdk_version"),
        *short_text("username"),
        *short_text("password"),
        *text("context"),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for an SDK without name or version."""
        for name in ("sdk_name_length", "sdk_version_length"):
            length = self.getfieldval(name)
            expect(name, "1 to 255", length, holds=length > 0)


class Typed(Layer):
    """Scapy layer of a key or a value of user headers."""

    name = "Iggy typed bytes"
    fields_desc: ClassVar = [
        ByteField("kind", 2),
        FieldLenField("length", None, length_of="value", fmt="<I"),
        Octets("value", b"v", lambda pkt: pkt.length),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for kind 0, or a length that is not 1 to 255."""
        expect("kind", "1 or more", self.kind, holds=self.kind > 0)
        expect("length", "1 to 255", self.length, holds=1 <= self.length <= 255)


class UserHeader(Layer):
    """Scapy layer of a user header."""

    name = "Iggy user header"
    fields_desc: ClassVar = [Inner("key", Typed), Inner("content", Typed)]


class UserHeaders(Layer):
    """Scapy layer of a block of user headers, or of options."""

    name = "Iggy user headers"
    fields_desc: ClassVar = [Layers("headers", UserHeader)]


class Frame(Layer):
    """Scapy layer of a message in a batch: the payload stands in front of the user headers."""

    name = "Iggy message frame"
    fields_desc: ClassVar = [
        LELongField("checksum", 0),
        Wide("id", 0),
        LEIntField("offset_delta", 0),
        LEIntField("timestamp_delta", 0),
        FieldLenField("user_headers_length", None, length_of="user_headers", fmt="<I"),
        FieldLenField("payload_length", None, length_of="payload_bytes", fmt="<I"),
        LELongField("reserved", 0),
        Octets("payload_bytes", b"payload", lambda pkt: pkt.payload_length),
        Octets("user_headers", b"", lambda pkt: pkt.user_headers_length),
    ]


_BATCH = (
    LELongField("partition_id", 0),
    LELongField("base_offset", 0),
    LELongField("base_timestamp", 0),
    LELongField("origin_timestamp", 0),
    LELongField("batch_length", BATCH_HEADER_SIZE),
    LELongField("batch_checksum", 0),
    LEIntField("message_count", 0),
    zeros("reserved", 204),
)


class Batch(Layer):
    """Scapy layer of a batch whose frames run to the end of the bytes, as in a send."""

    name = "Iggy batch"
    fields_desc: ClassVar = [*_BATCH, Layers("frames", Frame)]


class StoredBatch(Layer):
    """Scapy layer of a batch with others behind it, as in a log and in a poll."""

    name = "Iggy stored batch"
    fields_desc: ClassVar = [
        *_BATCH,
        Layers("frames", Frame, length_from=lambda pkt: pkt.batch_length - BATCH_HEADER_SIZE),
    ]


_PLACE = (Inner("stream", Identifier), Inner("topic", Identifier))


class Consumer(Layer):
    """Scapy layer that identifies who polls: a consumer or a consumer group."""

    name = "Iggy consumer (256 bytes)"
    fields_desc: ClassVar = [ByteEnumField("kind", 1, CONSUMER_KINDS), Inner("id", Identifier)]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown kind of consumer."""
        expect("kind", "1 or 2", self.kind, holds=self.kind in CONSUMER_KINDS)


class OptionalPartition(Layer):
    """Scapy layer of a partition that may be left out."""

    name = "Iggy optional partition"
    fields_desc: ClassVar = [ByteField("flag", 1), LEIntField("partition_id", 0)]

    def check(self) -> None:
        """Raise `LayerViolation` for a flag that is neither 0 nor 1."""
        expect("flag", "0 or 1", self.flag, holds=self.flag in (0, 1))


class ApachePartitioning(Partitioning):
    """Scapy layer that chooses the partition for messages; balanced has no value."""

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown kind, or a value not of its length."""
        super().check()
        holds = {1: self.length == 0, 2: self.length == 4}.get(self.kind, True)
        expect("length", "0 if balanced, 4 of a partition", self.length, holds=holds)


class Metadata(Layer):
    """Scapy layer of what stands in front of the batch of a send."""

    name = "Iggy metadata of a send"
    fields_desc: ClassVar = [
        *_PLACE,
        Inner("partitioning", ApachePartitioning),
        LEIntField("messages_count", 1),
    ]


class Send(Layer):
    """Scapy layer of the body of send_messages."""

    name = "Iggy send_messages (256 bytes)"
    fields_desc: ClassVar = [
        FieldLenField("metadata_length", None, length_of="metadata", fmt="<I"),
        Bounded("metadata", Metadata, lambda pkt: pkt.metadata_length),
        Inner("batch", Batch),
    ]


_CONSUMED = (Inner("consumer", Consumer), *_PLACE, Inner("partition", OptionalPartition))


class Poll(Layer):
    """Scapy layer of the body of poll_messages."""

    name = "Iggy poll_messages (256 bytes)"
    fields_desc: ClassVar = [
        *_CONSUMED,
        ByteEnumField("strategy", 1, STRATEGIES),
        LELongField("value", 0),
        LEIntField("count", 1),
        ByteField("auto_commit", 0),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown polling strategy."""
        expect("strategy", "1 to 5", self.strategy, holds=self.strategy in STRATEGIES)


class GetOffset(Layer):
    """Scapy layer of the body of get_consumer_offset."""

    name = "Iggy get_consumer_offset (256 bytes)"
    fields_desc: ClassVar = [*_CONSUMED]


class _WithAck(Layer):
    def check(self) -> None:
        """Raise `LayerViolation` for an ack that is neither 0 nor 1."""
        expect("ack", "0 or 1", self.ack, holds=self.ack in (0, 1))


class StoreOffset(_WithAck):
    """Scapy layer of the body of store_consumer_offset."""

    name = "Iggy store_consumer_offset (256 bytes)"
    fields_desc: ClassVar = [*_CONSUMED, LELongField("offset", 0), ByteField("ack", 1)]


class DeleteOffset(_WithAck):
    """Scapy layer of the body of delete_consumer_offset."""

    name = "Iggy delete_consumer_offset (256 bytes)"
    fields_desc: ClassVar = [*_CONSUMED, ByteField("ack", 1)]


class _Named(Layer):
    def check(self) -> None:
        """Raise `LayerViolation` for an empty name."""
        expect("label_length", "1 to 255", self.label_length, holds=self.label_length > 0)


class CreateStream(_Named):
    """Scapy layer of the body of create_stream; options run to its end."""

    name = "Iggy create_stream (256 bytes)"
    fields_desc: ClassVar = [*short_text("label"), Layers("options", UserHeader)]


class CreateTopic(_Named):
    """Scapy layer of the body of create_topic; options run to its end."""

    name = "Iggy create_topic (256 bytes)"
    fields_desc: ClassVar = [
        Inner("stream", Identifier),
        LEIntField("partitions_count", 1),
        *short_text("label"),
        Layers("options", UserHeader),
    ]


class CreateGroup(_Named):
    """Scapy layer of the body of create_consumer_group."""

    name = "Iggy create_consumer_group (256 bytes)"
    fields_desc: ClassVar = [*_PLACE, *short_text("label")]


class OfStream(Layer):
    """Scapy layer of the body of a request about one stream."""

    name = "Iggy request of a stream (256 bytes)"
    fields_desc: ClassVar = [Inner("stream", Identifier)]


class OfTopic(Layer):
    """Scapy layer of the body of a request about one topic, or about its groups."""

    name = "Iggy request of a topic (256 bytes)"
    fields_desc: ClassVar = [*_PLACE]


class OfGroup(Layer):
    """Scapy layer of the body of a request about one consumer group."""

    name = "Iggy request of a group (256 bytes)"
    fields_desc: ClassVar = [*_PLACE, Inner("group", Identifier)]


REQUESTS: dict[int, type[Layer]] = {
    1: Login,
    3: Empty,
    128: CreateStream,
    130: OfStream,
    132: CreateTopic,
    134: OfTopic,
    139: CreateGroup,
    **dict.fromkeys((140, 148, 149), OfGroup),
    160: Send,
    161: StoreOffset,
    162: DeleteOffset,
}
"""Operation → the layer of the body of a request."""
READS: dict[int, type[Layer]] = {
    1: Empty,
    100: Poll,
    120: GetOffset,
    200: OfStream,
    201: Empty,
    300: OfTopic,
    600: OfGroup,
    601: OfTopic,
    606: OfGroup,
}
"""Code of operation 2 → the layer of the body of a request."""


class Confirmation(Layer):
    """Scapy layer of where the messages of a send are."""

    name = "Iggy confirmation"
    fields_desc: ClassVar = [
        LEIntField("stream_id", 0),
        LEIntField("topic_id", 0),
        LEIntField("partition_id", 0),
        LELongField("base_offset", 0),
    ]


class Confirmations(Layer):
    """Scapy layer of the body of the reply to a send."""

    name = "Iggy confirmations"
    fields_desc: ClassVar = [
        FieldLenField("count", None, count_of="confirmations", fmt="<I"),
        Layers("confirmations", Confirmation, count_from=lambda pkt: pkt.count),
    ]


class Rejection(Layer):
    """Scapy layer of an entry of a result section."""

    name = "Iggy rejection"
    fields_desc: ClassVar = [LEIntField("index", 0), LEIntField("result", 0)]


class Result(Layer):
    """Scapy layer of a result section, with a payload that is not decoded."""

    name = "Iggy result"
    fields_desc: ClassVar = [
        FieldLenField("count", None, count_of="rejections", fmt="<I"),
        Layers("rejections", Rejection, count_from=lambda pkt: pkt.count),
        StrField("payload_bytes", b""),
    ]


class Polled(Layer):
    """Scapy layer of the body of the reply to a poll."""

    name = "Iggy polled batches"
    fields_desc: ClassVar = [
        LEIntField("partition_id", 0),
        LELongField("current_offset", 0),
        LEIntField("count", 0),
        Layers("batches", StoredBatch),
    ]


class Offset(Layer):
    """Scapy layer of the body of the reply to get_consumer_offset."""

    name = "Iggy consumer offset (256 bytes)"
    fields_desc: ClassVar = [
        LEIntField("partition_id", 0),
        LELongField("current_offset", 0),
        LELongField("stored_offset", 0),
    ]


ANSWERS: dict[int, type[Layer]] = {
    160: Confirmations,
    **dict.fromkeys((1, 64, *range(128, 150), 161, 162), Result),
}
"""Operation → the layer of the body of a reply; 64 stands for a created topic."""
READ_ANSWERS: dict[int, type[Layer]] = {100: Polled, 120: Offset}
"""Code of operation 2 → the layer of the body of a reply that has one."""
