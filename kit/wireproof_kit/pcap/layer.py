"""Base classes of the scapy layers, which reject invalid bytes, and shared fields.

scapy itself accepts invalid bytes: an incomplete text is a shorter text, an unreadable payload is
raw bytes. A second reader that checks the first one must reject them. So these layers raise an
error where the bytes end early, and leave the bytes after a layer to the caller.
"""

import struct
from collections.abc import Callable
from typing import ClassVar, TypeVar, cast

# Never the module with all of scapy: it takes 717 ms to import, scapy.packet 148 ms.
from scapy.base_classes import BasePacket
from scapy.fields import Field, PacketField, PacketListField, StrField
from scapy.packet import Packet, Padding

L = TypeVar("L", bound="Layer")

Read = Callable[[Packet], int]
"""A function that returns a length or count from the fields of a layer decoded so far."""


class LayerViolation(ValueError):
    """The bytes are not a valid layer; the message names the field and the reason."""


class Short(LayerViolation):
    """The bytes end before the layer does: it may be valid once more bytes have arrived."""


class Layer(Packet):
    """A scapy layer without a payload; the bytes after its fields belong to other layers."""

    def do_dissect(self, s: bytes) -> bytes:
        """Decode the fields in order; return the bytes after them.

        Raises:
            Short: the bytes end inside a number.
        """
        try:
            return super().do_dissect(s)
        except struct.error as error:
            raise Short(f"{type(self).__name__}: {error}") from error

    def post_dissect(self, s: bytes) -> bytes:
        """Check the decoded fields with `check`, and return the remaining bytes unchanged."""
        self.check()
        return s

    def check(self) -> None:
        """Raise `LayerViolation` if a field has a value that is never valid."""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes | None]:
        """Return no payload and all bytes after the fields as the rest."""
        return b"", s


