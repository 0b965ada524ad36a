"""Strict JSON: everything that parsers silently accept is reported as a fault.

The standard library's parser does the reading; its hooks keep what it would drop. Integers stay
exact; numbers with a fraction or an exponent become `Decimal`. If a name occurs twice, the last
value is used, as in most parsers. Bytes that are not UTF-8 become lone surrogates in strings
(Python's `surrogateescape`).

`read` works in two steps: it parses into pairs, then walks the values in document order beside the
string literals of the text, the only place where a raw control byte or invalid UTF-8 can hide.
Most texts have no such byte; they are parsed at once, unless another fault turns up.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeAlias, TypeGuard, cast

from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

JsonValue: TypeAlias = "bool | int | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"

CLAUSE = "rfc8259"

MAX_DEPTH = 300
"""Levels of nesting; a text that goes deeper is refused before anything recurses into it."""

DUPLICATE_NAME = "duplicate-name"
CONTROL_BYTE = "control-byte"
INVALID_UTF8 = "invalid-utf8"
LONE_SURROGATE = "lone-surrogate"
NOT_A_NUMBER = "not-a-number"
NUMBER_RANGE = "number-range"
BYTE_ORDER_MARK = "byte-order-mark"

_BOM = b"\xef\xbb\xbf"
# A literal may lack its end: such a text is refused later, and the pattern stays linear.
_LITERAL = r'"(?:[^"\\]+|\\.)*+\\?(?:"|\Z)'
_LITERALS = re.compile(_LITERAL, re.DOTALL)
_BRACKETS = re.compile(rf"{_LITERAL}|[\[\]{{}}]", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HIDING = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_MAX_INT_DIGITS = 4300  # what Python converts without being told otherwise


@dataclass(frozen=True, slots=True)
class JsonFault:
    """What strict JSON forbids in a text, such as a repeated name: kind, JSON pointer, text."""

    kind: str
    pointer: str
    text: str


@dataclass(frozen=True, slots=True)
class StrictJson:
    """A JSON value that was read, and what strict JSON forbids in its text."""

    value: JsonValue
    faults: tuple[JsonFault, ...]


class _Pairs(list[tuple[str, object]]):
    """An object as all of its pairs, in order."""


class _Liberty(Exception):
    """The quick way found a fault; the long way finds which, and where."""


@dataclass(frozen=True, slots=True)
class _Oddity:
    """A number such as NaN that JSON does not have."""

    kind: str
    text: str


def read(data: bytes) -> StrictJson:
    """Read one JSON text and return its value and faults, such as repeated names.

    Raises:
        WireError: the text is not JSON, or nested deeper than MAX_DEPTH; the field is `json`.
    """
    body = data.removeprefix(_BOM)
    text = body.decode("utf-8", "surrogateescape")
    if len(body) == len(data) and _cannot_hide(text):
        with suppress(_Liberty, json.JSONDecodeError, RecursionError):
            return StrictJson(_not_too_deep(text, _PLAIN_DECODER.decode(text)), ())
    _refuse_depth(text, start=len(data) - len(body))
    try:
        parsed = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        position, expected = _locate_break(text, error)
        offset = len(data) - len(body) + len(_encode(text[:position]))
        raise _refusal(offset, expected, show_value(data[offset : offset + 16])) from None
    walk = _Walk(text)
    if len(body) < len(data):
        walk.faults.append(JsonFault(BYTE_ORDER_MARK, "", "U+FEFF"))
    return StrictJson(walk.value(parsed, ""), tuple(walk.faults))


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return True if a value that a JSON parser returned is an object; its names are strings."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Return True if a value that a JSON parser returned is an array."""
    return isinstance(value, list)


def members_of(value: object) -> dict[str, object]:
    """Return the members of a JSON object; none of any other value."""
    return value if is_object(value) else {}


def items_of(value: object) -> list[object]:
    """Return the items of a JSON array; none of any other value."""
    return value if is_array(value) else []


def fields_of(value: JsonValue) -> dict[str, JsonValue]:
    """Return the members of a value that `read` returned; none if it is no object."""
    return value if isinstance(value, dict) else {}


def values_of(value: JsonValue) -> list[JsonValue]:
    """Return the items of a value that `read` returned; none if it is no array."""
    return value if isinstance(value, list) else []


