"""Sizes, lengths and counts: derived from what they measure, and never trusted.

A declared number is checked against the bytes left up to the enclosing end, so that no number
makes a decoder allocate memory, or loop, beyond the bytes that are present.
"""

# construct's interface for subclasses has underscored names.
# pyright: reportPrivateUsage=false

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from wireproof_spec.grammar.dissection import PartRefused
from wireproof_spec.grammar.layout import (
    Context,
    Integer,
    Shape,
    Stream,
    Wrapping,
    as_tuple,
    field,
    minimum,
    name_numbered,
    room,
)


class Size(Wrapping):
    """The integer that declares the size of the bytes after it.

    The size is at least the minimum of its parts, and at most the bytes left around it. The
    outermost size has nothing around it; if the data is too short, the cut part is blamed.
    """

    def __init__(self, integer: Integer, least: int) -> None:
        super().__init__(integer)
        self.least = least

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        size: int = self.subcon._parse(stream, context, path)
        if size < self.least:
            raise PartRefused(expected=f"at least {self.least}", found=str(size))
        if context.get("_within"):
            _refuse_more_than(room(context), size)
        return size


class Sized(Wrapping):
    """A layout with its size in bytes before it; the size does not count its own bytes."""

    def __init__(self, integer: Integer, shape: Shape, *, name: str = "size") -> None:
        super().__init__(shape)
        self.integer = integer
        self.fewest = minimum(shape)
        self.lead = field(name, Size(integer, self.fewest))
        self.width = integer.length
        self.least = self.width + self.fewest
        self._unpack = struct.Struct(integer.fmtstr).unpack_from

    def read_declared(self, head: bytes) -> int:
        """Return the size that the first bytes declare."""
        size: int = self._unpack(head)[0]
        return size

    def _parse(self, stream: Stream, context: Context, path: str) -> Any:
        start = stream.tell()
        inner: Any = {"_io": stream, "_end": context.get("_end"), "_within": "_io" in context}
        size: Any = self.lead._parse(stream, inner, path)
        inner["_end"] = start + self.width + size
        value = self.subcon._parse(stream, inner, path)
        taken = stream.tell() - start - self.width
        if taken != size:
            expected = f"{taken}, the bytes its parts take"
            raise PartRefused(
                field=self.lead.name, offset=start, expected=expected, found=str(size)
            )
        return value

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        start = stream.tell()
        stream.write(bytes(self.width))
        self.subcon._build(obj, stream, context, path)
        end = stream.tell()
        stream.seek(start)
        self.lead._build(end - start - self.width, stream, context, path)
        return stream.seek(end)


Bounds: TypeAlias = "tuple[int, int] | Callable[[Context], tuple[int, int] | None]"
"""The least and the greatest length; a function, where earlier parts say which (None: any)."""


class BoundsBy:
    """Bounds of a length that depend on an earlier integer of the same record."""

    def __init__(self, name: str, bounds: Mapping[int, tuple[int, int]]) -> None:
        self.name = name
        self.bounds = bounds

    def __call__(self, context: Context) -> tuple[int, int] | None:
        """Return the least and greatest length for a partly read record, or None for any."""
        return self.bounds.get(context[self.name])


class Declared(Wrapping):
    """An integer that declares the length of a later part, within `bounds` if there are any."""

    def __init__(self, integer: Integer, *, of: str, bounds: "Bounds | None" = None) -> None:
        super().__init__(integer)
        self.integer = integer
        self.of = of
        self.bounds = bounds

    def _check(self, length: int, context: Context) -> int:
        bounds = self.bounds(context) if callable(self.bounds) else self.bounds
        if bounds is not None and not bounds[0] <= length <= bounds[1]:
            lowest, highest = bounds
            expected = str(lowest) if lowest == highest else f"{lowest} to {highest}"
            raise PartRefused(expected=expected, found=str(length))
        return length

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        length: int = self._check(self.subcon._parse(stream, context, path), context)
        _refuse_more_than(room(context), length)
        return length

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        length = measure(context[self.of])
        if length is None:  # the part itself says best what is wrong with it
            return self.subcon._build(0, stream, context, path)
        return self.subcon._build(self._check(length, context), stream, context, path)


def measure(value: object) -> int | None:
    """Return the length in bytes of bytes, or of text in UTF-8; None for other values."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return len(value) if isinstance(value, bytes) else None


class Count(Wrapping):
    """The integer that declares the number of items in a later part `Many` of the same record.

    It is checked against one byte for each item; an item that is cut short gives a better error.
    """

    def __init__(self, integer: Integer, *, of: str) -> None:
        super().__init__(integer)
        self.integer = integer
        self.of = of

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        count: int = self.subcon._parse(stream, context, path)
        _refuse_more_than(room(context), count)
        return count

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        count = len(as_tuple(context[self.of]))
        return self.subcon._build(count, stream, context, path)


class Many(Wrapping):
    """Items of one layout as a tuple, as many as a `Count` declares, each at least a byte."""

    def __init__(self, each: Shape, *, count: Callable[[Context], int]) -> None:
        super().__init__(each)
        self.count = count

    def _parse(self, stream: Stream, context: Context, path: str) -> tuple[object, ...]:
        values: list[object] = []
        for index in range(self.count(context)):
            each = name_numbered(self.subcon, index, stream)
            values.append(each._parse(stream, context, path))
        return tuple(values)

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        for index, value in enumerate(as_tuple(obj)):
            name_numbered(self.subcon, index, stream)._build(value, stream, context, path)
        return stream.tell()


class Each(Wrapping):
    """Items of one layout as a tuple, up to the enclosing end.

    There must be at least `fewest`; each has at least one byte.
    """

    def __init__(self, each: Shape, *, fewest: int = 0) -> None:
        super().__init__(each)
        self.fewest = fewest
        self.least = fewest * minimum(each)

    def _parse(self, stream: Stream, context: Context, path: str) -> tuple[object, ...]:
        inner: Any = {"_io": stream, "_end": context.get("_end")}
        values: list[object] = []
        while room(inner) > 0:
            each = name_numbered(self.subcon, len(values), stream)
            values.append(each._parse(stream, inner, path))
        return tuple(self._check(values))

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        for index, value in enumerate(self._check(as_tuple(obj))):
            name_numbered(self.subcon, index, stream)._build(value, stream, context, path)
        return stream.tell()

    def _check(self, values: Sequence[object]) -> Sequence[object]:
        if len(values) < self.fewest:
            raise PartRefused(expected=f"at least {self.fewest}", found=str(len(values)))
        return values


def _refuse_more_than(most: int, found: int) -> None:
    if found < 0:
        raise PartRefused(expected="at least 0", found=str(found))
    if found > most:
        raise PartRefused(expected=f"at most {most}", found=str(found))
