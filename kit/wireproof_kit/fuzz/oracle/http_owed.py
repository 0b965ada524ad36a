"""HTTP requests of cases: reading the responses, and what a request is owed."""

import re
from collections.abc import Sequence
from typing import Final

import h11

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.case import Case, HalfClose
from wireproof_kit.fuzz.driver import Answer, Expectation, Owed, Volume
from wireproof_kit.wire.address import Address

HTTP: Final = "http"
"""The interface of requests that have a port of their own."""
NO_HTTP: Final = "HTTP requests, as no HTTP address is known; give --http HOST:PORT"
METHODS: Final = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH")
STATUSES: Final = frozenset(f"HTTP {status}" for status in range(200, 600))
BODY_LIMIT: Final = 16 * 1024 * 1024
TOLD_TIMES: Final = 8
"""How many times longer a stored message of a few bytes may be in JSON than as it was sent."""
OWN_FAULT: Final = 500
"""The lowest HTTP status that blames the broker; the body must then give the error."""
UNEXPLAINED: Final = "without a word of what went wrong"
_BEGINNING: Final = b"HTTP/1."
_LINE = re.compile(rb"(GET|POST|PUT|DELETE) (/[!-~]*) HTTP/1\.1")
_FIELD = re.compile(rb"([A-Za-z0-9#_-]+):[ \t]*([ -~]*?)[ \t]*")


def is_http(case: Case) -> bool:
    """Return True if a case is a request over HTTP."""
    return case.frame_kind.partition(" ")[0] in METHODS


def choose_address(case: Case, tcp: Address, http: Address | None) -> Address:
    """Return the address that a case connects to.

    Raises:
        UsageFault: it is a request over HTTP, and no HTTP address is known.
    """
    if not is_http(case):
        return tcp
    if http is None:
        raise UsageFault(f"{case.frame_kind} cannot be sent: left out are {NO_HTTP}")
    return http


class HttpReader:
    """Reads HTTP responses from received bytes; the kind of each answer is `HTTP` and its status.

    Brokers answer 500 to invalid input too, with the error in the body. A 500 without a body is a
    kind of its own, which no request allows.
    """

    def __init__(self, method: str = "POST", volume: Volume | None = None) -> None:
        """Create a reader for responses to one method; those to HEAD have no body.

        One response may contain all bytes that `volume` counts.
        """
        self._method = "HEAD" if method == "HEAD" else "POST"
        self.fault = ""
        self.pending: bytes = b""
        self._peer = _peer(self._method)
        self._volume = volume or Volume()
        self._status = 0
        self._size = 0
        self._is_telling = False

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Add received bytes.

        Empty bytes are the end of the stream. Return the complete responses. A response that is
        cut off by the end stays pending.
        """
        if self.fault:
            return ()
        if len(self.pending) < BODY_LIMIT:  # of a longer one the beginning is enough
            self.pending += data
        try:
            self._peer.receive_data(data)
            return self._take_answers()
        except h11.RemoteProtocolError as error:
            if data or not self.pending.startswith(_BEGINNING[: len(self.pending)]):
                self.fault = f"no HTTP response ({error})"
        return ()

    def _take_answers(self) -> list[Answer]:
        found: list[Answer] = []
        while True:
            event = self._peer.next_event()
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._size += len(event.data)
                self._is_telling = self._is_telling or bool(bytes(event.data).strip())
                if self._size > BODY_LIMIT + TOLD_TIMES * self._volume.sent:
                    self.fault = "the response never ends"
            elif isinstance(event, h11.EndOfMessage):
                found.append(Answer(self._kind(), self.pending))
                rest, _ = self._peer.trailing_data
                self.pending, self._size, self._is_telling = rest, 0, False
                self._peer = _peer(self._method)
                if not rest:
                    return found
                self._peer.receive_data(rest)
            elif not isinstance(event, h11.InformationalResponse):
                return found

    def _kind(self) -> str:
        kind = f"HTTP {self._status}"
        is_silent = self._status >= OWN_FAULT and not self._is_telling and self._method != "HEAD"
        return f"{kind} {UNEXPLAINED}" if is_silent else kind


def expect_http(data: bytes, case: Case | None = None) -> Expectation:
    """Return the valid responses: one if `data` is a complete and well-formed request.

    After a half-close no response is required: many servers then abandon the request.
    """
    if case is not None and any(isinstance(step.style, HalfClose) for step in case.steps):
        return Expectation((Owed(STATUSES, "may", optional=True),), certain=False)
    head, mark, rest = data.partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    values = headers_of(fields) or {}
    length = values.get(b"content-length", b"0")
    sound = (
        bool(mark)
        and _LINE.fullmatch(line) is not None
        and b"host" in values
        and b"transfer-encoding" not in values
        and b"expect" not in values
        and length.isdigit()
        and len(length) < 10
    )
    if not sound:
        return Expectation((Owed(STATUSES, "may", optional=True),), certain=False)
    if int(length) > len(rest):
        return Expectation((Owed(STATUSES, "may", optional=True),), certain=False, waits=True)
    owed = Owed(STATUSES)
    if int(length) < len(rest):
        return Expectation((owed,), certain=False)
    return Expectation((owed,))


def headers_of(fields: Sequence[bytes]) -> dict[bytes, bytes] | None:
    """Return headers by lower-case name; None if one is malformed or occurs twice."""
    pairs = [found for field in fields if (found := _FIELD.fullmatch(field))]
    values = {pair[1].lower(): pair[2] for pair in pairs}
    return values if len(pairs) == len(fields) == len(values) else None


def reader(case: Case, volume: Volume | None = None) -> HttpReader:
    """Return a reader for the responses to a case; `volume` counts the bytes stored so far."""
    return HttpReader("HEAD" if case.steps[0].data.startswith(b"HEAD ") else "POST", volume)


def _peer(method: str) -> h11.Connection:
    peer = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    peer.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    peer.send(h11.EndOfMessage())
    return peer
