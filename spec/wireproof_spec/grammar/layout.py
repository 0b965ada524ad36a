"""The building blocks of wire shapes: construct, extended to say where it failed.

construct names the field that failed but not its position, ignores trailing bytes, does not check
on parsing what `Rebuild` built, and trusts every declared length. These classes correct that:

- `field` names a part and, in a `Dissection`, records its position;
- `Record` returns a value type instead of a `Container`;
- `wireproof_spec.grammar.lengths`: sizes, lengths and counts, derived when building, and checked
  against the remaining bytes when parsing, before anything is read or repeated;
- `wireproof_spec.grammar.texts`: words and decimal numbers.

A shape consists of these and construct's `this`. Integers are big endian (`ub`, `sb`) or little
endian (`ul`), as the protocol requires.
"""

# construct's interface for subclasses has underscored names.
# pyright: reportPrivateUsage=false

import math
import struct
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import construct
from msgspec import Struct
from msgspec.structs import replace

from wireproof_spec.grammar.dissection import Dissection, PartRefused
from wireproof_spec.wording import count_bytes, show_value

if TYPE_CHECKING:
    from construct.core import Context as Context
    from construct.core import StreamType

    Stream = StreamType
    Shape = construct.Construct[Any, Any]
    Wrapping = construct.Subconstruct[Any, Any, Any, Any]
    NamedShape = construct.Renamed[Any, Any]
    FormatField = construct.Construct[int, int]  # the stubs' own knows only fixed letters
else:
    Context = Stream = object
    Shape = construct.Construct
    Wrapping = construct.Subconstruct
    NamedShape = construct.Renamed
    FormatField = construct.FormatField

T = TypeVar("T")
Values: TypeAlias = type[Struct]


class Integer(FormatField):
    """The layout of an integer; `code` and `order` are format characters of the struct module."""

    fmtstr: str
    length: int

    def __init__(self, code: str, order: str = ">") -> None:
        super().__init__(order, code)  # type: ignore[call-arg]  # FormatField's, see above
        bits = 8 * self.length
        self.lowest = -(1 << bits - 1) if code.islower() else 0
        self.highest = self.lowest + (1 << bits) - 1

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if type(obj) is not int or not self.lowest <= obj <= self.highest:
            raise PartRefused(expected=f"{self.lowest} to {self.highest}", found=show_value(obj))
        return stream.write(struct.pack(self.fmtstr, obj))


Int8ub = Integer("B")
Int16ub = Integer("H")
Int32ub = Integer("L")
Int64ub = Integer("Q")
Int32sb = Integer("l")
Int64sb = Integer("q")
Int16ul = Integer("H", "<")
Int32ul = Integer("L", "<")
Int64ul = Integer("Q", "<")


class WideInteger(Shape):
    """An unsigned little-endian integer of `length` bytes, wider than the struct module allows."""

    lowest = 0

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.highest = (1 << 8 * length) - 1

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        return int.from_bytes(construct.stream_read(stream, self.length, path), "little")

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if type(obj) is not int or not self.lowest <= obj <= self.highest:
            raise PartRefused(expected=f"{self.lowest} to {self.highest}", found=show_value(obj))
        return stream.write(obj.to_bytes(self.length, "little"))

    def _sizeof(self, context: Context, path: str) -> int:
        return self.length


Int128ul = WideInteger(16)


class Float(Shape):
    """The layout of a little-endian IEEE number of 4 bytes; NaN and infinity are rejected."""

    length = 4

    def _parse(self, stream: Stream, context: Context, path: str) -> float:
        data = construct.stream_read(stream, self.length, path)
        value: float = struct.unpack("<f", data)[0]
        if not math.isfinite(value):
            raise PartRefused(expected="a finite number", found=show_value(value))
        return value

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        try:
            data = struct.pack("<f", obj)
        except (struct.error, OverflowError):
            raise PartRefused(
                expected="a number of single precision", found=show_value(obj)
            ) from None
        exact = type(obj) is float and struct.unpack("<f", data)[0] == obj
        if not exact or not math.isfinite(cast(float, obj)):
            raise PartRefused(expected="a number of single precision", found=show_value(obj))
        return stream.write(data)

    def _sizeof(self, context: Context, path: str) -> int:
        return self.length


Float32l = Float()


