"""Random numbers that depend only on seed and index, and are cheap to start anywhere."""

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")

_BITS = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_SPREAD = 0xD1342543DE82EF95


class RandomSource:
    """A stream of random numbers (SplitMix64).

    `random.Random` is not used: seeding it costs more than making a case.
    """

    __slots__ = ("_state",)

    def __init__(self, stream: int, index: int) -> None:
        """Start the numbers for an index; `stream` is the result of `mix_seed`."""
        self._state = (stream + index * _SPREAD) & _BITS

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1; `bound` is at most 2**64."""
        self._state = state = (self._state + _STEP) & _BITS
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _BITS
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & _BITS
        return (state ^ state >> 31) * bound >> 64

    def one_of(self, choices: Sequence[T]) -> T:
        """Return a random one of the given items."""
        return choices[self.below(len(choices))]

    def octets(self, size: int) -> bytes:
        """Return `size` random bytes."""
        if size <= 8:
            return self.below(1 << 8 * size).to_bytes(size, "big")
        return Random(self.below(1 << 64)).randbytes(size)


def mix_seed(seed: int) -> int:
    """Return the `stream` of a seed for RandomSource; close seeds give distant streams."""
    return int.from_bytes(blake2b(str(seed).encode(), digest_size=8).digest(), "big")
