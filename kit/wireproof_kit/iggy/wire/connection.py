"""One blocking connection to an Iggy server, with deadlines and a transcript of every byte.

A send to a peer that has gone does not raise: the next receive says Closed.
"""

from socket import socket
from typing import Final

from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer, Done, ErrorStatus
from wireproof_kit.runner.patience import ANSWER, Patience, Wait, machine_load
from wireproof_kit.wire import connection as wire
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.frame import RESPONSE, NeedMore, Response, ResponseReader
from wireproof_spec.iggy.frame import response as encode_response
from wireproof_spec.iggy.statuses import OK
from wireproof_spec.wire_error import WireError

MEGABYTE: Final = 1024 * 1024
BODY_LIMIT: Final = MEGABYTE
"""The longest response body, in bytes, to a case that sent nothing, such as a list of topics."""
BYTES_LIMIT: Final = 4 * MEGABYTE
# The smallest message takes 25 bytes where it is sent, and 46 where it is polled.
GROWTH: Final = 2
POLLS: Final = 4
"""How many times a case may at least poll everything it sent, on one connection."""
MOST_REPEATED: Final = 64 * MEGABYTE
"""The most bytes that a case may poll by more polls than that."""


def repeated_bytes(transcript: Transcript, once: int) -> int:
    """Return how many bytes the requests of a case may bring if each brings ``once`` at most."""
    return max(POLLS * once, min(transcript.requests * once, MOST_REPEATED))


class Answers:
    """Decodes responses; the limit on received bytes grows with the bytes sent."""

    values = "answers"

    def __init__(self, transcript: Transcript, *, counts_status: bool) -> None:
        self._transcript = transcript
        self._reader = ResponseReader(BODY_LIMIT, counts_status=counts_status)
        self._bytes = 0
        self._most_unasked: int | None = None

    @property
    def bytes_limit(self) -> int:
        """Return how many bytes the target may have sent so far; more are an error."""
        if self._most_unasked is not None:
            return self._most_unasked
        return BYTES_LIMIT + repeated_bytes(self._transcript, GROWTH * self._transcript.sent)

    @property
    def pending(self) -> bytes:
        """Return the received bytes that do not form a complete response yet."""
        return self._reader.pending

    def expect_little(self) -> None:
        """Allow few bytes while a request is being sent, since no response is due yet."""
        self._most_unasked = self._bytes + BODY_LIMIT

    def expect_answers(self) -> None:
        """From now on, allow as many bytes as the requests sent so far can cause."""
        self._most_unasked = None

    def feed(self, data: bytes) -> None:
        """Add received bytes to decode."""
        self._bytes += len(data)
        self._reader.feed(data)

    def next(self) -> Response | NeedMore:
        """Return the next response, or NEED_MORE if it is incomplete.

        Raises:
            WireError: the body is longer than the requests sent can cause.
        """
        self._reader.limit = BODY_LIMIT + GROWTH * self._transcript.sent
        return self._reader.next_response()


# As for NSQ: closing a socket with unread bytes would send a reset.
UNREAD_BYTES = 256 * 1024
CHECK = "one more ping, to see whether the connection goes on"


class Connection(wire.Closing):
    """A client connection of one case to an Iggy server; not thread-safe.

    ``counts_status``: the length of a success also counts its status.
    """

    def __init__(
        self,
        sock: socket,
        *,
        transcript: Transcript,
        patience: Patience,
        address: Address,
        counts_status: bool = False,
    ) -> None:
        self._counts_status = counts_status
        self._incoming = Answers(transcript, counts_status=counts_status)
        self._wire: wire.Wire[Response, Answer] = wire.Wire(
            sock,
            self._incoming,
            self._answer,
            transcript=transcript,
            address=address,
            unread=UNREAD_BYTES,
        )
        self._patience = patience
        self.name = self._wire.name

    def send(self, outgoing: Outgoing) -> None:
        """Send all bytes; if the peer has closed, the next receive returns Closed."""
        self._wire.record("send", outgoing.data, parts=outgoing.parts, note=outgoing.what)
        self._write(outgoing.data)

    def send_unrecorded(self, outgoing: Outgoing, note: str) -> None:
        """Send secret bytes, such as a password; the transcript gets only ``note``."""
        self._wire.record("note", note=note)
        self._write(outgoing.data)

    def receive(self, wait: Wait = ANSWER) -> Answer:
        """Return the next response, or why none came within the time limit of ``wait``."""
        return self.receive_within(self.seconds(wait))

    def ask(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send a request and return the response."""
        self.send(outgoing)
        return self.receive(wait)

    def goes_on(self) -> str:
        """Ping on this connection; return in what state the connection is.

        ``open``, ``closed``, ``stuck`` (no response), ``nonsense`` (no valid response), or
        ``broken``: the response is not that of a ping.
        """
        answer = self.ask(requests.ping().rename(CHECK))
        if isinstance(answer, Done):
            return "broken" if answer.body else "open"
        states = {"closed": "closed", "silent": "stuck", "nonsense": "nonsense"}
        return states.get(answer.kind, "broken")

    @property
    def has_ended(self) -> bool:
        """Return True if either side is known to have closed the connection."""
        return self._wire.has_ended

    def receive_within(self, seconds: float) -> Answer:
        """Return the next response, or why none arrived within the given seconds."""
        answer = next(self._wire.answers(seconds), None)
        if answer is not None:
            return answer
        return self._wire.explain_nothing(seconds, self._cut_off)

    def seconds(self, wait: Wait) -> float:
        """Return the time limit of a wait in seconds, longer while this machine is busy.

        Every wait is one for a response: an Iggy server sends nothing without a request.
        """
        return self._patience.seconds(wait) * machine_load()

    def close(self) -> None:
        """Close the connection and record unread bytes; a second call does nothing."""
        self._wire.close(self._record_unread)

    def _answer(self, response: Response) -> Answer:
        data = encode_response(response.status, response.body, counts_status=self._counts_status)
        step = self._wire.record("receive", data)
        if response.status == OK:
            return Done(response.body, step)
        return ErrorStatus(response.status, response.body, step)

    def _record_unread(self) -> None:
        if unread := self._wire.pending:
            self._wire.record("receive", unread[: wire.CHUNK], note="left unread")

    def _cut_off(self, pending: bytes) -> WireError:
        self._wire.record("receive", pending[: wire.CHUNK], note="cut off")
        return WireError(
            clause=RESPONSE.clause,
            field="body",
            offset=len(pending),
            expected="the rest of the answer",
            found="the end of the connection",
        )

    def _write(self, data: bytes) -> None:
        self._incoming.expect_little()
        self._wire.write(data)
        self._incoming.expect_answers()


def connect_socket(address: Address) -> socket:
    """Return a socket connected to an address.

    Raises:
        TargetUnreachable: no connection is accepted there.
    """
    return wire.connect_socket(address, "iggy")
