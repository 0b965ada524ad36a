"""Words of a command line, read as the measured broker's number parsers read them."""

import re

_INTEGER = re.compile(rb"[+-]?[0-9]+\Z")
_TRUE = frozenset({b"1", b"t", b"T", b"true", b"TRUE", b"True"})
_FALSE = frozenset({b"0", b"f", b"F", b"false", b"FALSE", b"False"})
_INT64 = 1 << 63


class BadWord(ValueError):
    """Raised for a word of a command line that is no value of its kind; the text says why."""


def show(word: bytes) -> str:
    """Return a word as text in which every byte can be seen."""
    return word.decode("utf-8", "surrogateescape")


def integer(word: bytes, function: str = "Atoi") -> int:
    """Return the signed decimal 64-bit integer in a word.

    Raises:
        BadWord: no decimal digits, or too many.
    """
    if not _INTEGER.match(word):
        raise BadWord(f'strconv.{function}: parsing "{show(word)}": invalid syntax')
    value = int(word) if len(word) < 40 else _INT64
    if not -_INT64 <= value < _INT64:
        raise BadWord(f'strconv.{function}: parsing "{show(word)}": value out of range')
    return value


def boolean(word: bytes) -> bool:
    """Return the truth value in a word.

    Raises:
        BadWord: the word is no spelling of true or false.
    """
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise BadWord(f'strconv.ParseBool: parsing "{show(word)}": invalid syntax')


def digits(word: bytes) -> int | None:
    """Return the unsigned decimal number in a word, modulo 2^64, or None; an empty word is 0."""
    if not word:
        return 0
    if not word.isdigit() or len(word) > 4000:
        return None
    return int(word) % (1 << 64)


def byte_list(data: bytes) -> str:
    """Return bytes as Go prints them: `[80 85 66]`."""
    return "[" + " ".join(map(str, data)) + "]"
