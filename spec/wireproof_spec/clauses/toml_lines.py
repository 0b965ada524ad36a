"""Lines of a TOML text, for messages: the parsers name a value by its path alone."""

import difflib
import re
import tomllib
from typing import Literal, TypeGuard, get_args, get_origin

import msgspec

from wireproof_spec.strict_json import members_of

_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"unknown field `(.+?)`")
_GOT = re.compile(r"got `(\w+)`")
_KINDS: dict[str, type[object]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "array": list,
    "object": dict,
}
"""What the parser calls the types of values."""


def find_line(text: str, path: str) -> int | None:
    """Return the line of the value at a path such as ``.clause[2].case[0].accept``.

    The text has each table of an array under a header of its own, ``[[clause.case]]``. The line is
    that of the key, of the table's header if the key is not there, or None if neither is found.
    """
    lines, at, header = text.splitlines(), -1, ""
    for name, index in _STEP.findall(path):
        if index:
            starts = [n for n, line in enumerate(lines) if n > at and line == f"[[{header}]]"]
            if len(starts) <= int(index):
                break
            at = starts[int(index)]
            continue
        key = re.compile(rf"{name}\s*=")
        for number in range(at + 1, len(lines)):
            if key.match(lines[number]):
                return number + 1
            if lines[number].startswith("[["):
                break
        header = f"{header}.{name}" if header else name
    return at + 1 if at >= 0 else None


def describe_fault(error: msgspec.ValidationError, text: str, kind: type[object]) -> str:
    """Return ``, line N: FAULT`` for a value in a TOML text that does not fit the struct ``kind``.

    Where a word of a list or the name of a key is expected, the sentence ends with the list.
    """
    path = str(error).partition("`$")[2].rstrip("`")
    unknown = _UNKNOWN.search(str(error))
    if unknown:
        line, words = _find_key(text, unknown[1]), _list_keys(_struct_in(_find_type(kind, path)))
        near = difflib.get_close_matches(unknown[1], words, n=1) if path else []
        words = tuple(near) or words
    elif path.endswith("[...]"):
        line, words = _find_wrong_value(text, path, str(error)), ()
    else:
        line, words = find_line(text, path), _list_words(kind, path)
    expected = f"; expected {' or '.join(filter(None, [', '.join(words[:-1]), *words[-1:]]))}"
    expected = expected if unknown or len(words) > 1 else ""
    return f"{f', line {line}' if line else ''}: {error}{expected}"


def _list_words(kind: type[object], path: str) -> tuple[str, ...]:
    """Return the words that the value at a path may be; none if it may be anything."""
    at = _find_type(kind, path)
    literal = next(
        (argument for argument in (at, *get_args(at)) if get_origin(argument) is Literal), None
    )
    return tuple(map(str, get_args(literal)))


def _find_type(kind: type[object], path: str) -> object:
    """Return the type of the value at a path, None if nothing is known of it."""
    at: object = kind
    for name, _ in _STEP.findall(path):
        struct = _struct_in(at)
        if name and struct is not None:
            types = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
            at = types.get(name)
    return at


def _struct_in(kind: object) -> type[msgspec.Struct] | None:
    """Return a type if it is a struct, else the first struct that it may hold."""
    return next((argument for argument in (kind, *get_args(kind)) if _is_struct(argument)), None)


def _list_keys(kind: type[msgspec.Struct] | None) -> tuple[str, ...]:
    return () if kind is None else tuple(e.encode_name for e in msgspec.structs.fields(kind))


def _find_key(text: str, key: str) -> int | None:
    """Return the first line that gives a key a value, or that begins a table of that name."""
    quoted = rf"[\"']?{re.escape(key)}[\"']?"
    begins = re.compile(rf"\s*(\[+\s*{quoted}\s*[\].]|{quoted}\s*=)")
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if begins.match(line)), None)


def _find_wrong_value(text: str, path: str, fault: str) -> int | None:
    """Return the line of a key whose value has a wrong type: in a table, its path has no name."""
    found = _GOT.search(fault)
    kind = _KINDS.get(found[1]) if found else None
    tables: list[object] = [tomllib.loads(text)]
    for step in path.replace("[...]", ".*").split(".")[1:-1]:
        tables = [
            value
            for table in tables
            for name, value in members_of(table).items()
            if step in ("*", name)
        ]
    for table in tables:
        for name, value in members_of(table).items():
            if type(value) is kind:
                return _find_key(text, name)
    return None


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
