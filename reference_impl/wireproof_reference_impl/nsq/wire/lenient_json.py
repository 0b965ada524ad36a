"""JSON as the measured broker's parser (valyala/fastjson) reads it: it checks shape only.

Raw control bytes, bad escapes, invalid UTF-8, numbers of any form, NaN and duplicate names are
accepted. The error texts are the same too.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from wireproof_reference_impl.nsq.wire.go_text import quote
from wireproof_spec.nsq.limits import MAX_JSON_DEPTH


class Opaque:
    """A JSON value that the broker never uses: a number, true, false, null or an array."""


OPAQUE = Opaque()

Lenient: TypeAlias = "str | Mapping[str, Lenient] | Opaque"

_SPACE = " \n\t\r"
_NUMBER = frozenset("0123456789.-eE+")
_HEX = re.compile("u[0-9a-fA-F]{4}")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_WORDS = ("true", "false", "null")
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class BadJson(ValueError):
    """Raised for a text that is no JSON even for the lenient parser; says why and where."""

    def __init__(self, why: str, place: int) -> None:
        super().__init__(why)
        self.why = why
        self.place = place

    def within(self, what: str) -> "BadJson":
        """Return the same error, attributed to the value around it."""
        return BadJson(f"cannot parse {what}: {self.why}", self.place)


def read(data: bytes) -> Lenient:
    """Return the value of a JSON text, read as leniently as the deployed broker does.

    If a name occurs twice, the first one counts.

    Raises:
        BadJson: the text is invalid even for this parser.
    """
    reader = _Reader(data.decode("utf-8", "surrogateescape"))
    try:
        value = reader.value(1)
    except BadJson as bad:
        tail = quote(_ends(reader.text[bad.place :]))
        raise BadJson(f"cannot parse JSON: {bad.why}; unparsed tail: {tail}", bad.place) from None
    reader.skip_space()
    if reader.place < len(reader.text):
        tail = quote(_ends(reader.text[reader.place :]))
        raise BadJson(f"unexpected tail: {tail}", reader.place)
    return value


def _ends(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:40]}...{text[-40:]}"


class _Reader:
    """Reads nested values from a position on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self._kinds: Mapping[str, tuple[Callable[[int], Lenient], str]] = {
            "{": (self._object, "object"),
            "[": (self._array, "array"),
            '"': (self._string, "string"),
            "t": (self._word, ""),
            "f": (self._word, ""),
            "n": (self._word, ""),
        }
        self.skip_space()

    def value(self, depth: int) -> Lenient:
        if self.place == len(self.text):
            raise self._bad("cannot parse empty string")
        if depth > MAX_JSON_DEPTH:
            text = f"too big depth for the nested JSON; it exceeds {MAX_JSON_DEPTH}"
            raise self._bad(text)
        read, what = self._kinds.get(self.text[self.place], (self._number, "number"))
        try:
            return read(depth)
        except BadJson as bad:
            raise bad.within(what) if what else bad from None

    def skip_space(self) -> None:
        while self.text[self.place : self.place + 1] in _SPACE and self.place < len(self.text):
            self.place += 1

    def _object(self, depth: int) -> Lenient:
        self.place += 1
        members: dict[str, Lenient] = {}
        if self._empty("}"):
            return members
        while True:
            name = self._name()
            self._member(members, name, depth)
            if self._closes("}", "object"):
                return members

    def _member(self, members: dict[str, Lenient], name: str, depth: int) -> None:
        try:
            value = self.value(depth + 1)
        except BadJson as bad:
            raise bad.within("object value") from None
        members.setdefault(name, value)

    def _name(self) -> str:
        self.skip_space()
        if self.text[self.place : self.place + 1] != '"':
            raise self._bad('cannot find opening \'"" for object key')
        try:
            name = self._string(0)
        except BadJson as bad:
            raise bad.within("object key") from None
        self.skip_space()
        if self.text[self.place : self.place + 1] != ":":
            raise self._bad("missing ':' after object key")
        self.place += 1
        self.skip_space()
        return name

    def _array(self, depth: int) -> Lenient:
        self.place += 1
        if self._empty("]"):
            return OPAQUE
        while True:
            self.skip_space()
            try:
                self.value(depth + 1)
            except BadJson as bad:
                raise bad.within("array value") from None
            if self._closes("]", "array"):
                return OPAQUE

    def _empty(self, bracket: str) -> bool:
        self.skip_space()
        if self.place == len(self.text):
            raise self._bad(f"missing '{bracket}'")
        if self.text[self.place] != bracket:
            return False
        self.place += 1
        return True

    def _closes(self, bracket: str, what: str) -> bool:
        self.skip_space()
        found = self.text[self.place : self.place + 1]
        if not found:
            raise self._bad(f"unexpected end of {what}")
        if found not in (",", bracket):
            raise self._bad(f"missing ',' after {what} value")
        self.place += 1
        return found == bracket

    def _string(self, depth: int) -> str:
        start = self.place + 1
        end = self.text.find('"', start)
        while end >= 0 and _odd_backslashes(self.text, start, end):
            end = self.text.find('"', end + 1)
        if end < 0:
            raise BadJson("missing closing '\"'", len(self.text))
        self.place = end + 1
        return _unescape(self.text[start:end])

    def _word(self, depth: int) -> Lenient:
        for word in _WORDS:
            if self.text.startswith(word, self.place):
                self.place += len(word)
                return OPAQUE
        if self.text[self.place : self.place + 3].lower() == "nan":
            self.place += 3
            return OPAQUE
        raise self._bad(f"unexpected value found: {quote(self.text[self.place :])}")

    def _number(self, depth: int) -> Lenient:
        start = self.place
        while self.place < len(self.text) and self.text[self.place] in _NUMBER:
            self.place += 1
        begun = self.text[start : self.place]
        if self.place == len(self.text) or begun not in ("", "-", "+"):
            return OPAQUE
        if self.text[self.place : self.place + 3].lower() in ("inf", "nan"):
            self.place += 3
            return OPAQUE
        first = self.text[start : start + 1].encode("utf-8", "surrogateescape")[:1]
        self.place = start
        raise self._bad(f"unexpected char: {quote(first.decode('utf-8', 'surrogateescape'))}")

    def _bad(self, why: str) -> BadJson:
        return BadJson(why, self.place)


def _odd_backslashes(text: str, start: int, end: int) -> bool:
    place = end
    while place > start and text[place - 1] == "\\":
        place -= 1
    return (end - place) % 2 == 1


def _unescape(text: str) -> str:
    """Decode known escapes; unknown ones stay as they are."""
    head, *rest = text.split("\\")
    parts = [head]
    at = 0
    while at < len(rest):
        part = rest[at]
        at += 1
        if not part and at < len(rest):
            parts.append("\\" + rest[at])
            at += 1
        else:
            parts.append(_one_unescaped(part))
    return _PAIR.sub(_join_pair, "".join(parts))


def _join_pair(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be")


def _one_unescaped(part: str) -> str:
    if _HEX.match(part):
        return chr(int(part[1:5], 16)) + part[5:]
    if part[:1] in _ESCAPED and part:
        return _ESCAPED[part[0]] + part[1:]
    return f"\\{part}"
