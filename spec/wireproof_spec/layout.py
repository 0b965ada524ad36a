"""The words in which wire shapes are written: construct, made to tell where it failed.

construct names the field that failed but not its place, ignores trailing bytes, does not check
on parsing what `Rebuild` built, and believes every declared length. These words mend that:

- `field` names a part and, while a `Dissection` is read or written, notes its place;
- `Record` leaves as a value type instead of a `Container`; `Sized` leads it with its own size;
- `Declared` and `Count` are lengths and counts inside: derived when building, and held against
  the bytes that are left when parsing, before anything is read or repeated.

A shape is written with these and construct's `this`. Integers are in network byte order.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import construct

from wireproof_spec.dissection import Dissection, Refused, counted, shown

if TYPE_CHECKING:
    from construct.core import Context, StreamType

    Shape = construct.Construct[Any, Any]
    Wrapping = construct.Subconstruct[Any, Any, Any, Any]
    NamedShape = construct.Renamed[Any, Any]
    FormatField = construct.FormatField[int, int]
else:
    Context = dict
    Shape = construct.Construct
    Wrapping = construct.Subconstruct
    NamedShape = construct.Renamed
    FormatField = construct.FormatField


class Integer(FormatField):
    """A big-endian integer of the wire; `code` is the struct module's letter."""

    def __init__(self, code: str) -> None:
        super().__init__(">", code)  # type: ignore[call-arg]  # the stubs know only __new__
        bits = 8 * self.length
        self.lowest = -(1 << bits - 1) if code.islower() else 0
        self.highest = self.lowest + (1 << bits) - 1

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if type(obj) is not int or not self.lowest <= obj <= self.highest:
            raise Refused(expected=f"{self.lowest} to {self.highest}", found=shown(obj))
        return stream.write(struct.pack(self.fmtstr, obj))


Int8ub = Integer("B")
Int16ub = Integer("H")
Int32ub = Integer("L")
Int64ub = Integer("Q")
Int32sb = Integer("l")
Int64sb = Integer("q")


class Bytes(construct.Bytes):
    """So many bytes: a number, or a declared length of the same record (`this.name`)."""

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if not isinstance(obj, bytes):
            raise Refused(expected="bytes", found=shown(obj))
        if isinstance(self.length, int) and len(obj) != self.length:
            raise Refused(expected=counted(self.length), found=str(len(obj)))
        return stream.write(obj)


def room(context: Context) -> int:
    """Return how many bytes are left up to the enclosing declared end, else in the input."""
    stream, end = context["_io"], context["_end"]
    if end is None:
        end = stream.getbuffer().nbytes
    return int(end - stream.tell())


Rest = Bytes(room)
"""The bytes up to the end of what encloses them."""


class Literal(Shape):
    """Bytes that are always the same; they carry no value."""

    def __init__(self, value: bytes) -> None:
        super().__init__()
        self.value = value

    def _parse(self, stream: "StreamType", context: Context, path: str) -> bytes:
        found = construct.stream_read(stream, len(self.value), path)
        if found != self.value:
            raise Refused(expected=shown(self.value), found=shown(found))
        return found

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        return stream.write(self.value)

    def _sizeof(self, context: Context, path: str) -> int:
        return len(self.value)


class Field(NamedShape):
    """A named part; notes its place when the stream is a `Dissection`."""

    name: str

    def _parse(self, stream: "StreamType", context: Context, path: str) -> object:
        if not isinstance(stream, Dissection):
            return self.subcon._parse(stream, context, path)
        with stream.within(self.name) as place:
            place.value = self.subcon._parse(stream, context, path)
        return place.value

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if not isinstance(stream, Dissection):
            return self.subcon._build(obj, stream, context, path)
        with stream.within(self.name):
            return self.subcon._build(obj, stream, context, path)


def field(name: str, shape: Shape) -> Field:
    """Name a part of a record with its published field name."""
    return Field(shape, name)


