"""A layer as a flat list: which bytes are which field."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias, cast, runtime_checkable

from scapy.fields import ConditionalField, Field
from scapy.packet import NoPayload, Packet

from wireproof_kit.pcap.layer import Inner, Layers

Value: TypeAlias = int | float | bytes | None
Leaf: TypeAlias = tuple[str, bytes, Value]
"""Path, bytes and value of a field that contains no other fields."""


@runtime_checkable
class Pieced(Protocol):
    """A scapy field with several parts (leaves), such as a space and the word after it."""

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield path, bytes and value of each part of the field's value, in order."""
        ...


def leaves(layer: Packet, path: str = "") -> Iterator[Leaf]:
    """Yield path, bytes and value of each innermost field of a decoded layer and its payload.

    The order is that of the bytes; ``path`` is put before each path.
    """
    for each in layer.fields_desc:
        if isinstance(each, ConditionalField):
            if each.fld.name not in layer.fields:
                continue
            each = each.fld
        yield from _of_field(layer, cast("Field[object, object]", each), path)
    if not isinstance(layer.payload, NoPayload):
        yield from leaves(layer.payload, path)


def _of_field(layer: Packet, field: "Field[object, object]", path: str) -> Iterator[Leaf]:
    value = layer.getfieldval(field.name)
    name = f"{path}{field.name}"
    if isinstance(field, Layers):
        for index, each in enumerate(value):
            yield from leaves(each, f"{name}[{index}].")
    elif isinstance(field, Inner):
        yield from leaves(value, f"{name}.")
    elif isinstance(field, Pieced):
        yield from ((f"{path}{piece}", data, read) for piece, data, read in field.pieces(value))
    else:
        yield name, field.addfield(layer, b"", value), value
