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
    """One word with the blank before it; None where the line ends before it."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes | None]:  # type: ignore[override]  # a word may be missing
        """Cut the word off; the line end stays."""
        if not s.startswith(_BLANK):
            return s, None
        end = _word_end(s, 1)
        return s[end:], s[1:end]

    def addfield(self, pkt: Packet, s: bytes, val: bytes | None) -> bytes:
        """Append a blank and the word."""
        return s if val is None else s + _BLANK + val

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield the blank and the word."""
        if value is not None:
            yield "separator", _BLANK, _BLANK
            yield self.name, cast(bytes, value), cast(bytes, value)

    def randval(self) -> RandBin:
        """Return a random word: neither blank nor line feed is in it."""
        return RandBin(RandNum(1, 70), _LETTERS)


class Name(StrField):
    """The first word of a line: the command."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Split the word from the rest, which starts with the space or line end after the word."""
        end = _word_end(s, 0)
        return s[end:], s[:end]

    def randval(self) -> None:  # type: ignore[override]  # a layer stays the command that it is
        """Return None: the command of a layer is fixed."""


class Words(Field[list[bytes], bytes]):
    """All words up to the line end; those that a command has no name for."""

    islist = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, [])

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[bytes]]:
        """Split the words from the rest, which starts with the line end."""
        end = _line_end(s)
        return s[end:], s[1:end].split(_BLANK) if end else []

    def addfield(self, pkt: Packet, s: bytes, val: list[bytes] | None) -> bytes:
        """Append a blank before each."""
        return s + b"".join(_BLANK + word for word in val or [])

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield a blank and a word, as often as there are words."""
        for word in cast(list[bytes], value):
            yield "separator", _BLANK, _BLANK
            yield self.name, word, word

    def randval(self) -> None:  # type: ignore[override]  # nothing random for a list
        """Return None: lists have no random values."""


class LineEnd(StrField):
    """The line feed; one carriage return before it belongs to it."""

    def __init__(self) -> None:
        super().__init__("end", _LINE_FEED)

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Split the line end from the rest.

        Raises:
            LayerViolation: the bytes do not start with a line end.
        """
        for end in (b"\n", b"\r\n"):
            if s.startswith(end):
                return s[len(end) :], end
        raise LayerViolation(f"end: expected the line's end, found {s[:8]!r}")

    def pieces(self, value: object) -> Iterator[Leaf]:
        """Yield the carriage return, if there is one, and the line feed."""
        if value != _LINE_FEED:
            yield "carriage_return", b"\r", b"\r"
        yield "line_feed", _LINE_FEED, _LINE_FEED

    def randval(self) -> None:  # type: ignore[override]  # without it there is no line
        """Return None: the line end is fixed, since without it there is no line."""


class Digits(StrField):
    """A number in decimal digits, up to the line feed."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        """Split the digits from the rest, which starts with the line feed.

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
        """Return random digits."""
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