class Record(construct.Struct):
    """Parts in wire order that leave as one value of a dataclass.

    Parts without a field in the dataclass are derived (lengths, counts, literals); fields of the
    dataclass without a part are None.
    """

    def __init__(self, value_type: type, *parts: Field) -> None:
        super().__init__(*parts)
        self.parts = parts
        self.value_type = value_type
        self.value_fields = tuple(member.name for member in fields(value_type))
        named = {part.name for part in parts}
        self.absent = tuple(name for name in self.value_fields if name not in named)

    def _parse(self, stream: "StreamType", context: Context, path: str) -> Any:
        inner: Any = {"_io": stream, "_end": context.get("_end")}
        for part in self.parts:
            inner[part.name] = part._parse(stream, inner, path)
        return self.value_type(*map(inner.get, self.value_fields))

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if type(obj) is not self.value_type:
            raise Refused(expected=self.value_type.__name__, found=shown(obj))
        inner: Any = {name: getattr(obj, name) for name in self.value_fields}
        for name in self.absent:
            if inner[name] is not None:
                raise Refused(field=name, expected="nothing", found=shown(inner[name]))
        for part in self.parts:
            part._build(inner.get(part.name), stream, inner, path)
        return stream.tell()


class Size(Wrapping):
    """The size of what follows: at least what its parts need, at most what encloses it."""

    def __init__(self, integer: Integer, least: int) -> None:
        super().__init__(integer)
        self.least = least

    def _parse(self, stream: "StreamType", context: Context, path: str) -> int:
        size: int = self.subcon._parse(stream, context, path)
        if size < self.least:
            raise Refused(expected=f"at least {self.least}", found=str(size))
        if context.get("_end") is not None:
            _refuse_more_than(room(context), size)
        return size


class Sized(Wrapping):
    """A record led by its size in bytes, the size itself not counted."""

    def __init__(self, integer: Integer, record: Record, *, name: str = "size") -> None:
        super().__init__(record)
        self.lead = field(name, Size(integer, minimum(record)))
        self.width = integer.length

    def _parse(self, stream: "StreamType", context: Context, path: str) -> Any:
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

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        start = stream.tell()
        stream.write(bytes(self.width))
        self.subcon._build(obj, stream, context, path)
        end = stream.tell()
        stream.seek(start)
        self.lead._build(end - start - self.width, stream, context, path)
        return stream.seek(end)

    def _sizeof(self, context: Context, path: str) -> int:
        return self.width + self.subcon._sizeof(context, path)


class Declared(Wrapping):
    """The length of a later part of the same record."""

    def __init__(self, integer: Integer, *, of: str) -> None:
        super().__init__(integer)
        self.of = of

    def _parse(self, stream: "StreamType", context: Context, path: str) -> int:
        length: int = self.subcon._parse(stream, context, path)
        _refuse_more_than(room(context), length)
        return length

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        measured = context[self.of]
        length = len(measured) if isinstance(measured, bytes) else 0
        return self.subcon._build(length, stream, context, path)


