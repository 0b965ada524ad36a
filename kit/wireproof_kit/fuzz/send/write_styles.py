"""Ways to divide a frame into writes; a correct parser must treat them all alike."""

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
"""Returns a write style for a field and its frame's size; None if it equals a single write."""

MOST_WRITES = 300
"""Longer frames are not sent byte by byte: the many small writes would only cost time."""
PAUSE_S = 0.02


def write_whole(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style that sends the frame in one write."""
    return WHOLE


def half_close(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style that sends the frame in one write and then shuts down sending."""
    return HALF_CLOSE


def byte_by_byte(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style of one write for each byte; None unless there are 2 to 300."""
    return BYTE_BY_BYTE if 1 < size <= MOST_WRITES else None


def split(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style that cuts the frame at one to six random offsets."""
    offsets = _offsets(size, 1 + source.below(6), source)
    return SplitAt(offsets) if offsets else None


def split_before(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style that cuts the frame where the field begins."""
    return SplitAt((field.start,)) if 0 < field.start < size else None


def split_inside(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style that cuts the frame at a random offset inside the field."""
    inside = field.end - field.start - 1
    return SplitAt((field.start + 1 + source.below(inside),)) if inside > 0 else None


def slow(field: Field, size: int, source: RandomSource) -> WriteStyle | None:
    """Return the write style that pauses at one or two random offsets of the frame."""
    offsets = _offsets(size, 1 + source.below(2), source)
    return Slow(PAUSE_S, offsets) if offsets else None


def _offsets(size: int, count: int, source: RandomSource) -> tuple[int, ...]:
    if size < 2:
        return ()
    return tuple(sorted({1 + source.below(size - 1) for _ in range(count)}))
