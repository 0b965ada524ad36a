"""The abstract types in JSON, and why a value is not of a type."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal

from wireproof_spec.oms.json_positions import child_pointer
from wireproof_spec.oms.names import LIMITS, Type
from wireproof_spec.oms.rule_result import Breach
from wireproof_spec.strict_json import JsonValue

NULL = "null"
BOOLEAN = "boolean"
NUMBER = "number"
STRING = "string"
LIST = "list"
DICTIONARY = "dictionary"
NO_NUMBER = "no-number"
FRACTION = "fraction"
OUT_OF_RANGE = "out-of-range"

NO_VALUES = (NULL, BOOLEAN, LIST, DICTIONARY, NO_NUMBER)
"""Kinds that no value of a KeyValue has: it is String, Binary or Numeric."""

KEY_VALUE = "a KeyValue: a dictionary of String, Binary and Numeric values"
DUE = {
    Type.LONG: "a Long, a whole number of 64 bits with sign",
    Type.INTEGER: "an Integer, a whole number of 32 bits with sign",
    Type.STRING: "a String",
}

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_LONGEST = 60


def kind_of(value: JsonValue) -> str:
    """Return the name of a JSON value's kind, such as string; NaN and infinity are no numbers."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return NUMBER
    if isinstance(value, Decimal):
        return NUMBER if value.is_finite() else NO_NUMBER
    if isinstance(value, str):
        return STRING
    return LIST if isinstance(value, list) else DICTIONARY


def misfit(value: JsonValue, wanted: Type) -> str | None:
    """Return a word that says why a value is not of a type; None if the value is of that type.

    1000.0 and 1e3 are whole numbers, however they are written; booleans are not numbers.
    """
    kind = kind_of(value)
    if wanted is Type.STRING:
        return None if kind == STRING else kind
    if not isinstance(value, int | Decimal) or kind != NUMBER:
        return kind
    lowest, highest = LIMITS[wanted]
    if not lowest <= value <= highest:
        return OUT_OF_RANGE
    return None if value == int(value) else FRACTION


def misfits(pointer: str, value: JsonValue, wanted: Type) -> Iterator[Breach]:
    """Yield a breach if the value at a JSON pointer is not of the wanted type."""
    word = misfit(value, wanted)
    if word is not None:
        yield Breach(word, pointer, DUE[wanted], literal(value))


def no_values(pointer: str, value: JsonValue) -> Iterator[Breach]:
    """Yield a breach if a KeyValue cannot contain the value at a JSON pointer."""
    kind = kind_of(value)
    if kind in NO_VALUES:
        yield Breach(kind, pointer, "a String, Binary or Numeric value", literal(value))


def members(pointer: str, value: dict[str, JsonValue]) -> Iterator[tuple[str, str, JsonValue]]:
    """Yield name, JSON pointer and value of each member of the object at a pointer."""
    for name, below in value.items():
        yield name, child_pointer(pointer, name), below


def is_base64(text: str) -> bool:
    """Return True if a string is base64 with padding, and so can be of type Binary."""
    return _BASE64.fullmatch(text) is not None


def literal(value: JsonValue) -> str:
    """Return a value as JSON text for messages, shortened if it is long."""
    if isinstance(value, dict):
        return f"a dictionary of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return _cut(f'"{value}"' if value.isascii() and value.isprintable() else ascii(value))
    return _cut(json.dumps(value) if value is None or isinstance(value, bool) else str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
