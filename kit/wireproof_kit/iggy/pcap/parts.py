"""What several frames have in common: identifiers, consumers, texts, headers, wide numbers."""

from typing import ClassVar

from scapy.fields import ByteEnumField, Field, FieldLenField, LEIntField
from scapy.packet import Packet
from scapy.volatile import RandNum

from wireproof_kit.pcap.layer import Layer, Layers, LayerViolation, Octets, expect

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
    """A scapy field: a little-endian number of 16 bytes."""

    def __init__(self, name: str, default: int) -> None:
        super().__init__(name, default, "<16s")

    def i2m(self, pkt: Packet | None, x: int | None) -> bytes:
        """Return the 16 bytes of a number."""
        return (x or 0).to_bytes(16, "little")

    def m2i(self, pkt: Packet | None, x: bytes) -> int:
        """Return the number in 16 bytes."""
        return int.from_bytes(x, "little")

    def randval(self) -> RandNum:
        """Return a random number of up to 16 bytes."""
        return RandNum(0, (1 << 128) - 1)


def utf8(name: str, data: bytes) -> bytes:
    """Return the bytes if they are valid UTF-8; ``name`` is the field's name for the error.

    Raises:
        LayerViolation: the bytes are not UTF-8.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise LayerViolation(f"{name}: expected UTF-8, found {data!r}") from error
    return data


class Single(Field[float, float]):
    """A scapy field: a little-endian float of 4 bytes."""

    def __init__(self, name: str) -> None:
        super().__init__(name, 0.0, "<f")


class Utf8(Octets):
    """A scapy field with text; earlier fields give its length in bytes."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Return the bytes after the text, and the bytes of the text.

        Raises:
            LayerViolation: the bytes are not UTF-8.
        """
        rest, text = super().getfield(pkt, s)
        return rest, utf8(self.name, text)


class Identifier(Layer):
    """Scapy layer that identifies a stream or topic: by a number of 4 bytes, or by name."""

    name = "Iggy identifier"
    fields_desc: ClassVar = [
        ByteEnumField("kind", 1, IDENTIFIER_KINDS),
        FieldLenField("length", None, length_of="value", fmt="B"),
        Octets("value", b"\1\0\0\0", lambda pkt: pkt.length),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown kind, a number not of 4 bytes, an empty name."""
        expect("kind", "1 or 2", self.kind, holds=self.kind in IDENTIFIER_KINDS)
        fits = self.length == 4 if self.kind == 1 else self.length > 0
        expect("length", "4, or 1 to 255 of a name", self.length, holds=fits)


class Consumer(Layer):
    """Scapy layer that identifies who polls: a consumer or a consumer group, by number."""

    name = "Iggy consumer"
    fields_desc: ClassVar = [ByteEnumField("kind", 1, CONSUMER_KINDS), LEIntField("id", 1)]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown kind of consumer."""
        expect("kind", "1 or 2", self.kind, holds=self.kind in CONSUMER_KINDS)


def text(name: str) -> tuple[FieldLenField, Utf8]:
    """Return two scapy fields for a text: its length in 4 bytes, and its bytes."""
    length = f"{name}_length"
    return (
        FieldLenField(length, None, length_of=name, fmt="<I"),
        Utf8(name, b"", lambda pkt: int(pkt.getfieldval(length))),
    )


class Header(Layer):
    """Scapy layer of one message header: key, kind and value."""

    name = "Iggy header"
    fields_desc: ClassVar = [
        FieldLenField("key_length", None, length_of="key", fmt="<I"),
        Utf8("key", b"key", lambda pkt: pkt.key_length),
        ByteEnumField("kind", 2, HEADER_KINDS),
        FieldLenField("value_length", None, length_of="value", fmt="<I"),
        Octets("value", b"value", lambda pkt: pkt.value_length),
    ]

    def check(self) -> None:
        """Raise `LayerViolation` for an unknown kind, or a key or value not of 1 to 255 bytes."""
        expect("kind", "1 to 15", self.kind, holds=self.kind in HEADER_KINDS)
        for name in ("key_length", "value_length"):
            length = self.getfieldval(name)
            expect(name, "1 to 255", length, holds=1 <= length <= 255)


HEADERS = (
    FieldLenField("headers_length", None, length_of="headers", fmt="<I"),
    Layers("headers", Header, length_from=lambda pkt: pkt.headers_length),
)
"""The published text has only the headers; on the wire their length precedes them, 0 for none."""

PAYLOAD = (
    FieldLenField("length", None, length_of="content", fmt="<I"),
    Octets("content", b"payload", lambda pkt: pkt.length),
)
