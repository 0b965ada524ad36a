"""Suggestions for misspelt words."""

import difflib
from collections.abc import Sequence


def nearest_words(
    word: str, known: Sequence[str], *, count: int = 1, cutoff: float = 0.5
) -> list[str]:
    """Return the known words that are most similar to a misspelled one, the most similar first."""
    return difflib.get_close_matches(word, known, n=count, cutoff=cutoff)


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return ``; did you mean …?`` for a misspelled word, or the list of all known words."""
    near = nearest_words(word, known)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
