"""Suggestions for misspelt words."""

import difflib
from collections.abc import Sequence


def nearest_words(
    word: str, known: Sequence[str], *, count: int = 1, cutoff: float = 0.5
) -> list[str]:
    """Return the known words nearest to a misspelt one, the nearest first."""
    return difflib.get_close_matches(word, known, n=count, cutoff=cutoff)


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return ``; did you mean …?`` with the nearest known word, or all of them."""
    near = nearest_words(word, known)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