class Bytes(construct.Bytes):
    """The layout of some bytes: a fixed number, or a length declared before (`this.name`)."""

    def _parse(self, stream: Stream, context: Context, path: str) -> bytes:
        length = self.length(context) if callable(self.length) else self.length
        if length < 0:
            raise PartRefused(expected="a start before its end", found=f"{-length} behind it")
        return construct.stream_read(stream, length, path)

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if not isinstance(obj, bytes):
            raise PartRefused(expected="bytes", found=show_value(obj))
        if isinstance(self.length, int) and len(obj) != self.length:
            raise PartRefused(expected=count_bytes(self.length), found=str(len(obj)))
        return stream.write(obj)


def room(context: Context) -> int:
    """Return how many bytes are left before the enclosing declared end, or the end of input."""
    stream, end = context["_io"], context["_end"]
    if end is None:
        end = stream.getbuffer().nbytes
    return int(end - stream.tell())


Rest = Bytes(room)
"""The bytes up to the end of what encloses them."""


class Literal(Shape):
    """The layout of bytes that are always the same and have no value."""

    def __init__(self, value: bytes) -> None:
        super().__init__()
        self.value = value

    def _parse(self, stream: Stream, context: Context, path: str) -> bytes:
        data = construct.stream_read(stream, len(self.value), path)
        if data != self.value:
            raise PartRefused(expected=show_value(self.value), found=show_value(data))
        return data

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        return stream.write(self.value)

    def _sizeof(self, context: Context, path: str) -> int:
        return len(self.value)


class Field(NamedShape):
    """A named part of a record; its position is recorded if the stream is a `Dissection`."""

    name: str  # pyright: ignore[reportIncompatibleVariableOverride]  # a field always has one

    def _parse(self, stream: Stream, context: Context, path: str) -> object:
        if not isinstance(stream, Dissection):
            return self.subcon._parse(stream, context, path)
        with stream.within(self.name) as place:
            place.value = self.subcon._parse(stream, context, path)
        return place.value

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if not isinstance(stream, Dissection):
            return self.subcon._build(obj, stream, context, path)
        with stream.within(self.name):
            return self.subcon._build(obj, stream, context, path)


def field(name: str, shape: Shape) -> Field:
    """Return a part of a record, named as in the published text."""
    return Field(shape, name)


class Record(construct.Struct):
    """The layout of a record: parts in wire order that decode to one `msgspec.Struct`.

    Parts without a field in the value are derived (lengths, counts, literals); fields without a
    part are None. Values are frozen and never part of a cycle, so `gc=False` saves the collector
    work.
    """

    def __init__(self, value_type: Values, *parts: Field) -> None:
        super().__init__(*parts)
        self.parts = parts
        self.value_type = value_type
        self.value_fields = value_type.__struct_fields__
        named = {part.name for part in parts}
        self.absent = tuple(name for name in self.value_fields if name not in named)
        self.least = sum(map(minimum, parts))

    def _parse(self, stream: Stream, context: Context, path: str) -> Any:
        inner: Any = {"_io": stream, "_end": context.get("_end")}
        for part in self.parts:
            inner[part.name] = part._parse(stream, inner, path)
        return self.value_type(*map(inner.get, self.value_fields))

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        of_type(self.value_type, obj)
        inner: Any = {name: getattr(obj, name) for name in self.value_fields}
        for name in self.absent:
            if inner[name] is not None:
                raise PartRefused(field=name, expected="nothing", found=show_value(inner[name]))
        for part in self.parts:
            part._build(inner.get(part.name), stream, inner, path)
        return stream.tell()


class When(Wrapping):
    """A part that is present only if `condition` is true; if absent its value is None."""

    def __init__(self, condition: Callable[[Context], object], shape: Shape) -> None:
        super().__init__(shape)
        self.condition = condition

    def _parse(self, stream: Stream, context: Context, path: str) -> object:
        if not self.condition(context):
            return None
        return self.subcon._parse(stream, context, path)

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if self.condition(context):
            return self.subcon._build(obj, stream, context, path)
        if obj is not None:
            raise PartRefused(expected="nothing", found=show_value(obj))
        return 0

    def _sizeof(self, context: Context, path: str) -> int:
        raise construct.SizeofError("only the condition can tell", path=path)


