"""Values out of a stream of bytes, whatever pieces it arrives in.

A reader answers one of three: a value, `NEED_MORE`, or a `WireError` whose offset counts from
the start of the stream. It never holds more than the last piece fed, the values in it, and the
bytes of one value that is not whole yet.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from wireproof_spec.decoding import Schema, decode, decode_many, extent
from wireproof_spec.wire_error import WireError

T = TypeVar("T")

_HEAD = 8  # bytes; no size field is wider


class NeedMore(Enum):
    """The answer of a reader that has not seen a whole value yet."""

    NEED_MORE = "need more"


NEED_MORE: Final[Literal[NeedMore.NEED_MORE]] = NeedMore.NEED_MORE


class SizedReader(Generic[T]):
    """Reads values led by their own size, one after the other."""

    def __init__(self, schema: Schema[T], limit: int) -> None:
        """`limit` is the greatest size in bytes that a value may declare."""
        self._schema = schema
        self._limit = limit
        self._buffer = bytearray()
        self._wanted = 1
        """How many bytes in front say more than is known."""
        self._ready: Iterator[tuple[T, int]] = iter(())
        """Values in front that are decoded already, and where each ends."""
        self._taken = 0
        """The bytes in front whose values were given away."""
        self._base = 0

    @property
    def offset(self) -> int:
        """Where the next value starts, counted from the start of the stream."""
        return self._base + self._taken

    @property
    def pending(self) -> bytes:
        """The bytes of a value that is not whole yet."""
        return bytes(self._buffer[self._taken :])

    def feed(self, data: bytes) -> None:
        """Take more bytes of the stream."""
        self._buffer += data

    def next(self) -> T | NeedMore:
        """Return the next value, or NEED_MORE.

        Raises:
            WireError: the bytes break the shape; the reader stays where it is.
        """
        found = next(self._ready, None) or self._decode()
        if found is None:
            return NEED_MORE
        value, self._taken = found
        return value

    def finish(self) -> None:
        """Say that the stream ends here.

        Raises:
            WireError: it ends within a value.
        """
        if pending := self.pending:
            try:
                decode(self._schema, pending)
            except WireError as error:
                raise error.at(self.offset) from None

    def _decode(self) -> tuple[T, int] | None:
        """Decode what is whole; return the first value and its end."""
        self._base += self._taken
        del self._buffer[: self._taken]
        self._taken = 0
        if len(self._buffer) < self._wanted:
            return None
        self._wanted = 1
        data = bytes(self._buffer)
        values, ends = decode_many(self._schema, data, limit=self._limit)
        self._ready = zip(values, ends, strict=True)
        return next(self._ready, None) or self._first(data)

    def _first(self, data: bytes) -> tuple[T, int] | None:
        """Return the first value and its end, by itself: it is not whole, or not right."""
        try:
            end = extent(self._schema, data[:_HEAD], limit=self._limit)
            if end is None or len(data) < end:
                self._wanted = end or len(data) + 1
                return None
            return decode(self._schema, data[:end]), end
        except WireError as error:
            raise error.at(self._base) from None
