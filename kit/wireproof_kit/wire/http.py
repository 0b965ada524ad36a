"""A small HTTP client with deadlines: requests built by hand, responses read with h11."""

import contextlib
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode, urlsplit

import h11

from wireproof_kit.errors import KitError, refuse_exhausted
from wireproof_kit.wire.address import Address, connect, format_address
from wireproof_kit.wire.together import Together
from wireproof_kit.wire.waiting import Deadline
from wireproof_spec.strict_json import StrictJson, read
from wireproof_spec.wire_error import WireError

BODY_LIMIT = 16 * 1024 * 1024
CHUNK = 65536
IDLE_SECONDS = 10.0

Query = Mapping[str, object]
Headers = Sequence[tuple[str | bytes, str | bytes]]


@dataclass(frozen=True, slots=True)
class TransferResult:
    """An HTTP response, or in ``failure`` why there is none.

    ``failure`` is ``silence``, ``closed``, ``nonsense`` or ``unreachable``; ``status`` is then 0.
    ``json`` is None if the body is not JSON.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    json: StrictJson | None = None
    failure: str | None = None
    received: bytes = b""
    step: int | None = field(default=None, compare=False)

    def header(self, name: str) -> str | None:
        """Return the first header with this name, ignoring letter case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


def make_failed(how: str, received: bytes = b"") -> TransferResult:
    """Return the TransferResult of a request without a response; ``how`` is its ``failure``."""
    return TransferResult(0, (), b"", failure=how, received=received)


def read_response(data: bytes, method: str = "POST") -> TransferResult:
    """Return the response in these bytes, after which the connection ended."""
    response = _Response(method)
    answer = response.feed(data) or response.feed(b"")
    return answer or make_failed("closed", data)


def transfer(
    address: Address, data: bytes, *, seconds: float, method: str, together: Together
) -> TransferResult:
    """Send a request on a new connection and return the response.

    The connections that are read ``together`` are read while the response has not come.

    Raises:
        Exhausted: this machine cannot make another connection.
    """
    try:
        with connect(address, seconds) as sock:
            return _exchange(sock, data, seconds, method, together)[0]
    except OSError as error:
        refuse_exhausted(error, address[0])
        return make_failed("unreachable")


