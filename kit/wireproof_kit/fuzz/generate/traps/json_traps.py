"""JSON texts that parsers often misread: malformed documents, and values of the wrong type."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias, cast

from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps.text_traps import Trap

Members: TypeAlias = dict[str, object]


def _instead(text: bytes) -> Trap:
    return lambda _, source: text


def _make_opening_trap(depth: int) -> Trap:
    """Return the trap that opens `depth` arrays and closes none."""
    return lambda _, source: b'{"a":' + b"[" * depth


def _make_nesting_trap(depth: int) -> Trap:
    return lambda _, source: b'{"a":' + b"[" * depth + b"]" * depth + b"}"


def _nested_objects(depth: int) -> Trap:
    return lambda _, source: b'{"a":' * depth + b"1" + b"}" * depth


def _first_value(written: bytes) -> Trap:
    """Return the trap that replaces the value of one member."""

    def make(text: bytes, source: RandomSource) -> bytes:
        there = _split_members(text) or _SOME
        name = source.one_of(list(there))
        rest = (member for key, member in there.items() if key != name)
        return _object(*rest, _write_member(name, written))

    return make


def _member(name: bytes, value: bytes = b'"v"') -> Trap:
    """Return the trap that adds a member with this encoded name."""

    def make(text: bytes, source: RandomSource) -> bytes:
        return _object(*(_split_members(text) or {}).values(), name + b":" + value)

    return make


def _twice(text: bytes, source: RandomSource) -> bytes:
    there = _split_members(text) or _SOME
    name = source.one_of(list(there))
    return _object(*there.values(), _write_member(name, b'"other"'))


def _drop_part(text: bytes, source: RandomSource) -> bytes:
    there = _split_members(text) or {}
    name = source.one_of(list(there)) if there else ""
    return _object(*(member for key, member in there.items() if key != name))


def make_size_trap(size: int) -> Trap:
    """Return the change of a JSON text into an object of `size` bytes that keeps what fits."""

    def make(text: bytes, source: RandomSource) -> bytes:
        inner = b",".join((_split_members(text) or {}).values())
        inner += b"," * bool(inner)
        if len(inner) + len(b'{"_":""}') > size:
            inner = b""
        return (b'{%b"_":"' % inner).ljust(size - 2, b"a")[: max(size - 2, 0)] + b'"}'

    return make


def _cut(text: bytes, source: RandomSource) -> bytes:
    return text[: source.below(max(len(text), 1))]


def _around(before: bytes, behind: bytes) -> Trap:
    return lambda text, source: before + text + behind


def _single_quoted(text: bytes, source: RandomSource) -> bytes:
    return text.replace(b'"', b"'")


def _trailing_comma(text: bytes, source: RandomSource) -> bytes:
    return text[:-1] + b",}" if len(text) > 2 else b'{"a":"b",}'


NUMBERS = (
    *(b"0", b"1", b"-1", b"-2", b"-3", b"-0", b"0.5", b"1e5", b"1E400", b"-1e400", b"1e-400"),
    *(b"255", b"256", b"-128", b"-129", b"32767", b"65535", b"65536", b"2147483647"),
    *(b"2147483648", b"-2147483648", b"-2147483649", b"4294967295", b"4294967296"),
    *(b"9007199254740993", b"9223372036854775807", b"9223372036854775808"),
    *(b"-9223372036854775808", b"-9223372036854775809", b"18446744073709551615"),
    *(b"18446744073709551616", b"1" + b"0" * 400, b"0" * 20 + b"1", b"+1", b".5", b"1."),
    *(b"0x10", b"NaN", b"Infinity", b"-Infinity"),
)
"""Ways to write numbers in JSON, allowed and forbidden ones."""


def _number(text: bytes, source: RandomSource) -> bytes:
    """Write another number as the value of an integer member, or of any member if none is."""
    members = _members(text) or {"a": 1}
    numbers = [name for name, value in members.items() if type(value) is int]
    name = source.one_of(numbers or list(members))
    rest = (_write_member(key, _dump_json(value)) for key, value in members.items() if key != name)
    return _object(*rest, _write_member(name, source.one_of(NUMBERS)))


_WIDE = b"{" + b",".join(b'"k%d":""' % number for number in range(1000)) + b"}"

JSON: Mapping[str, Trap] = {
    "JSON: nothing": _instead(b""),
    "JSON: blanks": _instead(b" \t\r\n"),
    "JSON: null": _instead(b"null"),
    "JSON: a bool": _instead(b"true"),
    "JSON: a number": _instead(b"12"),
    "JSON: a string": _instead(b'"text"'),
    "JSON: an array": _instead(b'[{"a":"b"}]'),
    "JSON: an empty object": _instead(b"{}"),
    "JSON: words": _instead(b"not json"),
    "JSON: cut": _cut,
    "JSON: text behind": _around(b"", b"x"),
    "JSON: another behind": _around(b"", b"{}"),
    "JSON: blanks around": _around(b" \r\n\t", b"\n "),
    "JSON: a byte order mark": _around(b"\xef\xbb\xbf", b""),
    "JSON: UTF-16": _instead('{"a":"b"}'.encode("utf-16")),
    "JSON: a comment": _around(b"/**/", b""),
    "JSON: single quotes": _single_quoted,
    "JSON: trailing comma": _trailing_comma,
    "JSON: no quotes": _instead(b"{a:b}"),
    "JSON: a name twice": _twice,
    "JSON: a name less": _drop_part,
    "JSON: an empty name": _member(b'""'),
    "JSON: a name with blanks": _member(b'"a b"'),
    "JSON: a name with NUL": _member(b'"a\\u0000"'),
    "JSON: a name no text": _member(b"1"),
    "JSON: a name twice, spelt otherwise": _member(b'"\\u0061"'),
    "JSON: a raw NUL": _first_value(b'"\0"'),
    "JSON: a raw line feed": _first_value(b'"\n"'),
    "JSON: no UTF-8": _first_value(b'"\xff\xfe"'),
    "JSON: a cut sequence": _first_value(b'"\xe2\x82"'),
    "JSON: an overlong sequence": _first_value(b'"\xc0\x80"'),
    "JSON: a lone surrogate": _first_value(b'"\\ud800"'),
    "JSON: a surrogate in UTF-8": _first_value(b'"\xed\xa0\x80"'),
    "JSON: a bad escape": _first_value(b'"\\x41\\q"'),
    "JSON: a cut escape": _first_value(b'"\\u12"'),
    "JSON: an escaped NUL": _first_value(b'"\\u0000"'),
    "JSON: an open string": _first_value(b'"'),
    "JSON: an open escape": _first_value(b'"\\'),
    "JSON: value an object": _first_value(b"{}"),
    "JSON: value an array": _first_value(b"[]"),
    "JSON: value null": _first_value(b"null"),
    "JSON: value a bool": _first_value(b"true"),
    "JSON: value other bool": _first_value(b"false"),
    "JSON: value a text": _first_value(b'"text"'),
    "JSON: value an empty text": _first_value(b'""'),
    "JSON: value a long text": _first_value(b'"' + b"a" * 5000 + b'"'),
    "JSON: value missing": _first_value(b""),
    "JSON: another number": _number,
    "JSON: many names": _instead(_WIDE),
    "JSON: 299 deep": _make_nesting_trap(299),
    "JSON: 300 deep": _make_nesting_trap(300),
    "JSON: 5000 deep": _make_nesting_trap(5000),
    "JSON: 1000 objects deep": _nested_objects(1000),
    "JSON: 20000 opened": _make_opening_trap(20000),
}


def _members(text: bytes) -> Members | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return dict(cast(Members, value)) if isinstance(value, dict) else None


@lru_cache(maxsize=256)
def _split_members(text: bytes) -> Mapping[str, bytes] | None:
    """Return the encoded members of an object by name; cached, as many cases share an object."""
    members = _members(text)
    if members is None:
        return None
    return {name: _write_member(name, _dump_json(value)) for name, value in members.items()}


def _write_member(name: str, written: bytes) -> bytes:
    return _dump_json(name) + b":" + written


def _object(*members: bytes) -> bytes:
    return b"{" + b",".join(members) + b"}"


def _dump_json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


_SOME: Mapping[str, bytes] = {"a": b'"a":"b"'}
