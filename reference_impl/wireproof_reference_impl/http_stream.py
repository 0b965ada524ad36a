"""HTTP/1.1 of a server without I/O: reads requests from a stream, writes heads of responses.

llhttp parses. This module does what llhttp leaves to servers: it checks the version and the Host
header, limits the size of the head, and handles the end of the stream. Requests to switch to
another protocol are refused.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from enum import Enum
from typing import Final

import httptools
from msgspec import Struct

MOST_HEAD_BYTES: Final = 1 << 20
"""Request line and headers; Go's own limit."""

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

_BAD_REQUEST = 400
_HEAD_TOO_LARGE = 431
_NOT_IMPLEMENTED = 501
_VERSION_NOT_SUPPORTED = 505
_VERSIONS = ("1.0", "1.1")


class BadRequest(Exception):
    """Raised for bytes that are no HTTP; the answer has `status`, and the connection must end."""

    def __init__(self, status: int = _BAD_REQUEST) -> None:
        super().__init__(status)
        self.status = status


class End(Enum):
    """An event of an HTTP stream: the end of one request, or of the client's stream."""

    REQUEST = "request"
    STREAM = "stream"


class Head(Struct, frozen=True):
    """The head of an HTTP request: names of headers keep their spelling, values their bytes.

    `length` is the Content-Length, 0 if there is none. `lasts`: another request may follow on the
    connection. `expects`: the client waits for status 100 before it sends the body.
    `takes_chunks`: the response may be sent in chunks.
    """

    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    length: int
    lasts: bool
    expects: bool
    takes_chunks: bool = True

    def field(self, name: bytes) -> bytes:
        """Return the value of the last header with this lower-case name; empty if none has it."""
        found = (value for each, value in reversed(self.headers) if each.lower() == name)
        return next(found, b"")


Event = Head | bytes | End
"""A head, then the pieces of its body, then its end; at last the end of the stream."""


class Requests:
    """Parses the HTTP requests of one connection into events: heads, pieces of bodies, ends."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._events: deque[Event] = deque()
        self._fault: BadRequest | None = None
        self._is_over = False
        self._is_between = True
        self._in_head = False
        self._head_bytes = 0
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []

    def feed(self, data: bytes) -> None:
        """Parse bytes received from the client."""
        if self._is_over:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_over = True
        except httptools.HttpParserError:
            self._refuse(_BAD_REQUEST)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse(_HEAD_TOO_LARGE)

    def end(self) -> None:
        """Note that the client's stream has ended."""
        if not self._is_between:
            self._refuse(_BAD_REQUEST)
        elif not self._is_over:
            self._events.append(End.STREAM)
        self._is_over = True

    def next(self) -> Event | None:
        """Return the next event of the stream, or None if more bytes are needed.

        Raises:
            BadRequest: the bytes are no HTTP request.
        """
        if self._events:
            return self._events.popleft()
        if self._fault is not None:
            raise self._fault
        return None

    def on_message_begin(self) -> None:
        """Begin a new request; called by the HTTP parser."""
        self._is_between, self._in_head = False, True
        self._head_bytes = 0
        self._target = b""
        self._headers.clear()

    def on_url(self, piece: bytes) -> None:
        """Add a piece of the request target; called by the HTTP parser."""
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers after the body are ignored. Called by the HTTP parser."""
        if self._in_head:
            self._headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """Emit the head of a request, or refuse it; called by the HTTP parser."""
        self._in_head = False
        named = {name.lower(): value for name, value in self._headers}
        version = self._parser.get_http_version()
        status = _refusal(version, named)
        if status is not None:
            self._refuse(status)
            return
        head = Head(
            method=self._parser.get_method().decode("latin-1"),
            target=self._target,
            headers=tuple(self._headers),
            length=int(named.get(b"content-length", b"0")),
            lasts=version == "1.1" and self._is_to_last(),
            expects=version == "1.1" and named.get(b"expect", b"").lower() == b"100-continue",
            takes_chunks=version == "1.1",
        )
        self._events.append(head)

    def on_body(self, piece: bytes) -> None:
        """Emit a piece of the body; called by the HTTP parser."""
        if not self._is_over:
            self._events.append(piece)

    def on_message_complete(self) -> None:
        """Emit the end of the request; called by the HTTP parser."""
        self._is_between = True
        if not self._is_over:
            self._events.append(End.REQUEST)

    def _is_to_last(self) -> bool:
        return self._parser.should_keep_alive() and not self._parser.should_upgrade()

    def _refuse(self, status: int) -> None:
        if not self._is_over:
            self._fault, self._is_over = BadRequest(status), True


class RequestServer(ABC):
    """The server's side of one HTTP connection: what it does at each event of its stream."""

    def __init__(self) -> None:
        self.closed = False
        self._requests = Requests()
        self._output: list[bytes] = []
        self._body: bytearray = bytearray()

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    def _follow(self, event: Event) -> None:
        if isinstance(event, Head):
            self._begin(event)
        elif event is End.REQUEST:
            self._finish()
        elif event is End.STREAM:
            self.closed = True
        else:
            self._take(event)

    @abstractmethod
    def _begin(self, head: Head) -> None:
        """Handle the head of a request."""

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Add a piece of the request's body."""

    @abstractmethod
    def _finish(self) -> None:
        """Handle the end of a request."""


def answer_head(
    status: int, headers: Iterable[tuple[str, str]], *, reason: str = "", closes: bool = False
) -> bytes:
    """Return the bytes of an HTTP response's status line and headers.

    If it `closes`, they include `Connection: close`.
    """
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    if closes:
        lines.append("Connection: close")
    return "\r\n".join((*lines, "\r\n")).encode("latin-1")


def _refusal(version: str, named: dict[bytes, bytes]) -> int | None:
    """Return the status that refuses a head, if any; header names are in lower case."""
    if version not in _VERSIONS:
        return _VERSION_NOT_SUPPORTED
    if version == "1.1" and b"host" not in named:
        return _BAD_REQUEST
    if named.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
        return _NOT_IMPLEMENTED
    return None
