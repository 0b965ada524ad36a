"""Ways of sending that a parser must not notice."""

from collections.abc import Callable
from typing import TypeAlias

from wireproof_kit.fuzz.case import (
    BYTE_BY_BYTE,
    HALF_CLOSE,
    WHOLE,
    Field,
    Slow,
    SplitAt,
    WriteStyle,
)
from wireproof_kit.fuzz.generate.random_source import RandomSource

Way: TypeAlias = Callable[[Field, int, RandomSource], WriteStyle | None]
"""From a field and the size of the frame; None where it would be no other way than usual."""

MOST_WRITES = 300
"""Frames beyond are not sent byte by byte: so many small writes only cost time."""
PAUSE_S = 0.02


def write_whole(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Write all at once."""
    return WHOLE


def half_close(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Write all at once and end the stream."""
    return HALF_CLOSE


def byte_by_byte(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Write each byte alone."""
    return BYTE_BY_BYTE if 1 < size <= MOST_WRITES else None


def split(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Cut at a few places."""
    offsets = _offsets(size, 1 + source.below(6), source)
    return SplitAt(offsets) if offsets else None


def split_before(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Cut where the field begins."""
    return SplitAt((field.start,)) if 0 < field.start < size else None


def split_inside(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Cut within the field."""
    inside = field.end - field.start - 1
    return SplitAt((field.start + 1 + source.below(inside),)) if inside > 0 else None


def slow(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Cut at one place or two, and wait there."""
    offsets = _offsets(size, 1 + source.below(2), source)
    return Slow(PAUSE_S, offsets) if offsets else None


def _offsets(size: int, count: int, source: RandomSource) -> tuple[int, ...]:
    if size < 2:
        return ()
    return tuple(sorted({1 + source.below(size - 1) for _ in range(count)}))
