"""Edits of a frame's bytes, and of the lengths that measure them."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from wireproof_kit.fuzz.case import Field, Frame

Edit: TypeAlias = tuple[int, int, bytes]
"""A start offset, an end offset, and the bytes that replace the bytes between them."""
Edits: TypeAlias = tuple[Edit, ...]
"""Edits sorted by offset; they do not overlap."""


class FieldIndex:
    """A frame that is about to be mutated, with access to its fields by path."""

    __slots__ = ("by_path", "fields", "frame")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.fields = frame.fields
        self.by_path: Mapping[str, Field] = {field.path: field for field in frame.fields}

    def bytes_of(self, field: Field) -> bytes:
        """Return the bytes of a field of the frame."""
        return self.frame.data[field.start : field.end]

    def number_in(self, field: Field) -> int:
        """Return the number in a binary or decimal field; 0 if a decimal field has no digits."""
        data = self.frame.data[field.start : field.end]
        if field.order is not None:
            return int.from_bytes(data, field.order)
        digits = data.removeprefix(b"-")
        return int(data) if digits.isdigit() and len(digits) < 40 else 0

    def repairs(self, field: Field, growth: int, items: int = 0) -> Iterator[Edit]:
        """Yield edits that correct lengths when a field grows by bytes, and counts by items."""
        for path in field.measured_by:
            measure = self.by_path[path]
            more = growth if measure.role == "length" else items
            if more:
                yield number_edit(measure, self.number_in(measure) + more)


def number_edit(field: Field, number: int) -> Edit:
    """Return the edit that writes a number into a field, modulo its width or as decimal digits."""
    if field.order is None:
        return field.start, field.end, b"%d" % number
    width = field.end - field.start
    written = (number % (1 << 8 * width)).to_bytes(width, field.order)
    return field.start, field.end, written


def apply_edits(data: bytes, edits: Edits) -> bytes:
    """Return the bytes with all edits applied."""
    if len(edits) == 1:
        ((start, end, new),) = edits
        return data[:start] + new + data[end:]
    pieces: list[bytes] = []
    at = 0
    for start, end, new in edits:
        pieces += (data[at:start], new)
        at = end
    pieces.append(data[at:])
    return b"".join(pieces)


def growth(edits: Edits) -> int:
    """Return by how many bytes the edits lengthen the data; negative if they shorten it."""
    return sum(len(new) - (end - start) for start, end, new in edits)
