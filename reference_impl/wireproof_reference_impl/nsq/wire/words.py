"""Words of a command line, read as the measured broker's number parsers read them."""

import re

_INTEGER = re.compile(rb"[+-]?[0-9]+\Z")
_TRUE = frozenset({b"1", b"t", b"T", b"true", b"TRUE", b"True"})
_FALSE = frozenset({b"0", b"f", b"F", b"false", b"FALSE", b"False"})
_INT64 = 1 << 63


class BadWord(ValueError):
    """A word that is no value of the expected kind; the text says why."""


def show(word: bytes) -> str:
    """Return a word as text that preserves every byte."""
    return word.decode("utf-8", "surrogateescape")


def integer(word: bytes, function: str = "Atoi") -> int:
    """Return a signed decimal 64-bit integer.

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
    """Return a truth value.

    Raises:
        BadWord: the word is no spelling of true or false.
    """
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise BadWord(f'strconv.ParseBool: parsing "{show(word)}": invalid syntax')


def digits(word: bytes) -> int | None:
    """Return an unsigned decimal number, modulo 2^64 (an empty word is 0), or None."""
    if not word:
        return 0
    if not word.isdigit() or len(word) > 4000:
        return None
    return int(word) % (1 << 64)


def byte_list(data: bytes) -> str:
    """Return bytes as Go prints them: `[80 85 66]`."""
    return "[" + " ".join(map(str, data)) + "]"
