"""How much a target's memory must grow while cases are repeated, before that is a leak."""

from collections.abc import Sequence
from typing import Final

ROUNDS: Final = 3
"""Rounds of the same cases, each of which must grow; one more is sent before them."""
LEAST_CASES: Final = 16
"""Cases in a round; fewer are repeated in it."""
ROUND_STEP: Final = 800 * 1024
"""The growth in bytes in every round of the same cases that confirms a leak."""
KEPT_EACH: Final = 4096
"""Bytes that a broker may keep for each stored request in addition to its content."""


def repetitions(cases: int) -> int:
    """Return how often a number of cases is sent in a round."""
    return max(1, -(-LEAST_CASES // cases))


def least_growth(sizes: Sequence[Sequence[int]]) -> int:
    """Return the bytes by which a round must grow.

    ``sizes`` has for each case the bytes of its requests. A broker may keep what it stored. Among
    more cases than a round needs, one that leaks must not be lost in what others may leave.
    """
    if len(sizes) > LEAST_CASES:
        return ROUND_STEP
    each = sum(sum(case) + KEPT_EACH * len(case) for case in sizes)
    return ROUND_STEP + repetitions(len(sizes)) * each
