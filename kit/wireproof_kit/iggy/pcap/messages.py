"""Messages in a send request, and polled messages in the old and in the published layout."""

from typing import ClassVar

from scapy.fields import ByteEnumField, FieldLenField, LEIntField, LELongField

from wireproof_kit.iggy.pcap.parts import HEADERS, PAYLOAD, Wide
from wireproof_kit.pcap.layer import Layer, Layers, expect

STATES = {1: "available", 10: "unavailable", 20: "poisoned", 30: "marked_for_deletion"}


class SentMessage(Layer):
    """Scapy layer of a message in send_messages: id, headers and payload."""

    name = "Iggy message to send"
    fields_desc: ClassVar = [Wide("id", 0), *HEADERS, *PAYLOAD]

    def check(self) -> None:
        """Raise `LayerViolation` for an empty payload."""
        expect("length", "1 or more", self.length, holds=self.length > 0)


class OldMessage(Layer):
    """Scapy layer of a polled message in the older layout, without state and checksum."""

    name = "Iggy message (old)"
    fields_desc: ClassVar = [
        LELongField("offset", 0),
        LELongField("timestamp", 0),
        Wide("id", 0),
        *HEADERS,
        *PAYLOAD,
    ]


class Message(Layer):
    """Scapy layer of a polled message: the state follows the offset, the checksum the id."""

    name = "Iggy message"
    fields_desc: ClassVar = [
        LELongField("offset", 0),
        ByteEnumField("state", 1, STATES),
        LELongField("timestamp", 0),
        Wide("id", 0),
        LEIntField("checksum", 0),
        *HEADERS,
        *PAYLOAD,
    ]


class Polled(Layer):
    """Scapy layer of a poll's response: the number of messages, then the messages."""

    name = "Iggy polled messages"
    fields_desc: ClassVar = [
        FieldLenField("count", None, count_of="messages", fmt="<I"),
        Layers("messages", Message, count_from=lambda pkt: pkt.count),
    ]


class OldPolled(Layer):
    """Scapy layer of a poll's response in the older layout, without state and checksum."""

    name = "Iggy polled messages (old)"
    fields_desc: ClassVar = [
        FieldLenField("count", None, count_of="messages", fmt="<I"),
        Layers("messages", OldMessage, count_from=lambda pkt: pkt.count),
    ]


class PolledWithPlace(Layer):
    """Scapy layer of later servers' poll response: partition, current offset, count, messages."""

    name = "Iggy polled messages (tagged)"
    fields_desc: ClassVar = [
        LEIntField("partition_id", 1),
        LELongField("current_offset", 0),
        FieldLenField("count", None, count_of="messages", fmt="<I"),
        Layers("messages", Message, count_from=lambda pkt: pkt.count),
    ]
