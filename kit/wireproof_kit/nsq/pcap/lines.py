"""Scapy fields for command lines: words, separated by spaces, up to the line end."""

from collections.abc import Iterator
from typing import cast

from scapy.fields import Field, StrField
from scapy.packet import Packet
from scapy.volatile import RandBin, RandNum

from wireproof_kit.pcap.layer import LayerViolation, Short
from wireproof_kit.pcap.leaves import Leaf

_BLANK = b" "
_LINE_FEED = b"\n"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-#:+!"


class Word(StrField):
    """A scapy field: a space and one word; None if the line ends before it."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes | None]:  # type: ignore[override]  # a word may be missing
        """Return the bytes after the word, which may be the line end, and the word or None."""
        if not s.startswith(_BLANK):
            return s, None
        end = _word_end(s, 1)
        return s[end:], s[1:end]

    def addfield(self, pkt: Packet, s: bytes, val: bytes | None) -> bytes:
        """Append a space and the word to the bytes; return them."""
        return s if val is None else s + _BLANK + val

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield path, bytes and value of the space and of the word."""
        if isinstance(value, bytes):
            yield "separator", _BLANK, _BLANK
            yield self.name, value, value

    def randval(self) -> RandBin:
        """Return a random word without spaces and line feeds."""
        return RandBin(RandNum(1, 70), _LETTERS)


class Name(StrField):
    """A scapy field: the first word of a line, which is the command's name."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Return the bytes after the word, which start with a space or line end, and the word."""
        end = _word_end(s, 0)
        return s[end:], s[:end]

    def randval(self) -> None:  # type: ignore[override]  # a layer stays the command that it is
        """Return None: the command of a layer is fixed."""


class Words(Field[list[bytes], bytes]):
    """A scapy field: all further words up to the line end, which the command does not define."""

    islist = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, [])

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[bytes]]:
        """Return the bytes after the words, which start with the line end, and the words."""
        end = _line_end(s)
        return s[end:], s[1:end].split(_BLANK) if end else []

    def addfield(self, pkt: Packet, s: bytes, val: list[bytes] | None) -> bytes:
        """Append a space and the word to the bytes for each word; return them."""
        return s + b"".join(_BLANK + word for word in val or [])

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield path, bytes and value of each space and of each word."""
        for word in cast(list[bytes], value):
            yield "separator", _BLANK, _BLANK
            yield self.name, word, word

    def randval(self) -> None:  # type: ignore[override]  # nothing random for a list
        """Return None: a list of words has no random value."""


class LineEnd(StrField):
    """A scapy field: a line feed, perhaps after a carriage return."""

    def __init__(self) -> None:
        super().__init__("end", _LINE_FEED)

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Return the bytes after the line end, and the line end.

        Raises:
            LayerViolation: the bytes do not start with a line end.
        """
        for end in (b"\n", b"\r\n"):
            if s.startswith(end):
                return s[len(end) :], end
        raise LayerViolation(f"end: expected the line's end, found {s[:8]!r}")

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield path, bytes and value of the carriage return, if any, and of the line feed."""
        if value != _LINE_FEED:
            yield "carriage_return", b"\r", b"\r"
        yield "line_feed", _LINE_FEED, _LINE_FEED

    def randval(self) -> None:  # type: ignore[override]  # without it there is no line
        """Return None: the line end is fixed, since without it there is no line."""


class Digits(StrField):
    """A scapy field: a number in decimal digits, up to the line feed."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Return the bytes after the digits, which start with the line feed, and the digits.

        Raises:
            LayerViolation: the line has other bytes than digits.
            Short: there is no line feed.
        """
        end = s.find(_LINE_FEED)
        if end < 0:
            raise Short("line: expected a line feed, found none")
        if not s[:end].isdigit():
            raise LayerViolation(f"{self.name}: expected digits, found {s[:end]!r}")
        return s[end:], s[:end]

    def randval(self) -> RandBin:
        """Return a random number as decimal digits."""
        return RandBin(RandNum(1, 20), b"0123456789")


def _line_end(data: bytes) -> int:
    """Return where the line ends: at the line feed, or a carriage return right before it."""
    end = data.find(_LINE_FEED)
    if end < 0:
        raise Short("line: expected a line feed, found none")
    return end - 1 if data[:end].endswith(b"\r") else end


def _word_end(data: bytes, start: int) -> int:
    blank, end = data.find(_BLANK, start), _line_end(data)
    return blank if 0 <= blank < end else end
