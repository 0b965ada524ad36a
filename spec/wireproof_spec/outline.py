"""A schema as plain data, for generators of values and for byte diagrams.

construct is used only in this package; strategies, mutations and byte diagrams are derived from
these outlines instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar import layout, lengths, texts

T = TypeVar("T")
ByteOrder: TypeAlias = Literal["big", "little"]


@dataclass(frozen=True, slots=True)
class Whole:
    """Describes an integer in a range: `width` bytes, or None for decimal digits."""

    lowest: int
    highest: int
    width: int | None
    order: ByteOrder = "big"


@dataclass(frozen=True, slots=True)
class Choice:
    """Describes an integer of `width` bytes that is one of the listed values."""

    values: tuple[int, ...]
    width: int
    order: ByteOrder = "big"


@dataclass(frozen=True, slots=True)
class Real:
    """Describes a finite floating-point number of `width` bytes."""

    width: int


@dataclass(frozen=True, slots=True)
class Octets:
    """Describes bytes: `size` of them, or None for any number."""

    size: int | None


@dataclass(frozen=True, slots=True)
class Letters:
    """Describes UTF-8 text of any length."""


@dataclass(frozen=True, slots=True)
class Word:
    """Describes bytes that match a pattern completely."""

    pattern: bytes


@dataclass(frozen=True, slots=True)
class Flag:
    """Describes a bool: whether one certain byte is present."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Describes bytes that are always the same and have no value."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Derived:
    """Describes a size, length or count of `width` bytes, which is computed from other parts.

    It measures the part `of`, or all following parts if that is empty.
    """

    width: int
    of: str
    order: ByteOrder = "big"


@dataclass(frozen=True, slots=True)
class Tuple:
    """Describes items of one outline; `lead` is the name and size of a length before them."""

    each: "Outline"
    lead: tuple[str, Derived] | None = None


@dataclass(frozen=True, slots=True)
class Perhaps:
    """Describes an optional value: other parts of the record determine whether it is None."""

    present: "Outline"


@dataclass(frozen=True, slots=True)
class Parts:
    """Describes a `msgspec.Struct` made of named parts in wire order.

    Fields of the value without a part are None.
    """

    value_type: type[Struct]
    parts: tuple[tuple[str, "Outline"], ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """Describes a value computed from the value of another outline."""

    origin: "Outline"
    make: Callable[..., object]


Outline: TypeAlias = (
    Whole
    | Choice
    | Real
    | Octets
    | Letters
    | Word
    | Flag
    | Fixed
    | Derived
    | Tuple
    | Perhaps
    | Parts
    | Mapped
)


def outline(schema: Schema[T]) -> Outline:
    """Return a schema's layout as plain data (`Outline`); a leading size is a part like others."""
    return _outline(schema.shape)


@singledispatch
def _outline(shape: object) -> Outline:
    raise TypeError(f"no outline for {shape!r}")


@_outline.register(layout.Integer)
@_outline.register(layout.WideInteger)
def _(shape: layout.Integer | layout.WideInteger) -> Outline:
    return Whole(shape.lowest, shape.highest, shape.length, _order(shape))


@_outline.register
def _(shape: layout.OneOf) -> Outline:
    return Choice(shape.values, shape.subcon.sizeof(), _order(shape.subcon))


@_outline.register
def _(shape: layout.Float) -> Outline:
    return Real(shape.length)


@_outline.register
def _(shape: layout.Ranged) -> Outline:
    return Whole(shape.lowest, shape.highest, shape.subcon.sizeof(), _order(shape.subcon))


@_outline.register
def _(shape: texts.Decimal) -> Outline:
    return Whole(0, shape.highest, None)


@_outline.register
def _(shape: layout.Bytes) -> Outline:
    return Octets(shape.length if isinstance(shape.length, int) else None)


@_outline.register
def _(shape: texts.Utf8) -> Outline:
    return Letters()


@_outline.register
def _(shape: texts.Text) -> Outline:
    return Word(shape.pattern.pattern)


@_outline.register
def _(shape: texts.CarriageReturn) -> Outline:
    return Flag()


@_outline.register
def _(shape: layout.Literal) -> Outline:
    return Fixed(shape.value)


@_outline.register(lengths.Declared)
@_outline.register(lengths.Count)
def _(shape: lengths.Declared | lengths.Count) -> Outline:
    return Derived(shape.subcon.sizeof(), shape.of, _order(shape.subcon))


@_outline.register(lengths.Many)
@_outline.register(lengths.Each)
@_outline.register(texts.Words)
def _(shape: lengths.Many | lengths.Each | texts.Words) -> Outline:
    return Tuple(_outline(shape.subcon))


@_outline.register
def _(shape: layout.When) -> Outline:
    present = _outline(shape.subcon)
    return present if isinstance(present, Derived) else Perhaps(present)


@_outline.register
def _(shape: layout.Record) -> Outline:
    parts = tuple((part.name, _outline(part.subcon)) for part in shape.parts)
    return Parts(shape.value_type, parts)


@_outline.register
def _(shape: layout.Translated) -> Outline:
    return Mapped(_outline(shape.subcon), shape.after)


@_outline.register
def _(shape: lengths.Sized) -> Outline:
    size = Derived(shape.width, "", _order(shape.lead.subcon))
    return _lead_with(_outline(shape.subcon), shape.lead.name, size)


def _lead_with(outline: Outline, name: str, size: Derived) -> Outline:
    if isinstance(outline, Mapped):
        return Mapped(_lead_with(outline.origin, name, size), outline.make)
    if isinstance(outline, Parts):
        return Parts(outline.value_type, ((name, size), *outline.parts))
    if isinstance(outline, Tuple):
        return Tuple(outline.each, (name, size))
    raise TypeError(f"a size in front of {outline!r}")


def _order(integer: layout.Shape) -> ByteOrder:
    """Return the byte order of a number, whatever wraps it."""
    wrapped: layout.Shape | None = getattr(integer, "subcon", None)
    if wrapped is not None:
        return _order(wrapped)
    wide = isinstance(integer, layout.WideInteger)
    return "little" if wide or getattr(integer, "fmtstr", "")[:1] == "<" else "big"
