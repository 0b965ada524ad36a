"""Texts and bytes that parsers often misread, by name."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from wireproof_kit.fuzz.generate.random_source import RandomSource

Trap = Callable[[bytes, RandomSource], bytes]
"""A change of a text into one that a reader may misread; returns the replacing bytes."""
Traps: TypeAlias = Mapping[str, Mapping[str, Trap]]
"""Changes of texts by name, for each role of a field or each place in an HTTP request."""
NO_TRAPS: Traps = {}


def _make_insert_trap(piece: bytes) -> Trap:
    """Return the trap that inserts a piece at a random offset."""

    def make(text: bytes, source: RandomSource) -> bytes:
        at = source.below(len(text) + 1)
        return text[:at] + piece + text[at:]

    return make


def instead(text: bytes) -> Trap:
    """Return the trap (a change of a text) that replaces any text by a fixed one."""
    return lambda _, source: text


def make_append_trap(more: bytes) -> Trap:
    """Return the trap (a change of a text) that appends bytes."""
    return lambda text, source: text + more


def make_size_trap(size: int) -> Trap:
    """Return the trap (a change of a text) that repeats the text up to `size` bytes."""

    def make(text: bytes, source: RandomSource) -> bytes:
        whole = text or b"x"
        return (whole * (size // len(whole) + 1))[:size]

    return make


def _other_case(text: bytes, source: RandomSource) -> bytes:
    return text.swapcase()


def _flip_bit(text: bytes, source: RandomSource) -> bytes:
    if not text:
        return text
    at = source.below(len(text))
    return text[:at] + bytes([text[at] ^ 1 << source.below(8)]) + text[at + 1 :]


def _random(text: bytes, source: RandomSource) -> bytes:
    return source.octets(source.below(40))


CHANGES: Mapping[str, Trap] = {
    "empty": instead(b""),
    "one bit flipped": _flip_bit,
    "random bytes": _random,
    "a NUL in it": _make_insert_trap(b"\0"),
    "a line feed in it": _make_insert_trap(b"\n"),
    "no UTF-8: lone continuation": _make_insert_trap(b"\x80"),
    "no UTF-8: cut sequence": _make_insert_trap(b"\xe2\x82"),
}
"""Traps for bytes of any kind."""

_SMALL = (1, 2, 64, 65, 127, 128, 255, 256, 257, 4096)
_LARGE = (32767, 32768, 65533, 65534, 65535, 65536)

SIZES: Mapping[str, Trap] = {f"{size} bytes": make_size_trap(size) for size in _SMALL}
LARGE_SIZES: Mapping[str, Trap] = {f"{size} bytes": make_size_trap(size) for size in _LARGE}
"""Sizes at which fields, buffers and sums overflow."""

BODIES: Mapping[str, Trap] = {
    "all zero": lambda text, source: bytes(len(text) or 1),
    "all ones": lambda text, source: b"\xff" * (len(text) or 1),
    "like a size": instead(b"\xff\xff\xff\xff\0\0\0\x04"),
}

WORDS: Mapping[str, Trap] = {
    "a blank in it": _make_insert_trap(b" "),
    "a tab in it": _make_insert_trap(b"\t"),
    "a carriage return in it": _make_insert_trap(b"\r"),
    "a delete in it": _make_insert_trap(b"\x7f"),
    "other letter case": _other_case,
    "no UTF-8: overlong": instead(b"\xc0\xaf\xe0\x80\xaf"),
    "no UTF-8: surrogate": instead(b"\xed\xa0\x80"),
    "no UTF-8: beyond": instead(b"\xf4\x90\x80\x80"),
    "letters beyond ASCII": instead("ÄéЖ中\U0001f600".encode()),
    "combining": instead(b"e" + "\u0301".encode() * 9),
    "right to left": instead("\u202e\u2066abc".encode()),
    "no width": instead("\ufeff\u200b".encode()),
    "other digits": instead("\u0663\uff15".encode()),
    "format": instead(b"%s%n%x%99999d{0}${x}"),
    "path": instead(b"../../../tmp/x"),
    "dots": instead(b".."),
    "quotes": instead(b"'\"`;--\\"),
}

DIGITS: Mapping[str, Trap] = {
    "no number": instead(b"abc"),
    "a sign in front": lambda text, source: b"+" + text,
    "minus one": instead(b"-1"),
    "minus": instead(b"-"),
    "minus zero": instead(b"-0"),
    "zeros in front": lambda text, source: b"0" * 30 + text,
    "a fraction": make_append_trap(b".5"),
    "an exponent": instead(b"1e9"),
    "hexadecimal": instead(b"0x10"),
    "octal": instead(b"0o7"),
    "underscores": instead(b"1_000"),
    "not a number": instead(b"NaN"),
    "infinite": instead(b"Infinity"),
    "2**31": instead(b"2147483648"),
    "2**32": instead(b"4294967296"),
    "2**63 - 1": instead(b"9223372036854775807"),
    "2**63": instead(b"9223372036854775808"),
    "-(2**63) - 1": instead(b"-9223372036854775809"),
    "2**64": instead(b"18446744073709551616"),
    "a thousand digits": instead(b"9" * 1000),
    "a list": lambda text, source: text + b"," + text,
    "a blank behind": make_append_trap(b" "),
    "other digits": instead("\u0661\u0662".encode()),
}
"""Replacements of a decimal number that are no number, too large, or oddly written."""
