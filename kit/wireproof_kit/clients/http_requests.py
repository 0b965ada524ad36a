"""Reads the HTTP requests that a client sends on one connection to a peer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import h11


class NotHttp(Exception):
    """The received bytes are not an HTTP request; the error's text says why."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request; ``query`` has all values of each name, ``headers`` lower-case names."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    body: bytes
    version: str = "1.1"

    @property
    def closes(self) -> bool:
        """True if the response ends the connection: by request, or as usual in HTTP/1.0."""
        options = {word.strip() for word in self.headers.get("connection", "").lower().split(",")}
        if self.version == "1.0":
            return "keep-alive" not in options
        return "close" in options


class HttpRequests:
    """Decodes the HTTP requests on one connection."""

    def __init__(self) -> None:
        self._parser = h11.Connection(h11.SERVER)
        self._is_broken = False
        self._head: h11.Request | None = None
        self._body = bytearray()

    def feed(self, data: bytes) -> Iterator[HttpRequest]:
        """Yield the requests completed by these bytes.

        Raises:
            NotHttp: the bytes are no request; later bytes are ignored.
        """
        if self._is_broken:
            return
        try:
            self._parser.receive_data(data)
            yield from self._requests()
        except (h11.RemoteProtocolError, ValueError) as error:  # urlsplit refuses some targets
            self._is_broken = True
            raise NotHttp(str(error)) from None

    def expect_next(self) -> None:
        """Prepare to decode the next request, as if the last one had been answered."""
        if self._parser.our_state is h11.SEND_RESPONSE:
            close = self._parser.their_state is h11.MUST_CLOSE
            length = [("Content-Length", "0"), *([("Connection", "close")] if close else [])]
            self._parser.send(h11.Response(status_code=200, headers=length))
            self._parser.send(h11.EndOfMessage())
        if self._parser.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            self._parser.start_next_cycle()

    def _requests(self) -> Iterator[HttpRequest]:
        while True:
            event = self._parser.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.ConnectionClosed):
                return
            if isinstance(event, h11.Request):
                self._head, self._body = event, bytearray()
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage) and self._head is not None:
                yield read_request(self._head, bytes(self._body))


def read_request(head: h11.Request, body: bytes = b"") -> HttpRequest:
    """Return the request with this head and body."""
    target = urlsplit(head.target.decode("latin-1"))
    query = parse_qs(target.query, keep_blank_values=True)
    return HttpRequest(
        head.method.decode("latin-1"),
        target.path,
        {name: tuple(values) for name, values in query.items()},
        {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers},
        body,
        head.http_version.decode("latin-1"),
    )