class Restricted(Wrapping):
    """An integer whose value must be one of those allowed."""

    def __init__(self, integer: Integer, allowed: Container[int], expected: str) -> None:
        super().__init__(integer)
        self.integer = integer
        self.allowed = allowed
        self.expected = expected

    def _check(self, value: object) -> int:
        if type(value) is not int or value not in self.allowed:
            raise PartRefused(expected=self.expected, found=show_value(value))
        return value

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        return self._check(self.subcon._parse(stream, context, path))

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        return self.subcon._build(self._check(obj), stream, context, path)


class Ranged(Restricted):
    """An integer whose value must lie in a range."""

    def __init__(self, integer: Integer, lowest: int, highest: int) -> None:
        super().__init__(integer, range(lowest, highest + 1), f"{lowest} to {highest}")
        self.lowest = lowest
        self.highest = highest


class OneOf(Restricted):
    """An integer whose value must be in a list."""

    def __init__(self, integer: Integer, values: Iterable[int]) -> None:
        self.values = tuple(values)
        super().__init__(integer, self.values, f"one of {', '.join(map(str, self.values))}")


class Translated(Wrapping):
    """A layout whose decoded value is converted to another value type."""

    def __init__(
        self,
        shape: Shape,
        value_type: type[T],
        *,
        after: Callable[[Any], T],
        before: Callable[[T], object],
    ) -> None:
        super().__init__(shape)
        self.value_type: type[Any] = value_type
        self.least = minimum(shape)
        self.after = after
        self.before = before

    def _parse(self, stream: Stream, context: Context, path: str) -> object:
        return self.after(self.subcon._parse(stream, context, path))

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        value: Any = of_type(self.value_type, obj)
        return self.subcon._build(self.before(value), stream, context, path)


class Lifted(Translated):
    """A record around another one; high bits of an inner `number` become a field of the outer one.

    The lowest `bits` of the number stay in the inner record; the higher ones become the field
    `into` of `value_type`. `offset` is the number's offset, for errors.
    """

    def __init__(
        self, shape: Record, value_type: Values, *, number: str, bits: int, into: str, offset: int
    ) -> None:
        super().__init__(shape, value_type, after=self._apart, before=self._together)
        self.part = shape.parts[0].name
        self.inner = cast(Record, shape.parts[0].subcon)
        self.whole_type = shape.value_type
        self.value_fields = value_type.__struct_fields__
        self.number = number
        self.bits = bits
        self.into = into
        self.offset = offset
        self.most_low = (1 << bits) - 1
        ranged: Any = next(part.subcon for part in self.inner.parts if part.name == number)
        self.most_high: int = ranged.subcon.highest >> bits

    def _apart(self, whole: object) -> Struct:
        inner = getattr(whole, self.part)
        number: int = getattr(inner, self.number)
        part = replace(inner, **{self.number: number & self.most_low})
        lifted = {self.part: part, self.into: number >> self.bits}
        return cast(Struct, self.value_type(**lifted))

    def _together(self, value: object) -> object:
        part: Any = of_type(self.inner.value_type, getattr(value, self.part))
        name = f"{self.part}.{self.number}"
        low = self._check(getattr(part, self.number), self.most_low, name)
        high = self._check(getattr(value, self.into), self.most_high, self.into)
        return self.whole_type(replace(part, **{self.number: high << self.bits | low}))

    def _check(self, value: object, most: int, name: str) -> int:
        if type(value) is not int or not 0 <= value <= most:
            found = show_value(value)
            raise PartRefused(field=name, offset=self.offset, expected=f"0 to {most}", found=found)
        return value


def minimum(shape: Shape) -> int:
    """Return the least number of bytes that a value of a layout can have."""
    least: int | None = getattr(shape, "least", None)
    if least is not None:
        return least
    try:
        return shape.sizeof()
    except (construct.SizeofError, KeyError):
        return 0


def of_type(value_type: type, value: object) -> object:
    """Return the value unchanged; raise PartRefused unless it is exactly of this type."""
    if type(value) is not value_type:
        raise PartRefused(expected=value_type.__name__, found=show_value(value))
    return value


def as_tuple(value: object) -> tuple[object, ...]:
    """Return the value unchanged; raise PartRefused unless it is a tuple."""
    if not isinstance(value, tuple):
        raise PartRefused(expected="a tuple", found=show_value(value))
    return cast(tuple[object, ...], value)


def name_numbered(shape: Shape, index: int, stream: Stream) -> Shape:
    """Return an item's layout, named by its index `[i]` if the stream is a `Dissection`."""
    return field(f"[{index}]", shape) if isinstance(stream, Dissection) else shape
