"""Decodes what passes a proxy into requests and their answers; holds little of either.

Of a request or an answer that is longer than `KEPT`, the head is decoded and the rest is counted.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import h11

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.clients.http_requests import read_request
from wireproof_kit.iggy.clients import http_decoder
from wireproof_kit.iggy.clients.decoder import HTTP, RequestDecoder
from wireproof_kit.iggy.clients.events import Asked, Responded
from wireproof_kit.proxy.events import Clipped, Undecoded
from wireproof_kit.proxy.http_stream import HttpExchange
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.frame import NEED_MORE, RESPONSE_HEAD_SIZE, ResponseReader
from wireproof_spec.wire_error import WireError

KEPT = 1 << 20
"""Bytes of a request or an answer that are kept: as many as a poll of a thousand messages has."""
ANY_SIZE = (1 << 32) - 1
MOST_ASKED = 10_000
CERTAIN = frozenset(
    {
        commands.POLL_MESSAGES,
        commands.SEND_MESSAGES,
        commands.STORE_CONSUMER_OFFSET,
        commands.GET_CONSUMER_OFFSET,
    }
)
"""The commands whose payloads are known in both generations, whoever sends them."""
GONE = "not decoded from here on"
_REQUEST_HEAD_SIZE, _WORD = 8, 4


@dataclass(frozen=True, slots=True)
class Answered(Responded):
    """The server answered; ``asked`` is the request, None if there was none.

    ``body`` is empty if ``is_whole`` is false: it was too long to be kept.
    """

    asked: Asked | None
    status: int
    body: bytes
    is_whole: bool = True


class PassingDecoder:
    """Both directions of one connection."""

    def __init__(self, conn: str) -> None:
        self._stream = _HttpStream(conn) if conn.startswith(HTTP) else _TcpStream(conn)

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        """Yield the events that end in these bytes."""
        return self._stream.decode(at, data, by_client=by_client)


class _TcpStream:
    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._requests = RequestDecoder(ANY_SIZE, certain=CERTAIN)
        self._responses = ResponseReader(ANY_SIZE)
        self._asked: deque[Asked] = deque()
        self._skip = {True: 0, False: 0}
        self._is_open = True

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        if not self._is_open:
            return
        skipped = min(self._skip[by_client], len(data))
        self._skip[by_client] -= skipped
        data = data[skipped:]
        yield from self._by_client(at, data) if by_client else self._by_server(at, data)
        if len(self._asked) > MOST_ASKED:
            self._is_open = False
            text = f"{GONE}: more than {MOST_ASKED} requests wait for an answer"
            yield Undecoded(at, self._conn, text)

    def _by_client(self, at: float, data: bytes) -> Iterator[Event]:
        for event in self._requests.decode(at, self._conn, data):
            yield event
            if not isinstance(event, Asked):
                self._is_open = False
                yield Undecoded(at, self._conn, f"{GONE}: a request has another form")
                return
            # Sent messages may follow each other without waiting, and no answer needs them.
            self._asked.append(replace(event, payload=None) if event.sending else event)
        pending = self._requests.pending
        if len(pending) > KEPT:
            size = int.from_bytes(pending[:_WORD], "little")
            code = int.from_bytes(pending[_WORD:_REQUEST_HEAD_SIZE], "little")
            name = COMMANDS.get(code, f"command {code}")
            self._skip[True] = _WORD + size - len(pending)
            yield Clipped(at, self._conn, name, size, kept=_WORD)
            self._asked.append(Asked(at, self._conn, name, self._requests.generation))
            yield self._asked[-1]
            self._requests.pass_over_pending()

    def _by_server(self, at: float, data: bytes) -> Iterator[Event]:
        self._responses.feed(data)
        while (found := self._responses.next_response()) is not NEED_MORE:
            head = found.status.to_bytes(_WORD, "little") + len(found.body).to_bytes(
                _WORD, "little"
            )
            yield Answered(
                at, self._conn, head + found.body, self._take(), found.status, found.body
            )
        pending = self._responses.pending
        if len(pending) > KEPT:
            status, size = (int.from_bytes(pending[i : i + _WORD], "little") for i in (0, _WORD))
            self._skip[False] = RESPONSE_HEAD_SIZE + size - len(pending)
            self._responses = ResponseReader(ANY_SIZE)
            yield Clipped(at, self._conn, "answer", size, kept=0)
            head = pending[:RESPONSE_HEAD_SIZE]
            yield Answered(at, self._conn, head, self._take(), status, b"", is_whole=False)

    def _take(self) -> Asked | None:
        return self._asked.popleft() if self._asked else None


class _HttpStream:
    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._exchange = HttpExchange(KEPT)
        self._asked: deque[Asked] = deque(maxlen=MOST_ASKED)
        self._is_open = True

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        if not self._is_open:
            return
        try:
            yield from self._by_client(at, data) if by_client else self._by_server(at, data)
        except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
            self._is_open = False
            yield Undecoded(at, self._conn, f"{GONE}: no HTTP ({error})")

    def _by_client(self, at: float, data: bytes) -> Iterator[Event]:
        for head in self._exchange.feed_client(data):
            try:
                asked = http_decoder.decode_head(at, self._conn, read_request(head))
            except WireError as error:
                yield Malformed(at, self._conn, error)
                asked = Asked(at, self._conn, "another request", "published")
            self._asked.append(asked)
            yield asked

    def _by_server(self, at: float, data: bytes) -> Iterator[Event]:
        for found in self._exchange.feed_server(data):
            asked = self._asked.popleft() if self._asked else None
            status, whole = found.head.status_code, found.with_body(found.body)
            yield Answered(at, self._conn, whole, asked, status, found.body, found.is_kept)
