"""Decodes both directions of an HTTP connection as they pass; the bytes are not touched."""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import h11

PENDING = 1000
"""The most requests without a response that are kept; no client pipelines more."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response to a request; its body is empty if it was too long to be kept.

    ``left`` is the number of received bytes that follow the response.
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
            if name.lower() not in (b"content-length", b"transfer-encoding")
        ]
        lines.append(b"Content-Length: %d" % len(body))
        return b"\r\n".join([*lines, b"", b""]) + body

    @property
    def _reason(self) -> bytes:
        return bytes(self.head.reason)


class HttpExchange:
    """Decodes the HTTP requests and responses of one connection, in order.

    Raises:
        h11.RemoteProtocolError: the bytes are no HTTP; nothing more can be decoded.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._requests = h11.Connection(h11.SERVER)
        self._responses = h11.Connection(h11.CLIENT)
        self._asked: deque[h11.Request] = deque(maxlen=PENDING)
        self._head: h11.Response | None = None
        self._body = bytearray()
        self._is_kept = True

    def feed_client(self, data: bytes) -> Iterator[h11.Request]:
        """Add bytes sent by the client; return the requests whose head they complete."""
        self._requests.receive_data(data)
        found = list(self._list_requests())
        self._asked += found
        return iter(found)

    def feed_server(self, data: bytes) -> Iterator[HttpResponse]:
        """Add bytes sent by the server; yield the responses that they complete."""
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
            kept = [each for each in asked.headers if each[0] == b"connection"]
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
        return HttpResponse(path_of(self._asked.popleft()), head, body, left, self._is_kept)


def path_of(request: h11.Request) -> str:
    """Return the path of a request, without the query."""
    return request.target.decode("latin-1").partition("?")[0]
