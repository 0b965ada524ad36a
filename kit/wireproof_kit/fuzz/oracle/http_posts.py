"""Requests that every server must read the same way, so that it is known what they store."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from wireproof_kit.fuzz.case import Case, Slow
from wireproof_kit.fuzz.driver import Expectation
from wireproof_kit.fuzz.generate.http_frames import HOST
from wireproof_kit.fuzz.oracle.http_owed import headers_of

TAKEN: Final = frozenset(("HTTP 200", "HTTP 201", "HTTP 204"))
"""The HTTP statuses that mean that the messages in the request were stored."""
TAKEN_OR_BUSY: Final = TAKEN | {"HTTP 429", "HTTP 503"}
SURELY_TAKEN: Final = 65536 + 4096
"""The body size in bytes that every server must accept; a server may limit larger ones."""
_END_OF_HEAD: Final = b"\r\n\r\n"
_LINE = re.compile(rb"POST (/[!-~]*) HTTP/1\.1")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_FRAMING: Final = (b"content-length", b"transfer-encoding")
_DIGITS = re.compile(rb"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Post:
    """A POST request in the bytes of a case: its path and query as written, and its body.

    `headers` are all but those that frame the body, by lower-case name.
    """

    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], compare=False)

    def is_usual(self, allowed: Collection[tuple[bytes, bytes]]) -> bool:
        """Return True if headers and body size give a server no reason to reject the request.

        `allowed` are names and values of headers.
        """
        usual = {(b"host", HOST.encode()), (b"connection", b"close"), *allowed}
        return len(self.body) <= SURELY_TAKEN and self.headers.items() <= usual


@dataclass(frozen=True, slots=True)
class Promise:
    """The messages that a request stores if accepted, and whether it must be accepted."""

    stored: tuple[bytes, ...] = ()
    is_right: bool = False


NO_PROMISE: Final = Promise()


def first_post(data: bytes) -> Post | None:
    """Return the POST request at the start of the bytes if it is complete and unambiguous.

    Servers read some requests in different ways: those with both a length and chunks, with a
    repeated header, or with anything else between the chunks. The result is then None.
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


def flaw_of_post(data: bytes, flags: Collection[str]) -> str:
    """Return the endpoint of a POST without a body, however it came to have none; else nothing.

    `flags` are the query parameters that make another endpoint of a path.
    """
    head, mark, rest = data.partition(_END_OF_HEAD)
    line, *fields = head.split(b"\r\n")
    asked = _LINE.fullmatch(line)
    if not mark or asked is None:
        return ""
    path, _, query = asked[1].decode().partition("?")
    names = {pair.partition("=")[0] for pair in query.split("&")} & set(flags)
    pairs = (field.partition(b":") for field in fields)
    values = {name.lower(): value.strip() for name, _, value in pairs}
    is_framed = not values.keys().isdisjoint(_FRAMING)
    if is_framed and _body(values, rest) != b"":
        return ""
    return f"POST {path}{'?' * bool(names)}{'&'.join(sorted(names))} without a body"


def _body(values: dict[bytes, bytes], rest: bytes) -> bytes | None:
    """Return a complete body, framed by a length or by chunks; None if it is not complete."""
    length, coding = values.get(b"content-length"), values.get(b"transfer-encoding")
    if coding is not None:
        return _join_chunks(rest) if length is None and coding == b"chunked" else None
    if length is None or _DIGITS.fullmatch(length) is None or int(length) > len(rest):
        return None
    return rest[: int(length)]


def _join_chunks(rest: bytes) -> bytes | None:
    """Return the joined chunks; None if the last one is missing or anything else is between."""
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
    """Add to the valid responses of a request that its messages are delivered if accepted.

    A right request must be accepted unless the server is busy. A request that is sent slowly, or
    whose connection the server may close, need not be accepted.
    """
    if promise == NO_PROMISE or not expected.owed:
        return expected
    first, *others = expected.owed
    is_slow = any(isinstance(step.style, Slow) for step in case.steps)
    is_due = promise.is_right and first.ends == "no" and not first.optional and not is_slow
    kinds = TAKEN_OR_BUSY if is_due else first.kinds
    first = replace(first, kinds=kinds, stored=promise.stored, success=TAKEN)
    return replace(expected, owed=(first, *others))
