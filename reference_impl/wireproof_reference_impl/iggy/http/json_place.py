"""Where a value stands in a JSON text, as the deployed server's refusals say it."""

import json
import re
from collections.abc import Sequence

Path = Sequence[str | int]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def find_span(text: str, path: Path) -> tuple[int, int]:
    """Return start and end of the value at a path in a JSON text, which must have it."""
    start = _skip_space(text, 0)
    for step in path:
        start = _find_member(text, start, step)
    return start, _DECODER.raw_decode(text, start)[1]


def describe_place(text: str, end: int) -> str:
    """Return line and column of the byte before a position, as words of a sentence."""
    before = text[:end].encode("utf-8", "surrogateescape")
    column = len(before) - (before.rfind(b"\n") + 1)
    return f"at line {before.count(10) + 1} column {column}"


def _find_member(text: str, at: int, step: str | int) -> int:
    """Return the start of a member of the object, or of the array, that begins there."""
    number = 0
    while True:
        at = _skip_space(text, at + 1)
        name: str | int = number
        if isinstance(step, str):
            name, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        if name == step:
            return at
        at = _skip_space(text, _DECODER.raw_decode(text, at)[1])
        number += 1


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