class Count(Wrapping):
    """How often a later part of the same record, `Many`, is repeated."""

    def __init__(self, integer: Integer, *, of: str, each: Shape) -> None:
        super().__init__(integer)
        self.of = of
        self.least_each = minimum(each)

    def _parse(self, stream: "StreamType", context: Context, path: str) -> int:
        count: int = self.subcon._parse(stream, context, path)
        _refuse_more_than(room(context) // self.least_each, count)
        return count

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        counted = context[self.of]
        count = len(counted) if isinstance(counted, tuple) else 0
        return self.subcon._build(count, stream, context, path)


class Many(Wrapping):
    """So many of one shape in a row, as a tuple; each takes at least one byte."""

    def __init__(self, each: Shape, *, count: Callable[[Context], int]) -> None:
        super().__init__(each)
        self.count = count

    def _parse(self, stream: "StreamType", context: Context, path: str) -> tuple[object, ...]:
        values: list[object] = []
        for index in range(self.count(context)):
            each = numbered(self.subcon, index, stream)
            values.append(each._parse(stream, context, path))
        return tuple(values)

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if not isinstance(obj, tuple):
            raise Refused(expected="a tuple", found=shown(obj))
        for index, value in enumerate(obj):
            numbered(self.subcon, index, stream)._build(value, stream, context, path)
        return stream.tell()


class When(Wrapping):
    """A part that is there only when `condition` holds; None where it is not."""

    def __init__(self, condition: Callable[[Context], object], shape: Shape) -> None:
        super().__init__(shape)
        self.condition = condition

    def _parse(self, stream: "StreamType", context: Context, path: str) -> object:
        if not self.condition(context):
            return None
        return self.subcon._parse(stream, context, path)

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if self.condition(context):
            return self.subcon._build(obj, stream, context, path)
        if obj is not None:
            raise Refused(expected="nothing", found=shown(obj))
        return 0

    def _sizeof(self, context: Context, path: str) -> int:
        raise construct.SizeofError("only the condition can tell", path=path)


class Text(Shape):
    """The longest run of bytes that a pattern takes; `kind` names it in errors."""

    def __init__(self, pattern: bytes, kind: str) -> None:
        super().__init__()
        self.pattern = re.compile(pattern)
        self.kind = kind

    def _parse(self, stream: "StreamType", context: Context, path: str) -> bytes:
        start = stream.tell()
        match = self.pattern.match(stream.getvalue(), start)  # type: ignore[attr-defined]
        if match is None:
            found = stream.read(8)
            raise Refused(expected=self.kind, found=shown(found))
        stream.seek(match.end())
        return match[0]

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if not isinstance(obj, bytes) or not self.pattern.fullmatch(obj):
            raise Refused(expected=self.kind, found=shown(obj))
        return stream.write(obj)


class Decimal(Shape):
    """A number in decimal digits, without sign or leading zeros."""

    _digits = Text(rb"0|[1-9][0-9]{0,18}", "decimal digits")

    def _parse(self, stream: "StreamType", context: Context, path: str) -> int:
        return int(self._digits._parse(stream, context, path))

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        return self._digits._build(str(obj).encode(), stream, context, path)


class Words(Wrapping):
    """One space and one word, as often as a space follows, as a tuple of the words."""

    _space = field("separator", Literal(b" "))

    def _parse(self, stream: "StreamType", context: Context, path: str) -> tuple[object, ...]:
        values: list[object] = []
        while _next_byte(stream) == b" ":
            self._space._parse(stream, context, path)
            word = numbered(self.subcon, len(values), stream)
            values.append(word._parse(stream, context, path))
        return tuple(values)

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if not isinstance(obj, tuple):
            raise Refused(expected="a tuple", found=shown(obj))
        for index, word in enumerate(obj):
            stream.write(b" ")
            numbered(self.subcon, index, stream)._build(word, stream, context, path)
        return stream.tell()


class CarriageReturn(Shape):
    """Whether a carriage return stands here."""

    def _parse(self, stream: "StreamType", context: Context, path: str) -> bool:
        found = _next_byte(stream) == b"\r"
        stream.seek(found, 1)
        return found

    def _build(self, obj: object, stream: "StreamType", context: Context, path: str) -> int:
        if not isinstance(obj, bool):
            raise Refused(expected="a bool", found=shown(obj))
        written: bytes = stream.getvalue()  # type: ignore[attr-defined]
        if not obj and written.endswith(b"\r"):
            raise Refused(expected="no carriage return before it", found="one")
        return stream.write(b"\r" * obj)


def minimum(shape: Shape) -> int:
    """Return the least number of bytes that a shape can take."""
    if isinstance(shape, Record):
        return sum(map(minimum, shape.parts))
    if isinstance(shape, Sized):
        return shape.width + minimum(shape.subcon)
    if isinstance(shape, Field):
        return minimum(shape.subcon)
    try:
        return shape.sizeof()
    except (construct.SizeofError, KeyError):
        return 0


def numbered(shape: Shape, index: int, stream: "StreamType") -> Shape:
    """Name one of many parts by its number, where a `Dissection` wants to know."""
    return field(f"[{index}]", shape) if isinstance(stream, Dissection) else shape


def _next_byte(stream: "StreamType") -> bytes:
    at = stream.tell()
    found = stream.read(1)
    stream.seek(at)
    return found


def _refuse_more_than(most: int, found: int) -> None:
    if found < 0:
        raise Refused(expected="at least 0", found=str(found))
    if found > most:
        raise Refused(expected=f"at most {most}", found=str(found))