class Enclosing(Layer):
    """A scapy layer around another one, whose size is in the field named by `measure`.

    The size also counts `counted` bytes of the outer layer itself. All fields have a fixed size.
    """

    measure: ClassVar[str]
    counted: ClassVar[int] = 0

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Set the size field named by `measure`, unless it has a value; return the built bytes."""
        if self.getfieldval(self.measure) is not None:
            return pkt + pay
        names = [each.name for each in self.fields_desc]
        fields = [cast("Field[int, int]", each) for each in self.fields_desc]
        at = names.index(self.measure)
        start = sum(field.sz for field in fields[:at])
        written = fields[at].addfield(self, b"", self.counted + len(pay))
        return pkt[:start] + written + pkt[start + len(written) :] + pay

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes | None]:
        """Split the bytes after the fields into payload and rest, by the size in the layer.

        Raises:
            LayerViolation: the layer gives an impossible length.
            Short: there are fewer bytes.
        """
        told = int(self.getfieldval(self.measure))
        due = f"{self.counted} or more"
        expect(self.measure, due, told, holds=told >= self.counted)
        length = told - self.counted
        require(type(self).__name__, s, length)
        return s[:length], s[length:]

    def do_dissect_payload(self, s: bytes) -> None:
        """Decode the payload, even an empty one; reject bytes left after it."""
        kind = self.guess_payload_class(s)
        self.add_payload(decode_filling(kind, s) if issubclass(kind, Layer) else kind(s))


class Octets(StrField):
    """A scapy field whose length earlier fields give; scapy's own field accepts fewer bytes."""

    __slots__ = ["length_from"]

    def __init__(self, name: str, default: bytes, length_from: Read) -> None:
        super().__init__(name, default)
        self.length_from = length_from

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Return the bytes after the field, and the field's bytes.

        Raises:
            LayerViolation: the length is negative.
            Short: there are fewer bytes.
        """
        length = self.length_from(pkt)
        require(self.name, s, length)
        return s[length:], s[:length]


class Always(StrField):
    """A scapy field whose bytes are always the same."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Return the bytes after the field, and the constant.

        Raises:
            LayerViolation: the field has other bytes.
            Short: the bytes end inside the constant.
        """
        due = self.default or b""
        if not s.startswith(due):
            kind = Short if due.startswith(s) else LayerViolation
            raise kind(f"{self.name}: expected {due!r}, found {s[: len(due)]!r}")
        return s[len(due) :], due

    def randval(self) -> None:  # type: ignore[override]  # nothing random about them
        """Return None: a constant has no random value."""


class Inner(PacketField):
    """A scapy field that contains one layer."""

    def __init__(self, name: str, kind: type[Layer], default: Layer | None = None) -> None:
        super().__init__(name, default or kind(), kind)

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, Packet]:
        """Decode the contained layer; return the bytes after it, and the layer."""
        layer, rest = cut(cast(type[Layer], self.cls), s)
        return rest, layer


class Bounded(Inner):
    """A scapy field that contains one layer, whose size earlier fields give.

    ``least`` is the size in bytes of the layer's fields that are always present.
    """

    __slots__ = ["least", "length_from"]

    def __init__(self, name: str, kind: type[Layer], length_from: Read, *, least: int = 0) -> None:
        super().__init__(name, kind)
        self.length_from = length_from
        self.least = least

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, Packet]:
        """Decode the contained layer; return the bytes after it, and the layer.

        Raises:
            LayerViolation: the size is below ``least``, or the layer is longer or shorter than it.
            Short: fewer bytes are there.
        """
        length = self.length_from(pkt)
        expect(self.name, f"{self.least} bytes or more", length, holds=length >= self.least)
        require(self.name, s, length)
        return s[length:], decode_filling(cast(type[Layer], self.cls), s[:length])


class Layers(PacketListField):
    """A scapy field with several layers of one kind, limited by a count or a size in bytes."""

    def __init__(
        self,
        name: str,
        kind: type[Layer],
        *,
        count_from: Read | None = None,
        length_from: Read | None = None,
    ) -> None:
        super().__init__(name, [], kind, count_from=count_from, length_from=length_from)

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[BasePacket]]:
        """Decode the layers; return the bytes after them, and the layers.

        Without count and size, the layers run to the end of the bytes.

        Raises:
            LayerViolation: count or length is negative, or a layer cannot be read.
            Short: the bytes end before the last layer.
        """
        length = len(s) if self.length_from is None else self.length_from(pkt)
        require(self.name, s, length)
        rest, behind = s[:length], s[length:]
        count = None if self.count_from is None else self.count_from(pkt)
        if count is not None and count < 0:
            raise LayerViolation(f"{self.name}: expected a count, found {count}")
        found: list[BasePacket] = []
        while len(found) < count if count is not None else rest:
            layer, rest = cut(cast(type[Layer], self.cls), rest)
            found.append(layer)
        return rest + behind, found


def expect(name: str, due: str, found: object, *, holds: bool) -> None:
    """Raise an error unless a condition on a field's value holds.

    ``due`` describes the valid values of the field called ``name``.

    Raises:
        LayerViolation: the condition does not hold.
    """
    if not holds:
        raise LayerViolation(f"{name}: expected {due}, found {found!r}")


def require(name: str, data: bytes, length: int) -> None:
    """Check that a field's length is not negative and that the bytes are at least as long.

    Raises:
        LayerViolation: the length is negative.
        Short: fewer bytes are there.
    """
    if length < 0:
        raise LayerViolation(f"{name}: expected a length, found {length}")
    if len(data) < length:
        raise Short(f"{name}: expected {length} bytes, found {len(data)}")


def cut(kind: type[L], data: bytes) -> tuple[L, bytes]:
    """Decode one layer at the start of the bytes; return it and the remaining bytes.

    Raises:
        LayerViolation: the bytes are not such a layer.
        Short: the bytes end before the layer does.
    """
    layer = kind()
    layer.dissect(data)  # the constructor would answer no bytes with the defaults
    last = layer.lastlayer()
    behind = b""
    if isinstance(last, Padding) and last.underlayer is not None:
        behind = bytes(last.load)
        last.underlayer.remove_payload()
    return layer, behind


def within(kind: type[L], data: bytes) -> tuple[L, bytes]:
    """Decode one layer from bytes that are all there are; return it and the remaining bytes.

    Raises:
        LayerViolation: the bytes are not such a layer, or end before it does.
    """
    try:
        return cut(kind, data)
    except Short as error:
        raise LayerViolation(str(error)) from error


def decode_filling(kind: type[L], data: bytes) -> L:
    """Decode one layer that must fill all of the bytes.

    Raises:
        LayerViolation: the bytes are not such a layer, or fewer or more than the layer needs.
    """
    layer, behind = within(kind, data)
    if behind:
        raise LayerViolation(f"{layer.name}: {len(behind)} bytes stand behind its end")
    return layer
