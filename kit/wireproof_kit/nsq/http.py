"""HTTP requests to a broker or lookup server: h11, deadlines, every byte recorded."""

import contextlib
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import h11

from wireproof_kit.nsq.topics import Address
from wireproof_kit.transcript import Transcript
from wireproof_spec.nsq.names import V1_ACCEPT
from wireproof_spec.strict_json import JsonValue, StrictJson, read
from wireproof_spec.wire_error import WireError

BODY_LIMIT = 16 * 1024 * 1024
CHUNK = 65536
TRACE_FIELDS = frozenset({"status", "id", "trace_id", "queue_offset", "rawsize"})

Query = Mapping[str, object]
Headers = Sequence[tuple[str | bytes, str | bytes]]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP response, or in ``failure`` why there is none.

    ``failure`` is ``silence``, ``closed``, ``nonsense`` or ``unreachable``; ``status`` is then
    0. ``json`` is None when the body is no JSON.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    json: StrictJson | None = None
    failure: str | None = None

    @property
    def code(self) -> str:
        """Return the error code in the body, in either envelope; empty when there is none."""
        value = self.json.value if self.json else None
        if not isinstance(value, dict):
            return ""
        if "message" in value:
            return str(value["message"])
        return str(value["status_txt"]) if "status_txt" in value else ""

    @property
    def data(self) -> JsonValue:
        """Return the JSON value without its envelope; None when there is none."""
        value = self.json.value if self.json else None
        return value["data"] if self.is_wrapped and isinstance(value, dict) else value

    @property
    def is_wrapped(self) -> bool:
        """Tell whether the JSON stands in status_code, status_txt, data."""
        value = self.json.value if self.json else None
        return isinstance(value, dict) and {"status_code", "data"} <= value.keys()

    @property
    def is_ok(self) -> bool:
        """Tell whether the answer is OK, with or without quotes or envelope."""
        return self.status == 200 and self.word in ("ok", "trace", "empty")

    @property
    def word(self) -> str:
        """Name the body: ``ok``, ``trace``, ``empty``, ``json``, a code, or ``other``."""
        text = self.body.strip()
        if text in (b"OK", b'"OK"'):
            return "ok"
        if not text:
            return "empty"
        data = self.data
        if self.status == 200 and isinstance(data, dict) and data.keys() >= TRACE_FIELDS:
            return "trace"
        if self.status == 200 and isinstance(self.json, StrictJson):
            return "json"
        first = self.code.partition(" ")[0]
        return first if re.fullmatch(r"[A-Za-z0-9_]+", first) else "other"

    def header(self, name: str) -> str | None:
        """Return the first header of a name, whatever its letter case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class HttpClient:
    """Requests to one address, each on a connection of its own."""

    def __init__(self, address: Address, *, transcript: Transcript, seconds: float) -> None:
        self.address = address
        self._transcript = transcript
        self._seconds = seconds

    def at(self, address: Address | None) -> "HttpClient":
        """Return the client for another address."""
        if address is None or address == self.address:
            return self
        return HttpClient(address, transcript=self._transcript, seconds=self._seconds)

    def recording(self, transcript: Transcript) -> "HttpClient":
        """Return the client that records in another transcript."""
        return HttpClient(self.address, transcript=transcript, seconds=self._seconds)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | str = "",
        headers: Headers = (),
        body: bytes = b"",
        v1: bool = False,
    ) -> HttpAnswer:
        """Send one request and return what is answered.

        A ``query`` given as text is sent as it is; ``v1`` asks for bare answers.
        """
        target = path_with_query(path, query)
        wire = _request_bytes(method, target, self._head(headers, body, v1=v1), body)
        return self.send(wire, what=f"{method} {target}")

    def send(self, data: bytes, *, what: str = "raw request", method: str = "POST") -> HttpAnswer:
        """Send any bytes as a request and return what is answered."""
        name = self._transcript.connection_label()
        self._transcript.add("request", name, data=data, note=what)
        try:
            with socket.create_connection(self.address, timeout=self._seconds) as sock:
                received, answer = _exchange(sock, data, self._seconds, method)
        except OSError:
            received, answer = b"", failed("unreachable")
        note = answer.failure or str(answer.status)
        self._transcript.add("response", name, data=received, note=note)
        return answer

    def _head(self, headers: Headers, body: bytes, *, v1: bool) -> list[tuple[bytes, bytes]]:
        host, port = self.address
        head = [(b"Host", f"{host}:{port}".encode()), (b"Connection", b"close")]
        if v1:
            head.append((b"Accept", V1_ACCEPT.encode()))
        given = [(_bytes(key), _bytes(value)) for key, value in headers]
        named = {key.lower() for key, _ in given}
        if not named & {b"content-length", b"transfer-encoding"}:
            head.append((b"Content-Length", str(len(body)).encode()))
        return [pair for pair in head if pair[0].lower() not in named] + given


def path_with_query(path: str, query: Query | str) -> str:
    """Return a request target; values are percent-encoded, text is left as it is."""
    text = query if isinstance(query, str) else urlencode(query, quote_via=quote)
    return f"{path}?{text}" if text else path


def _request_bytes(
    method: str, target: str, head: Sequence[tuple[bytes, bytes]], body: bytes
) -> bytes:
    """Write a request by hand: h11 refuses what a malformed one needs."""
    lines = [f"{method} {target} HTTP/1.1".encode()]
    lines += [key + b": " + value for key, value in head]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class _Response:
    """Reads one HTTP response, whatever pieces it comes in."""

    def __init__(self, method: str) -> None:
        self._peer = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        asked = "HEAD" if method == "HEAD" else "POST"
        self._peer.send(h11.Request(method=asked, target="/", headers=[("Host", "x")]))
        self._peer.send(h11.EndOfMessage())
        self._head: h11.Response | None = None
        self._body = bytearray()

    def feed(self, piece: bytes) -> HttpAnswer | None:
        """Take a piece (empty: the end); return the answer once it is whole."""
        try:
            self._peer.receive_data(piece)
            return self._answer()
        except h11.RemoteProtocolError:
            started = self._head is not None or self._peer.trailing_data[0]
            return failed("nonsense" if piece or started else "closed")

    def _answer(self) -> HttpAnswer | None:
        while True:
            event = self._peer.next_event()
            if isinstance(event, h11.Response):
                self._head = event
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return self._whole()
            elif isinstance(event, h11.ConnectionClosed):
                return failed("closed")
            elif not isinstance(event, h11.InformationalResponse):
                return None if len(self._body) <= BODY_LIMIT else failed("nonsense")

    def _whole(self) -> HttpAnswer:
        head = self._head
        assert head is not None, "h11 gives a head before the end"
        headers = tuple(
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in head.headers
        )
        body = bytes(self._body)
        return HttpAnswer(head.status_code, headers, body, _json(body))


def failed(how: str) -> HttpAnswer:
    """Return the answer that is none."""
    return HttpAnswer(0, (), b"", failure=how)


def _exchange(
    sock: socket.socket, data: bytes, seconds: float, method: str
) -> tuple[bytes, HttpAnswer]:
    """Write, then read until the answer is whole; returns all that came, too."""
    deadline = time.monotonic() + seconds
    received = bytearray()
    response = _Response(method)
    with contextlib.suppress(OSError):  # it may have answered and stopped reading
        sock.sendall(data)
    while (left := deadline - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            piece = sock.recv(CHUNK)
        except TimeoutError:
            break
        except OSError:
            piece = b""
        received += piece
        answer = response.feed(piece)
        if answer is not None:
            return bytes(received), answer
    return bytes(received), failed("silence")


def _json(body: bytes) -> StrictJson | None:
    try:
        return read(body)
    except WireError:
        return None


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
