"""Requests that all servers read the same way: what is posted is known, and so what is stored."""

import re
from dataclasses import dataclass, replace
from typing import Final

from wireproof_kit.fuzz.door import Expectation

TAKEN: Final = frozenset(("HTTP 200", "HTTP 201", "HTTP 204"))
"""What is answered when what was posted is stored."""
_END_OF_HEAD: Final = b"\r\n\r\n"
_LINE = re.compile(rb"POST (/[!-~]*) HTTP/1\.1")
_FIELD = re.compile(rb"([A-Za-z0-9#_-]+):[ \t]*([ -~]*?)[ \t]*")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_DIGITS = re.compile(rb"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Post:
    """A path, the pairs of a query, both as they were written, and the bytes of a body."""

    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes


def first_post(data: bytes) -> Post | None:
    """Return the request that bytes begin with, if it is whole, posts, and nobody may differ.

    Framed both ways, or with a header twice, or in chunks with anything else between them, it
    is one that servers read in different ways.
    """
    head, mark, rest = data.partition(_END_OF_HEAD)
    line, *fields = head.split(b"\r\n")
    asked = _LINE.fullmatch(line)
    pairs = [found for field in fields if (found := _FIELD.fullmatch(field))]
    values = {pair[1].lower(): pair[2] for pair in pairs}
    if not mark or asked is None or not len(pairs) == len(fields) == len(values):
        return None
    if b"host" not in values or b"expect" in values:
        return None
    target, body = asked[1].decode(), _body(values, rest)
    path, _, query = target.partition("?")
    told = tuple(tuple(pair.split("=")) for pair in query.split("&")) if query else ()
    if body is None or any(len(pair) != 2 for pair in told) or "#" in target or ";" in query:
        return None
    return Post(path, tuple((pair[0], pair[1]) for pair in told), body)


def _body(values: dict[bytes, bytes], rest: bytes) -> bytes | None:
    """Return a body that is there to its end, framed in one of the two ways."""
    length, coding = values.get(b"content-length"), values.get(b"transfer-encoding")
    if coding is not None:
        return _joined(rest) if length is None and coding == b"chunked" else None
    if length is None or _DIGITS.fullmatch(length) is None or int(length) > len(rest):
        return None
    return rest[: int(length)]


def _joined(rest: bytes) -> bytes | None:
    """Return what chunks come to; none when the last is missing or anything else is between."""
    chunks: list[bytes] = []
    at = 0
    while (found := _CHUNK.match(rest, at)) is not None:
        size, begin = int(found[1], 16), found.end()
        at = begin + size
        if rest[at : at + 2] != b"\r\n":
            return None
        if not size:
            return b"".join(chunks)
        chunks.append(rest[begin:at])
        at += 2
    return None


def keeping(expected: Expectation, stored: tuple[bytes, ...]) -> Expectation:
    """Return what is owed for a request that stores these messages if it is taken."""
    if not stored or not expected.owed:
        return expected
    first, *others = expected.owed
    return replace(expected, owed=(replace(first, stored=stored, success=TAKEN), *others))