def same_json(a: JsonValue, b: JsonValue) -> bool:
    """Return True if two values are the same JSON.

    Numbers are compared exactly (1 equals 1.0; 2**64 does not equal its nearest float), objects
    without regard to the order of names; true is not 1.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_json(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_json, a, b))
    if _is_number(a) and _is_number(b):
        return a == b or str(a) == str(b) == "NaN"
    return type(a) is type(b) and a == b


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


class _Walk:
    """Converts parsed pairs to plain values and records faults in the string literals."""

    def __init__(self, text: str) -> None:
        self.faults: list[JsonFault] = []
        self._literals = (match[0] for match in _LITERALS.finditer(text))

    def value(self, parsed: object, pointer: str) -> JsonValue:
        if isinstance(parsed, _Pairs):
            return self._object(parsed, pointer)
        if is_array(parsed):
            return [self.value(item, f"{pointer}/{at}") for at, item in enumerate(parsed)]
        if isinstance(parsed, str):
            return self._string(parsed, pointer)
        if isinstance(parsed, _Oddity):
            self.faults.append(JsonFault(parsed.kind, pointer, parsed.text))
            return Decimal(parsed.text) if parsed.kind == NOT_A_NUMBER else Decimal("NaN")
        return cast(JsonValue, parsed)

    def _object(self, pairs: _Pairs, pointer: str) -> JsonValue:
        members: dict[str, JsonValue] = {}
        for name, parsed in pairs:
            below = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            self._string(name, below)
            if name in members:
                self.faults.append(JsonFault(DUPLICATE_NAME, below, name))
            members[name] = self.value(parsed, below)
        return members

    def _string(self, text: str, pointer: str) -> str:
        literal = next(self._literals)
        if _CONTROL.search(literal):
            self.faults.append(JsonFault(CONTROL_BYTE, pointer, ascii(text)))
        if _SURROGATE.search(literal):
            self.faults.append(JsonFault(INVALID_UTF8, pointer, ascii(text)))
        elif _SURROGATE.search(text):
            self.faults.append(JsonFault(LONE_SURROGATE, pointer, ascii(text)))
        return text


def _integer(digits: str) -> object:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else _decimal(digits)


def _decimal(text: str) -> object:
    try:
        return Decimal(text)
    except InvalidOperation:
        return _Oddity(NUMBER_RANGE, text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs,
    parse_float=_decimal,
    parse_int=_integer,
    parse_constant=lambda text: _Oddity(NOT_A_NUMBER, text),
    strict=False,
)


def _cannot_hide(text: str) -> bool:
    """Return True if no string literal can contain a fault."""
    return not ("\\" in text or _HIDING.search(text))


def _not_too_deep(text: str, value: JsonValue) -> JsonValue:
    """Return the value; raise an error if it is nested too deeply."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return value
    level: list[dict[str, JsonValue] | list[JsonValue]]
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, (dict, list))
        ]
        if not level:
            return value
    raise _Liberty


def _members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Liberty
    return members


def _plain_decimal(text: str) -> object:
    number = _decimal(text)
    return _refuse(text) if isinstance(number, _Oddity) else number


def _refuse(text: str) -> object:
    raise _Liberty(text)


def _plain_integer(digits: str) -> object:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else _plain_decimal(digits)


_PLAIN_DECODER = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_float=_plain_decimal,
    parse_int=_plain_integer,
    parse_constant=_refuse,
    strict=False,
)


def _refuse_depth(text: str, *, start: int) -> None:
    for position, depth in _depths(text):
        if depth > MAX_DEPTH:
            offset = start + len(_encode(text[:position]))
            raise _refusal(offset, f"at most {MAX_DEPTH} levels", str(depth))


def _depths(text: str) -> Iterator[tuple[int, int]]:
    depth = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "[{":
            depth += 1
            yield match.start(), depth
        elif match[0] in "]}":
            depth -= 1


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _locate_break(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    """Return where the text breaks, and what was expected there."""
    if error.msg == "Extra data":
        return error.pos, "no more bytes"
    if error.msg.startswith("Expecting "):
        return error.pos, error.msg.removeprefix("Expecting ")
    if error.msg.startswith("Illegal trailing comma"):  # since Python 3.13; before, what follows
        of_object = error.msg.endswith("object")
        expected = "property name enclosed in double quotes" if of_object else "value"
        return text.index("}" if of_object else "]", error.pos), expected
    return error.pos, f"JSON ({error.msg})"


def _refusal(offset: int, expected: str, found: str) -> WireError:
    return WireError(clause=CLAUSE, field="json", offset=offset, expected=expected, found=found)
