"""One blocking connection to an Apache Iggy server, with its client id, session and numbers.

Every request gets a number of its own: all known clients advance the number for sends as well, the
server does not track it for reads, and so each reply is found by its request.
"""

import secrets
from collections.abc import Callable
from socket import socket
from typing import Final

from msgspec.structs import replace

from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Answer, Evicted, Replied, Unanswered
from wireproof_kit.iggy.wire.connection import repeated_bytes
from wireproof_kit.runner.patience import ANSWER, Patience, Wait, machine_load
from wireproof_kit.wire import connection as wire
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.frames import (
    Frame,
    FrameReader,
    NeedMore,
    Reply,
    decode_answer,
    encode_answer,
)
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.wire_error import WireError

MEGABYTE: Final = 1024 * 1024
FRAME_LIMIT: Final = MEGABYTE
"""The longest frame, in bytes, to a case that sent nothing."""
BYTES_LIMIT: Final = 4 * MEGABYTE
UNREAD_BYTES: Final = 256 * 1024
CHECK: Final = "one more ping, to see whether the connection goes on"


class Frames:
    """Decodes answers; the limit on received bytes grows with the bytes sent."""

    values = "answers"

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._reader = FrameReader(FRAME_LIMIT)

    @property
    def bytes_limit(self) -> int:
        """Return how many bytes the target may have sent so far; more are an error."""
        return BYTES_LIMIT + repeated_bytes(self._transcript, 2 * self._transcript.sent)

    @property
    def pending(self) -> bytes:
        """Return the received bytes that do not form a complete answer yet."""
        return self._reader.pending

    def feed(self, data: bytes) -> None:
        """Add received bytes to decode."""
        self._reader.feed(data)

    def next(self) -> Frame | NeedMore:
        """Return the next frame, or NEED_MORE if it is incomplete.

        Raises:
            WireError: the frame is no answer, or longer than the requests sent can cause.
        """
        self._reader.limit = FRAME_LIMIT + self._transcript.sent
        frame = self._reader.next_frame()
        if not isinstance(frame, NeedMore):
            decode_answer(frame)
        return frame


