"""Positions in a JSON text: the byte, line and column of each JSON pointer.

Only for texts that `strict_json.read` accepts; raw control bytes and NaN are accepted here too.
"""

import json
import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BARE = re.compile(r"[^\s,\]}]+")


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A position in a JSON text: `offset` in bytes from 0, `line` and `column` from 1."""

    offset: int
    line: int
    column: int


class JsonPlaces:
    """The positions of all values and names in one JSON text, by JSON pointer.

    If a name occurs twice in an object, the last one counts, as for the value.
    """

    def __init__(self, data: bytes) -> None:
        self._start = len(_BOM) if data.startswith(_BOM) else 0
        self._text = data[self._start :].decode("utf-8", "surrogateescape")
        self._values: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._value(_after_blanks(self._text, 0), "")

    def value(self, pointer: str) -> TextPosition:
        """Return where the value at a JSON pointer begins, or the nearest value around it."""
        while pointer and pointer not in self._values:
            pointer = pointer.rpartition("/")[0]
        return self._place(self._values.get(pointer, 0))

    def name(self, pointer: str) -> TextPosition:
        """Return where the name of the value at a JSON pointer begins, or a nameless value."""
        at = self._names.get(pointer)
        return self.value(pointer) if at is None else self._place(at)

    def _place(self, at: int) -> TextPosition:
        return place_of(self._text, at, start=self._start)

    def _value(self, at: int, pointer: str) -> int:
        """Record the value that begins here; return where it ends."""
        self._values[pointer] = at
        if self._text[at] == "{":
            return self._members(at + 1, pointer)
        if self._text[at] == "[":
            return self._items(at + 1, pointer)
        pattern = _STRING if self._text[at] == '"' else _BARE
        return _match(pattern, self._text, at)

    def _members(self, at: int, pointer: str) -> int:
        at = _after_blanks(self._text, at)
        while self._text[at] != "}":
            end = _match(_STRING, self._text, at)
            below = child_pointer(pointer, _read_string(self._text[at:end]))
            self._names[below] = at
            colon = _after_blanks(self._text, end)
            at = self._next(self._value(_after_blanks(self._text, colon + 1), below))
        return at + 1

    def _items(self, at: int, pointer: str) -> int:
        at, index = _after_blanks(self._text, at), 0
        while self._text[at] != "]":
            at = self._next(self._value(at, f"{pointer}/{index}"))
            index += 1
        return at + 1

    def _next(self, end: int) -> int:
        at = _after_blanks(self._text, end)
        return _after_blanks(self._text, at + 1) if self._text[at] == "," else at


def child_pointer(pointer: str, name: str) -> str:
    """Return the JSON pointer of a member of the object at `pointer`."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def place_at(data: bytes, offset: int) -> TextPosition:
    """Return offset, line and column of a byte in a UTF-8 text."""
    text = data[:offset].decode("utf-8", "surrogateescape")
    return place_of(text, len(text))


def place_of(text: str, at: int, *, start: int = 0) -> TextPosition:
    """Return offset, line and column of a character in a text that begins at byte `start`."""
    before = text[:at]
    line_start = before.rfind("\n") + 1
    offset = start + len(before.encode("utf-8", "surrogateescape"))
    return TextPosition(offset, before.count("\n") + 1, at - line_start + 1)


def _after_blanks(text: str, at: int) -> int:
    return _match(_BLANKS, text, at)


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        raise ValueError(f"no JSON at sign {at}")
    return match.end()


def _read_string(literal: str) -> str:
    text: str = json.loads(literal, strict=False)
    return text
