"""Requests that all servers read the same way: what is posted is known, and so what is stored."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from wireproof_kit.fuzz.case import Case, Slow
from wireproof_kit.fuzz.driver import Expectation
from wireproof_kit.fuzz.generate.http_frames import HOST
from wireproof_kit.fuzz.oracle.http_owed import headers_of

TAKEN: Final = frozenset(("HTTP 200", "HTTP 201", "HTTP 204"))
"""What is answered when what was posted is stored."""
TAKEN_OR_BUSY: Final = TAKEN | {"HTTP 429", "HTTP 503"}
SURELY_TAKEN: Final = 65536 + 4096
"""Bytes of a body that every server takes; a limit above it is the server's own affair."""
_END_OF_HEAD: Final = b"\r\n\r\n"
_LINE = re.compile(rb"POST (/[!-~]*) HTTP/1\.1")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_FRAMING: Final = (b"content-length", b"transfer-encoding")
_DIGITS = re.compile(rb"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Post:
    """A path, the pairs of a query, both as they were written, and the bytes of a body.

    `headers` are those beside the framing, by name in lower case.
    """

    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], compare=False)

    def is_usual(self, allowed: Collection[tuple[bytes, bytes]]) -> bool:
        """Tell whether its headers give no server a reason to refuse it, nor its size."""
        usual = {(b"host", HOST.encode()), (b"connection", b"close"), *allowed}
        return len(self.body) <= SURELY_TAKEN and self.headers.items() <= usual


@dataclass(frozen=True, slots=True)
class Promise:
    """What a request that is taken stores where it is read; `is_right`: it must be taken."""

    stored: tuple[bytes, ...] = ()
    is_right: bool = False


NO_PROMISE: Final = Promise()


def first_post(data: bytes) -> Post | None:
    """Return the request that bytes begin with, if it is whole, posts, and nobody may differ.

    Framed both ways, or with a header twice, or in chunks with anything else between them, it
    is one that servers read in different ways.
    """
    head, mark, rest = data.partition(_END_OF_HEAD)
    line, *fields = head.split(b"\r\n")
    asked = _LINE.fullmatch(line)
    values = headers_of(fields) or {}
    if not mark or asked is None or b"host" not in values or b"expect" in values:
        return None
    target, body = asked[1].decode(), _body(values, rest)
    path, _, query = target.partition("?")
    told = tuple(tuple(pair.split("=")) for pair in query.split("&")) if query else ()
    if body is None or any(len(pair) != 2 for pair in told) or "#" in target or ";" in query:
        return None
    others = {name: value for name, value in values.items() if name not in _FRAMING}
    return Post(path, tuple((pair[0], pair[1]) for pair in told), body, others)


def _body(values: dict[bytes, bytes], rest: bytes) -> bytes | None:
    """Return a body that is there to its end, framed in one of the two ways."""
    length, coding = values.get(b"content-length"), values.get(b"transfer-encoding")
    if coding is not None:
        return _join_chunks(rest) if length is None and coding == b"chunked" else None
    if length is None or _DIGITS.fullmatch(length) is None or int(length) > len(rest):
        return None
    return rest[: int(length)]


def _join_chunks(rest: bytes) -> bytes | None:
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


def add_promise(expected: Expectation, promise: Promise, case: Case) -> Expectation:
    """Return what is owed for a request of a case, given what being taken means for it.

    A right one must be taken, unless the server is busy or it comes so slowly, or in such a form,
    that a server may give it up.
    """
    if promise == NO_PROMISE or not expected.owed:
        return expected
    first, *others = expected.owed
    is_slow = any(isinstance(step.style, Slow) for step in case.steps)
    is_due = promise.is_right and first.ends == "no" and not first.optional and not is_slow
    kinds = TAKEN_OR_BUSY if is_due else first.kinds
    first = replace(first, kinds=kinds, stored=promise.stored, success=TAKEN)
    return replace(expected, owed=(first, *others))
