"""How the bytes of a case against a client are divided into writes."""

from itertools import pairwise
from typing import Final

from wireproof_kit.fuzz.case import ByteByByte, Case, HalfClose, Slow, SplitAt, Step

MOST_PIECES: Final = 64


def divide(case: Case) -> tuple[bytes, ...]:
    """Return the bytes of a case as they are written; one piece or more."""
    found: list[bytes] = [b""]
    for step in case.steps:
        first, *others = _pieces(step)
        found[-1] += first
        found += others
    return tuple(found)


def _pieces(step: Step) -> list[bytes]:
    style, data = step.style, step.data
    cuts: tuple[int, ...] = ()
    if isinstance(style, SplitAt | Slow):
        cuts = style.offsets
    elif isinstance(style, ByteByByte):
        cuts = tuple(range(1, min(len(data), MOST_PIECES)))
    places = [0, *cuts[:MOST_PIECES], len(data)]
    return [data[start:end] for start, end in pairwise(places)]


def closes_half(case: Case) -> bool:
    """Return True if the kit's side of the connection is closed after the case."""
    return any(isinstance(step.style, HalfClose) for step in case.steps)
