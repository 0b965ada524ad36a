"""What several frames have in common: identifiers, consumers, texts, headers, wide numbers."""

from typing import ClassVar

from scapy.fields import ByteEnumField, Field, FieldLenField, LEIntField
from scapy.packet import Packet
from scapy.volatile import RandNum

from wireproof_kit.pcap.layer import Layer, Layers, Octets

IDENTIFIER_KINDS = {1: "numeric", 2: "string"}
CONSUMER_KINDS = {1: "consumer", 2: "consumer group"}
HEADER_KINDS = {
    1: "raw",
    2: "string",
    3: "bool",
    4: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "int128",
    9: "uint8",
    10: "uint16",
    11: "uint32",
    12: "uint64",
    13: "uint128",
    14: "float32",
    15: "float64",
}


class Wide(Field[int, bytes]):
    """A number of 16 bytes, the least significant first."""

    def __init__(self, name: str, default: int) -> None:
        super().__init__(name, default, "<16s")

    def i2m(self, pkt: Packet | None, x: int | None) -> bytes:
        """Return the number's bytes."""
        return (x or 0).to_bytes(16, "little")

    def m2i(self, pkt: Packet | None, x: bytes) -> int:
        """Return the bytes' number."""
        return int.from_bytes(x, "little")

    def randval(self) -> RandNum:
        """Return any number that fits."""
        return RandNum(0, (1 << 128) - 1)


class Single(Field[float, float]):
    """A float of 4 bytes."""

    def __init__(self, name: str) -> None:
        super().__init__(name, 0.0, "<f")


class Identifier(Layer):
    """Which stream or topic: a number of 4 bytes, or a name."""

    name = "Iggy identifier"
    fields_desc: ClassVar = [
        ByteEnumField("kind", 1, IDENTIFIER_KINDS),
        FieldLenField("length", None, length_of="value", fmt="B"),
        Octets("value", b"\1\0\0\0", lambda pkt: pkt.length),
    ]


class Consumer(Layer):
    """Who polls: a consumer or a group, by number."""

    name = "Iggy consumer"
    fields_desc: ClassVar = [ByteEnumField("kind", 1, CONSUMER_KINDS), LEIntField("id", 1)]


class Text(Layer):
    """A text behind its length of 4 bytes."""

    name = "Iggy text"
    fields_desc: ClassVar = [
        FieldLenField("length", None, length_of="value", fmt="<I"),
        Octets("value", b"", lambda pkt: pkt.length),
    ]


class Header(Layer):
    """One header: key, kind and value."""

    name = "Iggy header"
    fields_desc: ClassVar = [
        FieldLenField("key_length", None, length_of="key", fmt="<I"),
        Octets("key", b"key", lambda pkt: pkt.key_length),
        ByteEnumField("kind", 2, HEADER_KINDS),
        FieldLenField("value_length", None, length_of="value", fmt="<I"),
        Octets("value", b"value", lambda pkt: pkt.value_length),
    ]


HEADERS = (
    FieldLenField("headers_length", None, length_of="headers", fmt="<I"),
    Layers("headers", Header, length_from=lambda pkt: pkt.headers_length),
)
"""The text has the headers alone; their length stands before them on the wire, 0 without any."""

PAYLOAD = (
    FieldLenField("length", None, length_of="content", fmt="<I"),
    Octets("content", b"payload", lambda pkt: pkt.length),
)