class Connection(wire.Closing):
    """A client connection of one case to an Apache Iggy server; not thread-safe."""

    def __init__(
        self, sock: socket, *, transcript: Transcript, patience: Patience, address: Address
    ) -> None:
        self._wire: wire.Wire[Frame, Answer] = wire.Wire(
            sock,
            Frames(transcript),
            self._answer,
            transcript=transcript,
            address=address,
            unread=UNREAD_BYTES,
        )
        self._patience = patience
        self.client = secrets.randbits(127) + 1
        self.session = 0
        self.number = 0
        """The number of the request before."""

    def header(self, operation: int, *, code: int = 0) -> RequestHeader:
        """Return the header of the next request of this connection; it uses up a number."""
        self.number += 1
        return RequestHeader(
            client=self.client,
            request=self.number,
            operation=operation,
            session=self.session,
            code=code,
        )

    def request(self, operation: int, body: Outgoing | bytes = b"", *, code: int = 0) -> Outgoing:
        """Return the bytes of the next request of this connection.

        As the SDK in Rust does, metadata operations carry the checksum of their body, so that any
        reply to one shows whether it is echoed.
        """
        header = self.header(operation, code=code)
        if operation in operations.METADATA:
            data = body if isinstance(body, bytes) else body.data
            header = replace(header, request_checksum=xxh3_64(data))
        return requests.frame(header, body)

    def read(self, code: int, body: Outgoing | bytes = b"") -> Outgoing:
        """Return the bytes of the next request, for a read."""
        return self.request(operations.NON_REPLICATED, body, code=code)

    def ping(self) -> Outgoing:
        """Return a ping."""
        return self.read(operations.PING)

    def send(self, outgoing: Outgoing) -> None:
        """Send all bytes; if the peer has closed, the next receive returns Closed."""
        self._wire.record("send", outgoing.data, parts=outgoing.parts, note=outgoing.what)
        self._wire.write(outgoing.data)

    def send_unrecorded(self, outgoing: Outgoing, note: str) -> None:
        """Send secret bytes, such as a password; the transcript gets only ``note``."""
        self._wire.record("note", note=note)
        self._wire.write(outgoing.data)

    def receive(self, wait: Wait = ANSWER) -> Answer:
        """Return the next answer, or why none came within the time limit of ``wait``."""
        seconds = self._patience.seconds(wait) * machine_load()
        answer = next(self._wire.answers(seconds), None)
        return self._wire.explain_nothing(seconds, self._cut_off) if answer is None else answer

    def ask(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send a request and return its answer; late answers to earlier requests are skipped."""
        self.send(outgoing)
        return self.receive_of(outgoing, wait)

    def receive_of(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Return the answer to a request that was sent, or to one sent behind it.

        An answer of another shape than a reply is taken for that of the request.
        """
        number = requests.number_of(outgoing)
        while True:
            answer = self.receive(wait)
            if not isinstance(answer, Replied) or answer.header.request >= number:
                return answer

    def ask_before(
        self, outgoing: Outgoing, behind: Callable[[], Outgoing] | None = None, *, secret: str = ""
    ) -> Answer:
        """Send a request with another one behind it, by default a ping.

        Return the answer to the first one, or `Unanswered` once the other one was answered and a
        ping behind them was answered, too. What must be answered later than the first one has to
        go its way. With ``secret``, the transcript has that note in place of the first one.
        """
        if secret:
            self.send_unrecorded(outgoing, secret)
        else:
            self.send(outgoing)
        self.send((behind or self.ping)())
        answer = self.receive_of(outgoing)
        if not isinstance(answer, Replied) or _is_of(outgoing, answer):
            return answer
        self.send(self.ping())
        answer = self.receive_of(outgoing)
        if isinstance(answer, Replied) and not _is_of(outgoing, answer):
            return Unanswered(answer.step)
        return answer

    def goes_on(self) -> str:
        """Ping on this connection; return in what state the connection is.

        ``open``, ``closed``, ``stuck`` (no answer), or ``broken`` (no answer of a ping).
        """
        answer = self.ask(self.ping().rename(CHECK))
        if isinstance(answer, Replied):
            return "open" if answer.is_accepted and not answer.body else "broken"
        return {"closed": "closed", "silent": "stuck"}.get(answer.kind, "broken")

    @property
    def has_ended(self) -> bool:
        """Return True if either side is known to have closed the connection."""
        return self._wire.has_ended

    def close(self) -> None:
        """Close the connection and record unread bytes; a second call does nothing."""
        self._wire.close(self._record_unread)

    def _answer(self, frame: Frame) -> Answer:
        answer = decode_answer(frame)
        raw = encode_answer(answer)
        step = self._wire.record("receive", raw)
        return (
            Replied(answer, raw, step) if isinstance(answer, Reply) else Evicted(answer, raw, step)
        )

    def _record_unread(self) -> None:
        for frame in self._wire.left_unread():
            self._answer(frame)
        if unread := self._wire.pending:
            self._wire.record("receive", unread[: wire.CHUNK], note="left unread")

    def _cut_off(self, pending: bytes) -> WireError:
        self._wire.record("receive", pending[: wire.CHUNK], note="cut off")
        return WireError(
            clause="iggy.apache.frame.size",
            field="body",
            offset=len(pending),
            expected="the rest of the answer",
            found="the end of the connection",
        )


def _is_of(outgoing: Outgoing, answer: Replied) -> bool:
    return answer.header.request == requests.number_of(outgoing)


def connect_socket(address: Address) -> socket:
    """Return a socket connected to an address.

    Raises:
        TargetUnreachable: no connection is accepted there.
    """
    return wire.connect_socket(address, "iggy")
