"""Decodes both directions of an HTTP connection as they pass; the bytes are not touched."""

import zlib
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import h11

PENDING = 1000
"""The most requests without a response that are kept; no client pipelines more."""


_CODINGS = {
    b"gzip": (16 + zlib.MAX_WBITS,),
    b"x-gzip": (16 + zlib.MAX_WBITS,),
    b"deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),
}
"""The formats of zlib for a content coding; some servers send deflate without its wrapping."""


@dataclass(frozen=True, slots=True)
class HttpHead:
    """The head of a request; ``left`` is the number of received bytes that follow it."""

    request: h11.Request
    left: int


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response to a request, its body without compression.

    The body is empty, and ``is_kept`` false, if it was too long to be kept or is compressed in an
    unknown way. ``left`` is the number of received bytes that follow the response.
    """

    path: str
    head: h11.Response
    body: bytes
    left: int
    is_kept: bool = True

    def with_body(self, body: bytes) -> bytes:
        """Return the bytes of the response, with its body replaced."""
        lines = [b"HTTP/%s %d %s" % (self.head.http_version, self.head.status_code, self._reason)]
        lines += [
            name + b": " + value
            for name, value in self.head.headers.raw_items()
            if name.lower() not in _OF_THE_BODY
        ]
        lines.append(b"Content-Length: %d" % len(body))
        return b"\r\n".join([*lines, b"", b""]) + body

    @property
    def _reason(self) -> bytes:
        return bytes(self.head.reason)


_OF_THE_BODY = (b"content-length", b"content-encoding", b"transfer-encoding")


class HttpExchange:
    """Decodes the HTTP requests and responses of one connection, in order.

    Raises:
        h11.RemoteProtocolError: the bytes are no HTTP; nothing more can be decoded.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._requests = h11.Connection(h11.SERVER)
        self._responses = h11.Connection(h11.CLIENT)
        self._asked: deque[h11.Request] = deque()
        self._head: h11.Response | None = None
        self._body = bytearray()
        self._is_kept = True

    @property
    def is_in_head(self) -> bool:
        """True if the client's last bytes are the beginning of a request, or none."""
        return self._requests.their_state is h11.IDLE

    def feed_client(self, data: bytes) -> Iterator[HttpHead]:
        """Add bytes sent by the client; yield the heads of requests that they complete."""
        self._requests.receive_data(data)
        for request in self._list_requests():
            self._asked.append(request)
            if len(self._asked) > PENDING:
                raise h11.RemoteProtocolError(f"more than {PENDING} requests wait")
            yield HttpHead(request, len(self._requests.trailing_data[0]))

    def feed_server(self, data: bytes) -> Iterator[HttpResponse]:
        """Add bytes sent by the server; yield the responses that they complete."""
        if not self._asked and len(self._responses.trailing_data[0]) + len(data) > self._most:
            raise h11.RemoteProtocolError("too many bytes that answer no request")
        self._begin()
        self._responses.receive_data(data)
        while self._asked:
            event = self._responses.next_event()
            if isinstance(event, h11.Response):
                self._head, self._is_kept = event, True
            elif isinstance(event, h11.Data):
                self._keep(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                yield self._finish()
                self._begin()
            elif not isinstance(event, h11.InformationalResponse):
                return

    def is_whole(self, paths: Collection[str]) -> bool:
        """Return True if the next response is to one of these paths, and its body is kept."""
        return bool(self._asked) and path_of(self._asked[0]) in paths and self._is_kept

    def _list_requests(self) -> Iterator[h11.Request]:
        while True:
            event = self._requests.next_event()
            if isinstance(event, h11.Request):
                yield event
            elif event is h11.PAUSED and self._requests.our_state is h11.SEND_RESPONSE:
                self._answer_own()
            elif not isinstance(event, h11.Data | h11.EndOfMessage):
                return

    def _answer_own(self) -> None:
        """Go on to the next request, as if this one had been answered."""
        self._requests.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
        self._requests.send(h11.EndOfMessage())
        if self._requests.our_state is h11.DONE:
            self._requests.start_next_cycle()

    def _begin(self) -> None:
        """Tell the decoder of responses what the next one answers."""
        if self._responses.our_state is h11.DONE and self._responses.their_state is h11.DONE:
            self._responses.start_next_cycle()
        if self._asked and self._responses.our_state is h11.IDLE:
            asked = self._asked[0]
            kept = [header for header in asked.headers if header[0] == b"connection"]
            head = [(b"host", b"any"), *kept]
            again = h11.Request(method=asked.method, target=asked.target, headers=head)
            self._responses.send(again)
            self._responses.send(h11.EndOfMessage())

    def _keep(self, data: bytes) -> None:
        self._is_kept = self._is_kept and len(self._body) + len(data) <= self._most
        if self._is_kept:
            self._body += data
        else:
            self._body.clear()

    def _finish(self) -> HttpResponse:
        body, self._body = bytes(self._body), bytearray()
        head = self._head
        assert head is not None  # h11 yields the head before the end
        left = len(self._responses.trailing_data[0])
        plain = _decompress(head, body, self._most) if self._is_kept else None
        path = path_of(self._asked.popleft())
        return HttpResponse(path, head, plain or b"", left, plain is not None)


def _decompress(head: h11.Response, body: bytes, most: int) -> bytes | None:
    """Return a body without its content codings; None if that is not possible, or too long."""
    named = [value for name, value in head.headers if name == b"content-encoding"]
    codings = [each.strip().lower() for value in named for each in value.split(b",")]
    for coding in reversed(codings):
        if coding not in (b"", b"identity") and body:
            found = (_inflate(body, most, each) for each in _CODINGS.get(coding, ()))
            plain = next((each for each in found if each is not None), None)
            if plain is None:
                return None
            body = plain
    return body


def _inflate(body: bytes, most: int, form: int) -> bytes | None:
    inflating = zlib.decompressobj(form)
    try:
        plain = inflating.decompress(body, most)
    except zlib.error:
        return None
    return plain if inflating.eof and not inflating.unused_data else None


def path_of(request: h11.Request) -> str:
    """Return the path of a request, without the query."""
    return request.target.decode("latin-1").partition("?")[0]
