"""Random draws that are the same for the same seed and index, and cheap to begin anywhere."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

_BITS = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


class Chance:
    """A stream of draws (SplitMix64); `random.Random` costs more to seed than a case to make."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, index: int) -> None:
        self._state = (_mixed(seed & _BITS ^ seed >> 64 & _BITS) + index * _STEP) & _BITS

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1; `bound` is at most 2**64."""
        self._state = state = (self._state + _STEP) & _BITS
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _BITS
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & _BITS
        return (state ^ state >> 31) * bound >> 64

    def one_of(self, choices: Sequence[T]) -> T:
        """Return one of several things."""
        return choices[self.below(len(choices))]

    def octets(self, size: int) -> bytes:
        """Return so many bytes."""
        if size <= 8:
            return self.below(1 << 8 * size).to_bytes(size, "big")
        return Random(self.below(1 << 64)).randbytes(size)


def _mixed(number: int) -> int:
    return Chance.below(_Fixed(number), 1 << 64)


class _Fixed(Chance):
    """A stream that begins at a given state."""

    __slots__ = ()

    def __init__(self, state: int) -> None:
        self._state = state
