"""Frames of a chosen shape: cut at a field, of a chosen size, with a header of a chosen length."""

from wireproof_kit.wire.outgoing import Outgoing


def header_of(length: int) -> bytes:
    """Return a valid JSON header of this length: 2 bytes, or 8 and more."""
    return b"{}" if length == 2 else b'{"k":"' + b"v" * (length - 8) + b'"}'


def cut_to_size(frame: Outgoing, size: int) -> Outgoing:
    """Return a frame that is cut to a smaller size and declares that size."""
    field = frame.part("size")
    end = field.offset + field.length + size
    return frame.replace("size", size.to_bytes(field.length, "big")).cut(end)


def ended_after(frame: Outgoing, field: str) -> Outgoing:
    """Return a frame cut off behind a field."""
    part = frame.part(field)
    return frame.cut(part.offset + part.length)


def within(frame: Outgoing, field: str, inside: int) -> int:
    """Return the offset of a byte in a frame's field; if negative, ``inside`` is from its end."""
    part = frame.part(field)
    return part.offset + (inside if inside >= 0 else part.length + inside)