class ConnectionPool:
    """A pool of connections to one address that are reused while the target keeps them open.

    It serves the many requests that belong to no case, and is thread-safe. A connection that was
    idle for more than ``idle_seconds`` is not used again: a device on the way may have dropped it
    silently.
    """

    def __init__(self, address: Address, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._address = address
        self._idle_seconds = idle_seconds
        self._idle: list[tuple[socket.socket, float]] = []
        self._is_kept = True

    def transfer(
        self, data: bytes, *, seconds: float, method: str, together: Together | None = None
    ) -> TransferResult:
        """Send a keep-alive request and return the response.

        If a reused connection turns out to be closed, the request is sent on another connection.
        The connections that are read ``together`` are read while the response has not come.

        Raises:
            Exhausted: this machine cannot make another connection.
        """
        together = together or Together()
        while (sock := self._take_connection()) is not None:
            answer = self._answer(sock, data, seconds, method, together)
            if answer.failure != "closed" or answer.received:
                return answer
        try:
            sock = connect(self._address, seconds)
        except OSError as error:
            refuse_exhausted(error, self._address[0])
            return make_failed("unreachable")
        return self._answer(sock, data, seconds, method, together)

    def close(self) -> None:
        """Close all connections; later requests leave no connection open either."""
        self._is_kept = False
        while (sock := self._take_connection()) is not None:
            sock.close()

    def _take_connection(self) -> socket.socket | None:
        """Return a connection for reuse; each thread gets a different one."""
        while True:
            try:
                sock, since = self._idle.pop()
            except IndexError:
                return None
            if time.monotonic() - since <= self._idle_seconds:
                return sock
            sock.close()

    def _answer(
        self, sock: socket.socket, data: bytes, seconds: float, method: str, together: Together
    ) -> TransferResult:
        goes_on = False
        try:
            answer, goes_on = _exchange(sock, data, seconds, method, together)
        finally:
            if goes_on and self._is_kept:
                self._idle.append((sock, time.monotonic()))
            else:
                sock.close()
        return answer


def path_with_query(path: str, query: Query | str) -> str:
    """Return path and query as a request target; values are percent-encoded, a text is not."""
    text = query if isinstance(query, str) else urlencode(query, quote_via=quote)
    return f"{path}?{text}" if text else path


def request_bytes(
    method: str, target: str, address: Address, *, headers: Headers = (), body: bytes = b""
) -> bytes:
    """Return the bytes of an HTTP request, even of a malformed one, which h11 would reject.

    Host, Connection and Content-Length are added unless ``headers`` has a header of that name.
    """
    head = _head(address, headers, body)
    lines = [f"{method} {target} HTTP/1.1".encode()]
    lines += [key + b": " + value for key, value in head]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


TOKEN = "TOKEN"
"""The word that replaces the secret token in recorded requests."""


def address_of(text: str) -> Address:
    """Return host and port of the text HOST:PORT; raise KitError if it has another form."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port:
        raise KitError(f"{text!r}: expected HOST:PORT")
    return parts.hostname, parts.port


def _head(address: Address, headers: Headers, body: bytes) -> list[tuple[bytes, bytes]]:
    head = [(b"Host", format_address(address).encode()), (b"Connection", b"close")]
    given = [(_bytes(key), _bytes(value)) for key, value in headers]
    named = {key.lower() for key, _ in given}
    if not named & {b"content-length", b"transfer-encoding"}:
        head.append((b"Content-Length", str(len(body)).encode()))
    return [pair for pair in head if pair[0].lower() not in named] + given


class _Response:
    """Reads one HTTP response in pieces."""

    def __init__(self, method: str) -> None:
        self._peer = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        asked = "HEAD" if method == "HEAD" else "POST"
        self._peer.send(h11.Request(method=asked, target="/", headers=[("Host", "x")]))
        self._peer.send(h11.EndOfMessage())
        self._head: h11.Response | None = None
        self._body = bytearray()

    def feed(self, piece: bytes) -> TransferResult | None:
        """Add received bytes, empty at the end of the stream; return the response if complete."""
        try:
            self._peer.receive_data(piece)
            return self._answer()
        except h11.RemoteProtocolError:
            started = self._head is not None or self._peer.trailing_data[0]
            return make_failed("nonsense" if piece or started else "closed")

    def _answer(self) -> TransferResult | None:
        while True:
            event = self._peer.next_event()
            if isinstance(event, h11.Response):
                self._head = event
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return self._finish()
            elif isinstance(event, h11.ConnectionClosed):
                return make_failed("closed")
            elif not isinstance(event, h11.InformationalResponse):
                return None if len(self._body) <= BODY_LIMIT else make_failed("nonsense")

    def _finish(self) -> TransferResult:
        head = self._head
        assert head is not None, "h11 gives a head before the end"
        headers = tuple(
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in head.headers
        )
        body = bytes(self._body)
        return TransferResult(head.status_code, headers, body, _json(body))

    @property
    def goes_on(self) -> bool:
        """Return True if the target accepts another request on the connection."""
        return self._peer.their_state is h11.DONE and not self._peer.trailing_data[0]


def _exchange(
    sock: socket.socket, data: bytes, seconds: float, method: str, together: Together
) -> tuple[TransferResult, bool]:
    """Send a request and read the response; also return whether another may follow."""
    deadline = Deadline(seconds)
    received = bytearray()
    response = _Response(method)
    with contextlib.suppress(OSError):  # it may have answered and stopped reading
        sock.sendall(data)
    while (left := deadline.left()) > 0:
        if not together.wait(sock, select.POLLIN, time.monotonic() + left):
            continue
        try:
            piece = sock.recv(CHUNK)
        except OSError:
            piece = b""
        received += piece
        answer = response.feed(piece)
        if answer is not None:
            return _add_received(
                answer, bytes(received)
            ), answer.failure is None and response.goes_on
    return make_failed("silence", bytes(received)), False


def _add_received(answer: TransferResult, received: bytes) -> TransferResult:
    return TransferResult(
        answer.status, answer.headers, answer.body, answer.json, answer.failure, received
    )


def _json(body: bytes) -> StrictJson | None:
    try:
        return read(body)
    except WireError:
        return None


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
