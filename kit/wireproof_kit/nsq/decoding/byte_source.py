"""Reads a file, pipe or string from front to back, one value at a time."""

from typing import BinaryIO, TypeVar

from wireproof_kit.decoding.decoded import Broken
from wireproof_kit.nsq.decoding.annotation import fault_parts
from wireproof_spec.decoding import Schema, decode, decode_many, extent, spans
from wireproof_spec.wire_error import WireError

T = TypeVar("T")

CHUNK = 1 << 16
BATCH = CHUNK
"""How many bytes of values are decoded together."""
HEAD = 4
"""Bytes of the size before every frame, body and record."""
LIMIT = 1 << 26
"""The greatest size in bytes that counts as valid: far beyond what any broker allows."""


class ByteSource:
    """A file, pipe or string of bytes to decode; ``size`` is None for a pipe."""

    def __init__(self, file: BinaryIO, *, size: int | None) -> None:
        self._file = file
        self._size = size
        self._ahead = b""
        self.offset = 0
        """The offset of the next byte from the first one."""

    @property
    def left(self) -> int | None:
        """The number of bytes not yet consumed; None for a pipe."""
        return None if self._size is None else max(0, self._size - self.offset)

    def peek(self, count: int) -> bytes:
        """Return the next bytes without consuming them."""
        self._ahead += self._read(count - len(self._ahead))
        return self._ahead[:count]

    def take(self, count: int) -> bytes:
        """Consume and return the next ``count`` bytes; fewer only at the end."""
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        taken += self._read(count - len(taken))
        self.offset += len(taken)
        return taken

    def _read(self, count: int) -> bytes:
        # In pieces: what is declared must not be set aside before it is there.
        pieces: list[bytes] = []
        while count > 0 and (piece := self._file.read(min(count, CHUNK))):
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


def take_value(source: ByteSource, schema: Schema[T]) -> tuple[T, bytes] | Broken:
    """Return the next length-prefixed value and its bytes, or the decoding error as a Broken."""
    start = source.offset
    try:
        size = _read_declared_size(source, schema)
    except WireError as error:
        return make_broken(schema, source.take(CHUNK), start=start, error=error)
    data = source.take(size)
    try:
        return decode(schema, data), data
    except WireError as error:
        return make_broken(schema, data, start=start, error=error)


def take_many(source: ByteSource, schema: Schema[T]) -> tuple[list[T], list[bytes], list[int]]:
    """Return the values, bytes and offsets of all complete valid values that come next.

    The lists are empty if the next value is invalid, incomplete or longer than a batch, or if the
    end is not known: the kit would have to wait for a pipe. Three lists, not a list of three each:
    files hold millions.
    """
    left = source.left
    if left is None:
        return [], [], []
    first, data = source.offset, source.peek(min(BATCH, left))
    values, ends = decode_many(schema, data)
    if not ends:
        return [], [], []
    source.take(ends[-1])
    starts = [0, *ends[:-1]]
    pieces = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    return values, pieces, list(map(first.__add__, starts))


def make_broken(schema: Schema[T], data: bytes, *, start: int, error: WireError) -> Broken:
    """Return bytes that violate a schema as a Broken, with the fields before the error."""
    return Broken(
        start, data, error.at(start), lambda: fault_parts(spans(schema, data), data, error)
    )


def _read_declared_size(source: ByteSource, schema: Schema[T]) -> int:
    head, left = source.peek(HEAD), source.left
    size = extent(schema, head, limit=LIMIT if left is None else None)
    if size is None or left is None or size <= left:
        return HEAD if size is None else size
    raise WireError(
        clause=schema.clause,
        field=spans(schema, head)[0].field,
        offset=0,
        expected=f"{size - HEAD} bytes after it",
        found=str(left - HEAD),
    )
