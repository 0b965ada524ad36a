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
from wireproof_spec.iggy.statuses import OK
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
COUNTED = "the lengths of answers seem to count the status"
_REQUEST_HEAD_SIZE, _WORD = 8, 4


@dataclass(frozen=True, slots=True)
class Answered(Responded):
    """The server answered; ``asked`` is the request, None if there was none.

    ``body`` is empty if ``is_whole`` is false: it was too long to be kept. ``is_pipelined`` is
    true if more requests wait for their answers.
    """

    asked: Asked | None
    status: int
    body: bytes
    is_whole: bool = True
    is_pipelined: bool = False


class PassingDecoder:
    """Both directions of one connection."""

    def __init__(self, conn: str) -> None:
        self._stream = _HttpStream(conn) if conn.startswith(HTTP) else _TcpStream(conn)

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        """Yield the events that end in these bytes."""
        return self._stream.decode(at, data, by_client=by_client)

    def decode_end(self, at: float) -> Iterator[Event]:
        """Yield a malformed request if the client's stream ends inside one."""
        return self._stream.decode_end(at)


class _TcpStream:
    """Both directions over TCP.

    The texts disagree whether the length of a response counts its status. So responses are held
    back until it is certain that it does not; where it seems to, nothing is decoded.
    """

    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._requests = RequestDecoder(ANY_SIZE, certain=CERTAIN)
        self._responses = ResponseReader(ANY_SIZE)
        self._asked: deque[Asked] = deque()
        self._skip = {True: 0, False: 0}
        self._is_open = True
        self._is_certain = False
        """True once it is shown that lengths count the payload alone."""
        self._is_refused = False
        """True if the request that is on its way has been answered already."""

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        if not self._is_open:
            return
        skipped = min(self._skip[by_client], len(data))
        self._skip[by_client] -= skipped
        data = data[skipped:]
        yield from self._by_client(at, data) if by_client else self._by_server(at, data)
        if self._is_open and len(self._asked) > MOST_ASKED:
            yield self._give_up(at, f"more than {MOST_ASKED} requests wait for an answer")

    def decode_end(self, at: float) -> Iterator[Event]:
        pending = self._requests.pending
        # A client may give up a request that was refused before its last byte.
        if self._is_open and pending and not self._is_refused:
            self._is_open = False
            yield Malformed(at, self._conn, _cut_off(pending))

    def _give_up(self, at: float, why: str) -> Undecoded:
        self._is_open = False
        return Undecoded(at, self._conn, f"{GONE}: {why}")

    def _by_client(self, at: float, data: bytes) -> Iterator[Event]:
        if data and self._comes_out(status_size=_WORD):
            yield self._give_up(at, f"{COUNTED}, of which the texts disagree")
            return
        for event in self._requests.decode(at, self._conn, data):
            yield event
            if not isinstance(event, Asked):
                yield self._give_up(at, "a request has another form")
                return
            # Sent messages may follow each other without waiting, and no answer needs them.
            self._ask(replace(event, payload=None) if event.sending else event)
        pending = self._requests.pending
        if len(pending) > KEPT:
            size = int.from_bytes(pending[:_WORD], "little")
            code = int.from_bytes(pending[_WORD:_REQUEST_HEAD_SIZE], "little")
            name = COMMANDS.get(code, f"command {code}")
            self._skip[True] = _WORD + size - len(pending)
            yield Clipped(at, self._conn, name, size, kept=_WORD)
            asked = Asked(at, self._conn, name, self._requests.generation)
            self._ask(asked)
            yield asked
            self._requests.pass_over_pending()

    def _ask(self, asked: Asked) -> None:
        if not self._is_refused:
            self._asked.append(asked)
        self._is_refused = False

    def _by_server(self, at: float, data: bytes) -> Iterator[Event]:
        self._responses.feed(data)
        while self._is_readable() and (found := self._responses.next_response()) is not NEED_MORE:
            length = len(found.body).to_bytes(_WORD, "little")
            whole = found.status.to_bytes(_WORD, "little") + length + found.body
            yield self._answered(at, whole, found.status, found.body)
        pending = self._responses.pending
        if len(pending) > KEPT and not self._is_certain:
            yield self._give_up(at, "nothing shows whether lengths include the status")
        elif len(pending) > KEPT:
            status, size = _head(pending)
            self._skip[False] = RESPONSE_HEAD_SIZE + size - len(pending)
            self._responses = ResponseReader(ANY_SIZE)
            yield Clipped(at, self._conn, "answer", size, kept=0)
            yield self._answered(at, pending[:RESPONSE_HEAD_SIZE], status, None)

    def _answered(self, at: float, data: bytes, status: int, body: bytes | None) -> Answered:
        """Return an answer with its request; that may be one that is still on its way."""
        is_pipelined, asked = len(self._asked) > 1, None
        if self._asked:
            asked = self._asked.popleft()
        elif self._requests.pending and not self._is_refused:
            self._is_refused = True
            asked = Asked(at, self._conn, "a request on its way", self._requests.generation)
        whole = body is not None
        return Answered(at, self._conn, data, asked, status, body or b"", whole, is_pipelined)

    def _is_readable(self) -> bool:
        """Return True if it is certain where the next response ends."""
        pending = self._responses.pending
        if self._is_certain or len(pending) < RESPONSE_HEAD_SIZE:
            return True
        status, size = _head(pending)
        if status != OK:
            return True  # in either text an error has length 0
        is_short = status == OK and size < _WORD
        self._is_certain = is_short or (
            self._comes_out(status_size=0) and not self._comes_out(status_size=_WORD)
        )
        return self._is_certain

    def _comes_out(self, *, status_size: int) -> bool:
        """Return True if the bytes held back are the responses to all requests, and no more.

        A length is read as counting ``status_size`` bytes of the status.
        """
        pending, count = self._responses.pending, 0
        if self._is_certain or not pending:
            return False
        while len(pending) >= RESPONSE_HEAD_SIZE:
            status, size = _head(pending)
            counted = status_size if status == OK else 0
            if size < counted or len(pending) < RESPONSE_HEAD_SIZE + size - counted:
                return False
            pending, count = pending[RESPONSE_HEAD_SIZE + size - counted :], count + 1
        return not pending and count >= len(self._asked) + bool(self._requests.pending)


def _cut_off(pending: bytes) -> WireError:
    """Return the error for a stream that ends inside a request."""
    has_length = len(pending) >= _WORD
    due = _WORD + int.from_bytes(pending[:_WORD], "little") if has_length else _REQUEST_HEAD_SIZE
    return WireError(
        clause="iggy.client.well-formed",
        field="request",
        offset=0,
        expected=f"{due} bytes",
        found=f"{len(pending)} bytes at the end of the stream",
    )


def _head(data: bytes) -> tuple[int, int]:
    """Return status and length of a response."""
    status, size = (int.from_bytes(data[at : at + _WORD], "little") for at in (0, _WORD))
    return status, size


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
        except (h11.ProtocolError, ValueError) as error:  # urlsplit refuses some targets
            self._is_open = False
            yield Undecoded(at, self._conn, f"{GONE}: no HTTP ({error})")

    def decode_end(self, at: float) -> Iterator[Event]:
        yield from ()  # a request cut short is none that a server could answer

    def _by_client(self, at: float, data: bytes) -> Iterator[Event]:
        for found in self._exchange.feed_client(data):
            head = read_request(found.request)
            try:
                asked = http_decoder.decode_head(at, self._conn, head)
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
