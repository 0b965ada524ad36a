"""The partition word of a command line."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import BadWord, integer

ANY = -1
"""The number that stands for the default partition where a partition is optional."""


def partition_number(word: bytes, code: str) -> int:
    """Return the number in the partition word of a command line.

    Raises:
        Refusal: the word is no decimal number.
    """
    try:
        return integer(word)
    except BadWord as error:
        raise Refusal(code, f"topic partition is not valid: {error}") from error


def optional(words: Sequence[bytes], at: int, code: str) -> int | None:
    """Return the partition if it is the last word of a command line; None if missing or -1."""
    if len(words) != at + 1:
        return None
    number = partition_number(words[at], code)
    return None if number == ANY else number
