"""Lines of a TOML text, for messages: the parsers name a value by its path alone."""

import re
from typing import Literal, TypeGuard, get_args, get_origin

import msgspec

_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


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

    Where a word of a list is expected, the sentence ends with the list.
    """
    path = str(error).partition("`$")[2].rstrip("`")
    line, words = find_line(text, path), _list_words(kind, path)
    expected = f"; expected {', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else ""
    return f"{f', line {line}' if line else ''}: {error}{expected}"


def _list_words(kind: type[object], path: str) -> tuple[str, ...]:
    """Return the words that the value at a path may be; none if it may be anything."""
    at: object = kind
    for name, _ in _STEP.findall(path):
        struct = next(
            (each for each in (at, *get_args(at)) if _is_struct(each)),
            None,
        )
        if name and struct is not None:
            types = {each.encode_name: each.type for each in msgspec.structs.fields(struct)}
            at = types.get(name)
    literal = next((each for each in (at, *get_args(at)) if get_origin(each) is Literal), None)
    return tuple(map(str, get_args(literal)))


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
