"""Changes to a frame's bytes, and the lengths that would have to follow them."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from wireproof_kit.fuzz.case import Field, Frame

Edit: TypeAlias = tuple[int, int, bytes]
"""Other bytes in the place of those from one offset to another."""
Edits: TypeAlias = tuple[Edit, ...]
"""In the order of their places, none over another."""


class FieldIndex:
    """A frame about to be made wrong: its fields by path."""

    __slots__ = ("by_path", "fields", "frame")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.fields = frame.fields
        self.by_path: Mapping[str, Field] = {field.path: field for field in frame.fields}

    def bytes_of(self, field: Field) -> bytes:
        """Return what stands in a field."""
        return self.frame.data[field.start : field.end]

    def number_in(self, field: Field) -> int:
        """Return the number in a field, in bytes or digits; without digits it is 0."""
        data = self.frame.data[field.start : field.end]
        if field.order is not None:
            return int.from_bytes(data, field.order)
        digits = data.removeprefix(b"-")
        return int(data) if digits.isdigit() and len(digits) < 40 else 0

    def repairs(self, field: Field, growth: int, items: int = 0) -> Iterator[Edit]:
        """Yield what the lengths and counts around a field become when it grows by so much."""
        for path in field.measured_by:
            measure = self.by_path[path]
            more = growth if measure.role == "length" else items
            if more:
                yield number_edit(measure, self.number_in(measure) + more)


def number_edit(field: Field, number: int) -> Edit:
    """Return the change that puts a number into a field, modulo its width; or its digits."""
    if field.order is None:
        return field.start, field.end, b"%d" % number
    width = field.end - field.start
    written = (number % (1 << 8 * width)).to_bytes(width, field.order)
    return field.start, field.end, written


def apply_edits(data: bytes, edits: Edits) -> bytes:
    """Return the bytes with all changes made."""
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
    """Return by how many bytes the changes lengthen what they change."""
    return sum(len(new) - (end - start) for start, end, new in edits)
