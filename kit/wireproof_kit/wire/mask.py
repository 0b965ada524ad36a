"""Masks secrets in what a client and a server exchange, before anything of it is kept or shown.

A parser says in turn how many bytes come next and whether they are secret; it is told the bytes.
So it works on pieces of any size, holds at most one short field, and never changes a length. What
the proxy relays is not touched.
"""

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

MASK = b"*"
MOST_KEPT = 1 << 12
"""The most bytes of one field that a parser is told."""


@dataclass(frozen=True, slots=True)
class Take:
    """The next bytes: ``count`` of them or, if None, up to and with one of ``ends``."""

    count: int | None = None
    ends: bytes = b"\n"
    is_secret: bool = False


Parser: TypeAlias = Generator[Take, bytes, None]


class Mask(Protocol):
    """Masks the secrets in both directions of one connection."""

    def feed(self, data: bytes, *, by_client: bool) -> bytes:
        """Return as many bytes, with the secrets replaced by asterisks."""
        ...


class StreamMask:
    """Masks one direction by what a parser says; after its end everything passes."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._told = bytearray()
        self._size = 0
        self._take: Take | None = next(parser, None)

    def feed(self, data: bytes) -> bytes:
        """Return as many bytes, with the secrets replaced by asterisks."""
        out = bytearray()
        at = 0
        while self._take is not None:
            if self._take.count is not None and self._size >= self._take.count:
                self._advance()
                continue
            if at == len(data):
                return bytes(out)
            piece, is_complete = self._next_piece(self._take, data, at)
            at += len(piece)
            self._size += len(piece)
            self._told += piece[: MOST_KEPT - len(self._told)]
            ends = self._take.count is None and is_complete
            shown = len(piece) - ends
            out += MASK * shown + piece[shown:] if self._take.is_secret else piece
            if is_complete:
                self._advance()
        return bytes(out + data[at:])

    def _next_piece(self, take: Take, data: bytes, at: int) -> tuple[bytes, bool]:
        if take.count is not None:
            piece = data[at : at + take.count - self._size]
            return piece, self._size + len(piece) == take.count
        found = [place for end in take.ends if (place := data.find(end, at)) >= 0]
        return (data[at : min(found) + 1], True) if found else (data[at:], False)

    def _advance(self) -> None:
        told, self._told, self._size = bytes(self._told), bytearray(), 0
        try:
            self._take = self._parser.send(told)
        except StopIteration:
            self._take = None


class TwoWayMask:
    """Masks both directions, each by a parser of its own."""

    def __init__(self, client: Parser, server: Parser) -> None:
        self._streams = {True: StreamMask(client), False: StreamMask(server)}

    def feed(self, data: bytes, *, by_client: bool) -> bytes:
        """Return as many bytes, with the secrets replaced by asterisks."""
        return self._streams[by_client].feed(data)


MakeMask: TypeAlias = Callable[[str], Mask]
"""Returns the mask of a connection, given its name."""

SECRET_HEADERS = (b"authorization", b"proxy-authorization", b"cookie", b"set-cookie", b"x-api-key")
_BODILESS = (b"1", b"204", b"304")


def no_secrets() -> Parser:
    """Parse a stream that holds no secrets."""
    yield from ()


def http_mask(secret_paths: tuple[bytes, ...] = ()) -> TwoWayMask:
    """Return a mask for HTTP: of headers with credentials, and of bodies at some paths."""
    asked: deque[bytes] = deque(maxlen=1000)
    return TwoWayMask(_requests(secret_paths, asked), _responses(asked))


def _requests(secret_paths: tuple[bytes, ...], asked: deque[bytes]) -> Parser:
    while True:
        first = yield Take()
        words = first.split(b" ")
        path = words[1].partition(b"?")[0] if len(words) > 1 else b""
        is_secret = any(path.startswith(secret_path) for secret_path in secret_paths)
        asked.append(words[0] + b" " + (b"secret" if is_secret else b""))
        yield from _message(is_secret=is_secret)


def _responses(asked: deque[bytes]) -> Parser:
    while True:
        first = yield Take()
        status = first.partition(b" ")[2][:3]
        is_interim = status.startswith(b"1")
        request = b"" if is_interim or not asked else asked.popleft()
        is_bodiless = status.startswith(_BODILESS) or request.startswith(b"HEAD ")
        is_secret = request.endswith(b"secret")
        yield from _message(is_secret=is_secret, is_bodiless=is_bodiless, is_answer=True)


def _message(*, is_secret: bool, is_bodiless: bool = False, is_answer: bool = False) -> Parser:
    """Parse headers and body of a message."""
    headers = yield from _headers()
    if is_bodiless:
        return
    length = headers.get(b"content-length", b"")
    if b"chunked" in headers.get(b"transfer-encoding", b""):
        yield from _chunks(is_secret=is_secret)
    elif length.isdigit():
        yield Take(int(length), is_secret=is_secret)
    while is_answer and not length and b"transfer-encoding" not in headers:
        yield Take(1 << 30, is_secret=is_secret)  # up to the end of the connection


def _headers() -> Generator[Take, bytes, dict[bytes, bytes]]:
    headers: dict[bytes, bytes] = {}
    while (name := (yield Take(ends=b":\n"))).endswith(b":"):
        key = name[:-1].strip().lower()
        headers[key] = (yield Take(is_secret=key in SECRET_HEADERS)).strip().lower()
    return headers


def _chunks(*, is_secret: bool) -> Parser:
    while True:
        head = (yield Take()).partition(b";")[0].strip()
        try:
            size = int(head, 16)
        except ValueError:
            return
        if size <= 0:
            break
        yield Take(size, is_secret=is_secret)
        yield Take()
    while (yield Take()).strip():
        continue
