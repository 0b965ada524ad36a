"""One connection of generation apache that passes: requests judged as a client's, replies too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.clients.apache.decoder import ApacheRequests
from wireproof_kit.iggy.clients.apache.law import LAW, RequestLaw
from wireproof_kit.iggy.clients.events import Asked, Replied
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.proxy.events import Undecoded
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.bodies.messages import POLL_MESSAGES, PollMessages
from wireproof_spec.iggy.apache.frames import (
    MAX_FRAME_SIZE,
    NEED_MORE,
    Eviction,
    FrameReader,
    Reply,
    decode_answer,
    encode_answer,
)
from wireproof_spec.iggy.apache.polled import decode_polled
from wireproof_spec.iggy.apache.statuses import OK
from wireproof_spec.wire_error import WireError

OF_CLIENTS: Final = tuple(
    f"{LAW}{name}"
    for name in (
        *("request", "zero", "reserved", "operation", "register", "identity", "session"),
        *("stamp", "numbers", "numbers-positive", "login-first", "version"),
        *("fields", "checksums", "deltas", "counts", "reserved-batch", "origin", "ids"),
    )
)
OF_SERVERS: Final = tuple(
    f"{rules.LAW}{name}"
    for name in (
        *("frame.zero", "frame.echo", "login.window-zero", "reply.denied-empty"),
        *("reply.result", "reply.result-rejected", "evict.shape", "evict.reason"),
        *("poll.head", "poll.count", "message.layout", "message.partition"),
        *("message.append-time", "message.counts", "message.batch-checksum"),
        *("message.reserved", "message.checksum"),
    )
)
_MOST_ASKED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Answered(Replied):
    """The server answered: a reply with its request, if that was seen, or an eviction."""

    answer: Reply | Eviction
    asked: Asked | None


class ApacheWatcher:
    """Decodes and judges one TCP connection of generation apache."""

    opening: tuple[str, ...] = ()

    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._requests = ApacheRequests(MAX_FRAME_SIZE)
        self._replies = FrameReader(MAX_FRAME_SIZE)
        self._asked: dict[int, Asked] = {}
        self._law = RequestLaw()
        self._is_open = True

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        """Yield the requests or answers that end in these bytes."""
        if not self._is_open:
            return
        for event in self._by_client(at, data) if by_client else self._by_server(at, data):
            yield event
            self._is_open = self._is_open and not isinstance(event, Undecoded | Malformed)

    def decode_end(self, at: float) -> Iterable[Event]:
        """Return nothing: a request that is cut short is none."""
        return ()

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield findings on the clauses for clients, or for servers, that an event shows."""
        if isinstance(event, Malformed):
            yield Finding(f"{LAW}request", f"malformed:{event.error.field}", str(event.error))
        elif isinstance(event, Asked) and event.request is not None:
            yield from self._law.see_request(event.request)
        elif isinstance(event, Answered):
            self._law.see_answer(event.data)
            yield from _judge_answer(self._requests, event)

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of an answer; empty for anything else."""
        return event.data if isinstance(event, Replied) else b""

    def _by_client(self, at: float, data: bytes) -> Iterator[Event]:
        for event in self._requests.decode(at, self._conn, data):
            if isinstance(event, Asked) and event.request is not None:
                self._asked[event.request.header.request] = event
                if len(self._asked) > _MOST_ASKED:
                    del self._asked[next(iter(self._asked))]
            yield event

    def _by_server(self, at: float, data: bytes) -> Iterator[Event]:
        self._replies.feed(data)
        try:
            while (frame := self._replies.next_frame()) is not NEED_MORE:
                answer = decode_answer(frame)
                number = answer.header.request if isinstance(answer, Reply) else None
                asked = None if number is None else self._asked.get(number)
                yield Answered(at, self._conn, encode_answer(answer), answer, asked)
        except WireError as error:
            yield Undecoded(at, self._conn, f"not decoded from here on: {error}")


def _judge_answer(requests: ApacheRequests, event: Answered) -> Iterator[Finding]:
    """Judge an answer by the rules that every reply and polled batch is judged by."""
    if isinstance(event.answer, Eviction):
        yield from rules.judge_eviction(event.answer)
        return
    request = event.asked.request if event.asked is not None else None
    if request is None:
        return
    yield from rules.judge_reply(request.header, event.answer, requests.envelope)
    if event.asked is None or event.asked.poll is None or event.answer.header.status != OK:
        return
    poll: PollMessages = decode(POLL_MESSAGES, request.body)
    try:
        polled = decode_polled(requests.envelope, event.answer.body)
    except WireError as error:
        yield Finding(f"{rules.LAW}message.layout", "layout:undecodable", str(error))
        return
    yield from rules.judge_head(poll, polled)
    yield from rules.judge_times(polled.batches)
    for batch in polled.batches:
        yield from rules.judge_batch(poll, batch)
