"""Faults that do wrongly 3 s later what they should not do at all."""

from typing import Final

LATE_NS: Final = 3_000_000_000
"""Long enough that whoever waits for an answer or a sentinel has stopped waiting."""
