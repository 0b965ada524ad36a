"""Sizes, lengths and counts: derived from what they measure, never believed.

A declared number is held against the bytes left up to the end that encloses it, so that none
makes a decoder allocate, or loop, beyond the bytes that are there.
"""

# construct's interface for subclasses has underscored names.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from typing import Any

from wireproof_spec.dissection import Refused
from wireproof_spec.layout import (
    Context,
    Integer,
    Shape,
    Stream,
    Wrapping,
    as_tuple,
    field,
    minimum,
    numbered,
    room,
)


class Size(Wrapping):
    """The size of what follows: at least what its parts need, at most what encloses it."""

    def __init__(self, integer: Integer, least: int) -> None:
        super().__init__(integer)
        self.least = least

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        size: int = self.subcon._parse(stream, context, path)
        if size < self.least:
            raise Refused(expected=f"at least {self.least}", found=str(size))
        if context.get("_end") is not None:
            _refuse_more_than(room(context), size)
        return size


class Sized(Wrapping):
    """A shape led by its size in bytes, the size itself not counted."""

    def __init__(self, integer: Integer, shape: Shape, *, name: str = "size") -> None:
        super().__init__(shape)
        self.lead = field(name, Size(integer, minimum(shape)))
        self.width = integer.length
        self.least = self.width + minimum(shape)

    def _parse(self, stream: Stream, context: Context, path: str) -> Any:
        start = stream.tell()
        inner: Any = {"_io": stream, "_end": context.get("_end")}
        size: Any = self.lead._parse(stream, inner, path)
        inner["_end"] = start + self.width + size
        value = self.subcon._parse(stream, inner, path)
        taken = stream.tell() - start - self.width
        if taken != size:
            expected = f"{taken}, the bytes its parts take"
            raise Refused(field=self.lead.name, offset=start, expected=expected, found=str(size))
        return value

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        start = stream.tell()
        stream.write(bytes(self.width))
        self.subcon._build(obj, stream, context, path)
        end = stream.tell()
        stream.seek(start)
        self.lead._build(end - start - self.width, stream, context, path)
        return stream.seek(end)


class Declared(Wrapping):
    """The length of a later part of the same record."""

    def __init__(self, integer: Integer, *, of: str) -> None:
        super().__init__(integer)
        self.of = of

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        length: int = self.subcon._parse(stream, context, path)
        _refuse_more_than(room(context), length)
        return length

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        measured = context[self.of]
        length = len(measured) if isinstance(measured, bytes) else 0
        return self.subcon._build(length, stream, context, path)


class Count(Wrapping):
    """How often a later part of the same record, `Many`, is repeated.

    Held against one byte for each: which of them is cut short, that one tells better itself.
    """

    def __init__(self, integer: Integer, *, of: str) -> None:
        super().__init__(integer)
        self.of = of

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        count: int = self.subcon._parse(stream, context, path)
        _refuse_more_than(room(context), count)
        return count

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        count = len(as_tuple(context[self.of]))
        return self.subcon._build(count, stream, context, path)


class Many(Wrapping):
    """So many of one shape in a row, as a tuple; each takes at least one byte."""

    def __init__(self, each: Shape, *, count: Callable[[Context], int]) -> None:
        super().__init__(each)
        self.count = count

    def _parse(self, stream: Stream, context: Context, path: str) -> tuple[object, ...]:
        values: list[object] = []
        for index in range(self.count(context)):
            each = numbered(self.subcon, index, stream)
            values.append(each._parse(stream, context, path))
        return tuple(values)

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        for index, value in enumerate(as_tuple(obj)):
            numbered(self.subcon, index, stream)._build(value, stream, context, path)
        return stream.tell()


def _refuse_more_than(most: int, found: int) -> None:
    if found < 0:
        raise Refused(expected="at least 0", found=str(found))
    if found > most:
        raise Refused(expected=f"at most {most}", found=str(found))
