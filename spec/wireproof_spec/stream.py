"""Reads values from a stream of bytes, however its bytes are divided.

A reader returns a value or `NEED_MORE`, or raises a `WireError` whose offset counts from the start
of the stream. It holds at most the last bytes fed, the values in them, and the bytes of one
incomplete value.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from wireproof_spec.decoding import Schema, decode, decode_many, extent
from wireproof_spec.wire_error import WireError

T = TypeVar("T")

_HEAD = 8  # bytes; no size field is wider


class NeedMore(Enum):
    """The type of NEED_MORE, which a reader returns when it has no complete value yet."""

    NEED_MORE = "need more"


NEED_MORE: Final[Literal[NeedMore.NEED_MORE]] = NeedMore.NEED_MORE


class StreamBuffer:
    """The bytes of a stream that are not part of a value given away; the base of readers."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.offset = 0
        """Where the next value starts, in bytes from the start of the stream."""

    @property
    def pending(self) -> bytes:
        """The bytes fed so far that belong to an incomplete value."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> None:
        """Append bytes received from the stream."""
        self._buffer += data

    def _drop(self, size: int) -> None:
        """Forget the bytes of a value that is given away."""
        del self._buffer[:size]
        self.offset += size


class SizedReader(Generic[T]):
    """Decodes values that begin with their size from a stream, in pieces of any size."""

    def __init__(self, schema: Schema[T], limit: int) -> None:
        """Create a reader; `limit` is the largest size in bytes that a value may declare."""
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
        """Where the next value starts, in bytes from the start of the stream."""
        return self._base + self._taken

    @property
    def pending(self) -> bytes:
        """The bytes fed so far that belong to an incomplete value."""
        return bytes(self._buffer[self._taken :])

    def feed(self, data: bytes) -> None:
        """Append bytes received from the stream."""
        self._buffer += data

    def next(self) -> T | NeedMore:
        """Return the next complete value, or NEED_MORE.

        Raises:
            WireError: the bytes do not fit the shape; the reader does not move.
        """
        ready = next(self._ready, None) or self._decode()
        if ready is None:
            return NEED_MORE
        value, self._taken = ready
        return value

    def finish(self) -> None:
        """Check that the stream ends after a complete value.

        Raises:
            WireError: the stream ends inside a value.
        """
        if pending := self.pending:
            try:
                decode(self._schema, pending)
            except WireError as error:
                raise error.at(self.offset) from None

    def _decode(self) -> tuple[T, int] | None:
        """Decode the complete values; return the first one and its end."""
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
        """Decode the first value alone, because it is incomplete or invalid."""
        try:
            end = extent(self._schema, data[:_HEAD], limit=self._limit)
            if end is None or len(data) < end:
                self._wanted = end or len(data) + 1
                return None
            return decode(self._schema, data[:end]), end
        except WireError as error:
            raise error.at(self._base) from None
