"""Words and decimal numbers, which end where other characters begin, and UTF-8 text."""

# construct's interface for subclasses has underscored names.
# pyright: reportPrivateUsage=false

import io
import re
from typing import cast

from wireproof_spec.grammar.dissection import PartRefused
from wireproof_spec.grammar.layout import (
    Bytes,
    Context,
    Literal,
    Shape,
    Stream,
    Wrapping,
    as_tuple,
    field,
    name_numbered,
)
from wireproof_spec.wording import show_value


class Text(Shape):
    """The layout of the longest run of bytes that matches a pattern; `kind` names it in errors."""

    def __init__(self, pattern: bytes, kind: str) -> None:
        super().__init__()
        self.pattern = re.compile(pattern)
        self.kind = kind

    def _parse(self, stream: Stream, context: Context, path: str) -> bytes:
        match = self.pattern.match(_read_rest(stream), stream.tell())
        if match is None:
            found = stream.read(8)
            raise PartRefused(expected=self.kind, found=show_value(found))
        stream.seek(match.end())
        return match[0]

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if not isinstance(obj, bytes) or not self.pattern.fullmatch(obj):
            raise PartRefused(expected=self.kind, found=show_value(obj))
        return stream.write(obj)


class Utf8(Wrapping):
    """A layout whose bytes decode to a string as UTF-8."""

    def __init__(self, octets: Bytes) -> None:
        super().__init__(octets)

    def _parse(self, stream: Stream, context: Context, path: str) -> str:
        data: bytes = self.subcon._parse(stream, context, path)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise PartRefused(expected="UTF-8", found=show_value(data[error.start :])) from None

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        try:
            data = obj.encode() if isinstance(obj, str) else None
        except UnicodeEncodeError:
            data = None
        if data is None:
            raise PartRefused(expected="text", found=show_value(obj))
        return self.subcon._build(data, stream, context, path)


class Decimal(Shape):
    """The layout of a number of at most 18 decimal digits, without sign or leading zeros."""

    highest = 10**18 - 1
    digits = Text(rb"0|[1-9][0-9]{0,17}", "decimal digits")

    def _parse(self, stream: Stream, context: Context, path: str) -> int:
        return int(self.digits._parse(stream, context, path))

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if type(obj) is not int:
            raise PartRefused(expected=self.digits.kind, found=show_value(obj))
        return self.digits._build(str(obj).encode(), stream, context, path)


class Words(Wrapping):
    """The layout of words with a space before each, as a tuple; empty if no space follows."""

    _space = field("separator", Literal(b" "))

    def _parse(self, stream: Stream, context: Context, path: str) -> tuple[object, ...]:
        values: list[object] = []
        while _next_byte(stream) == b" ":
            self._space._parse(stream, context, path)
            word = name_numbered(self.subcon, len(values), stream)
            values.append(word._parse(stream, context, path))
        return tuple(values)

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        for index, word in enumerate(as_tuple(obj)):
            stream.write(b" ")
            name_numbered(self.subcon, index, stream)._build(word, stream, context, path)
        return stream.tell()


class CarriageReturn(Shape):
    """The layout of an optional carriage return; its value is True if there is one."""

    def _parse(self, stream: Stream, context: Context, path: str) -> bool:
        found = _next_byte(stream) == b"\r"
        stream.seek(found, 1)
        return found

    def _build(self, obj: object, stream: Stream, context: Context, path: str) -> int:
        if not isinstance(obj, bool):
            raise PartRefused(expected="a bool", found=show_value(obj))
        if not obj and _read_rest(stream).endswith(b"\r"):
            raise PartRefused(expected="no carriage return before it", found="one")
        return stream.write(b"\r" * obj)


def _read_rest(stream: Stream) -> bytes:
    return cast(io.BytesIO, stream).getvalue()


def _next_byte(stream: Stream) -> bytes:
    at = stream.tell()
    following = stream.read(1)
    stream.seek(at)
    return following
