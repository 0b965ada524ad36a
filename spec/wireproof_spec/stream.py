"""Values out of a stream of bytes, whatever pieces it arrives in.

A reader answers one of three: a value, `NEED_MORE`, or a `WireError` whose offset counts from
the start of the stream. It never holds more than one value and the last piece fed.
"""

from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from wireproof_spec.decoding import Schema, decode, extent
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
        self.offset = 0
        """Where the next value starts, counted from the start of the stream."""

    @property
    def pending(self) -> bytes:
        """The bytes of a value that is not whole yet."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take more bytes of the stream."""
        self._buffer += data

    def next(self) -> T | NeedMore:
        """Return the next value, or NEED_MORE.

        Raises:
            WireError: the bytes break the shape; the reader stays where it is.
        """
        try:
            end = extent(self._schema, bytes(self._buffer[:_HEAD]), limit=self._limit)
            if end is None or len(self._buffer) < end:
                return NEED_MORE
            value = decode(self._schema, bytes(self._buffer[:end]))
        except WireError as error:
            raise error.at(self.offset) from None
        del self._buffer[:end]
        self.offset += end
        return value

    def finish(self) -> None:
        """Say that the stream ends here.

        Raises:
            WireError: it ends within a value.
        """
        if self._buffer:
            try:
                decode(self._schema, self.pending)
            except WireError as error:
                raise error.at(self.offset) from None
