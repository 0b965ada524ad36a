"""One blocking connection to a broker, with deadlines and a transcript of every byte.

Heartbeats are answered wherever they come. A send to a peer that has gone does not raise: the
next receive says Closed.
"""

import ssl
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from socket import socket
from typing import Final

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import (
    Answer,
    Closed,
    ErrorFrame,
    Nonsense,
    Pushed,
    Response,
    Silent,
    refusal,
)
from wireproof_kit.runner.patience import ANSWER, LONGEST_WAIT, Patience, Wait, machine_load
from wireproof_kit.wire.address import format_address
from wireproof_kit.wire.connection import Closing, Wire
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import Deadline
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.error_codes import E_FAILED_ON_NOT_WRITABLE
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    SERVER_FRAME,
    FrameReader,
    NeedMore,
    ServerFrame,
)
from wireproof_spec.nsq.names import HEARTBEAT, OK
from wireproof_spec.wire_error import WireError

# Beyond what real brokers allow in one message (1 MiB by default) and in one body (5 MiB).
FRAME_LIMIT: Final = 16 * 1024 * 1024
BYTES_LIMIT: Final = 64 * 1024 * 1024


class Frames:
    """Decodes frames from received bytes; the limit on received bytes is constant."""

    values = "frames"

    def __init__(self) -> None:
        self._reader = FrameReader(FRAME_LIMIT)

    @property
    def bytes_limit(self) -> int:
        """Return how many bytes the target may have sent; more are an error."""
        return BYTES_LIMIT

    @property
    def pending(self) -> bytes:
        """Return the received bytes that do not form a complete frame yet."""
        return self._reader.pending

    def feed(self, data: bytes) -> None:
        """Add received bytes to decode."""
        self._reader.feed(data)

    def next(self) -> ServerFrame | NeedMore:
        """Return the next frame, or NEED_MORE if it is incomplete.

        Raises:
            WireError: the size is below 4 or over the limit.
        """
        return self._reader.next_frame()


__all__ = [
    "GOES_ON",
    "Answer",
    "Closed",
    "Connection",
    "ErrorFrame",
    "Nonsense",
    "Pushed",
    "Response",
    "Silent",
]

GOES_ON = b"wp:goes-on"
# Closing a socket with unread bytes sends a reset, which could destroy what the target has
# yet to read; so up to this much is read first, and some of it is recorded.
UNREAD_BYTES = 1024 * 1024
UNREAD_FRAMES = 20
# A cluster that could not write a message makes the partition unwritable while it checks it.
WRITABLE_SECONDS = 10.0
PAUSE_SECONDS = 0.05


class Connection(Closing):
    """A client connection of one case to an NSQ broker; not thread-safe.

    ``heartbeats`` counts the received ones; they are answered while ``answers_heartbeats``.
    """

    def __init__(
        self, sock: socket, *, transcript: Transcript, patience: Patience, address: Address
    ) -> None:
        self._wire: Wire[ServerFrame, Answer] = Wire(
            sock,
            Frames(),
            self._answer,
            transcript=transcript,
            address=address,
            unread=UNREAD_BYTES,
        )
        self._patience = patience
        self._kept: deque[Pushed] = deque()
        self._half_closed = False
        self._is_within_frame = False
        self._nops_owed = 0
        self.heartbeats = 0
        self.answers_heartbeats = True
        self._address = address
        self.identified: Answer | None = None
        self.make_fresh: Callable[[Topic], Connection] | None = None
        """Opens another connection to the node of a topic, for comparison."""
        self.name = self._wire.name

    def send(self, outgoing: Outgoing) -> None:
        """Send all bytes; if the peer has closed the connection, the next receive returns Closed.

        A heartbeat that arrives between two pieces of a frame is answered after the frame.
        """
        self._wire.record("send", outgoing.data, parts=outgoing.parts, note=outgoing.what)
        self._wire.write(outgoing.data)
        self._is_within_frame = outgoing.is_cut
        self._answer_heartbeats()

    @property
    def sock(self) -> socket:
        """The connection's socket, for code that continues with another protocol on it."""
        return self._wire.sock

    @property
    def place(self) -> str:
        """Return a name for the broker at the other end of the connection."""
        return f"nsq://{format_address(self._address)}"

    def secure(self, context: ssl.SSLContext, seconds: float) -> None:
        """Switch the connection to TLS.

        Raises:
            TimeoutError: the handshake is not done within so many seconds.
            OSError: the handshake failed; ssl.SSLCertVerificationError for a bad certificate.
        """
        self._wire.secure(context, seconds)

    def show_secret(self, secret: bytes) -> None:
        """Send AUTH with a secret, and mask the secret in the transcript from now on."""
        self._wire.hide(secret)
        self.send(frames.auth(secret))

    def receive(self, wait: Wait = ANSWER) -> Answer:
        """Return the next frame, or why none came in time; heartbeats are only answered."""
        return self.receive_within(self.seconds(wait))

    def ask(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send a command and return the response; earlier messages are kept for receive."""
        self.send(outgoing)
        deadline = Deadline(self.seconds(wait))
        while True:
            answer = self._next_within(deadline.rest())
            if not isinstance(answer, Pushed):
                return answer
            self._kept.append(answer)

    def goes_on(self, topic: Topic) -> str:
        """Publish on this connection again; return in what state the connection is.

        ``open``, ``closed``, ``stuck`` (no answer), ``nonsense`` (an answer that is no frame), or
        ``broken``: the answer is not one to the frame just sent. If the partition is not
        writable for a while, the publish is repeated, as the published text expects of clients.

        Raises:
            ArrangementFailed: the partition was not writable all that time, as on a busy cluster.
        """
        deadline = time.monotonic() + WRITABLE_SECONDS
        answer = self._one_more(topic)
        while _is_not_writable(answer) and self._pause(deadline):
            answer = self._one_more(topic)
        if _is_not_writable(answer):
            raise ArrangementFailed(
                f"the partition was not writable for {WRITABLE_SECONDS:g} s after the answer"
            )
        if isinstance(answer, Response):
            return "open" if answer.data == OK or self._is_usual(topic, answer) else "broken"
        states = {"closed": "closed", "silent": "stuck", "nonsense": "nonsense"}
        return states.get(answer.kind, "broken")

    @property
    def has_ended(self) -> bool:
        """Return True if either side is known to have closed the connection."""
        return self._wire.has_ended

    def half_close(self) -> None:
        """Close the sending direction only; heartbeats then stay unanswered."""
        self._half_closed = True
        self._wire.half_close()

    def close(self) -> None:
        """Close the connection and record unread bytes; a second call does nothing."""
        self._wire.close(self._record_unread)

    def receive_within(self, seconds: float) -> Answer:
        """Return the next frame that arrives within the given seconds, or why none did."""
        if self._kept:
            return self._kept.popleft()
        return self._next_within(seconds)

    def _is_usual(self, topic: Topic, answer: Response) -> bool:
        """Return True if a publish on a fresh connection is answered in the same way.

        Then this connection is in step, and the form of the answer is another clause's matter.
        """
        if self.make_fresh is None:
            return False
        with self.make_fresh(topic) as fresh:
            again = fresh._one_more(topic)
        return isinstance(again, Response) and again.data == answer.data

    def _one_more(self, topic: Topic) -> Answer:
        if topic.extend:
            frame = frames.pub_ext(topic, {"goes": "on"}, GOES_ON)
        else:
            frame = frames.pub(topic, GOES_ON)
        return self.ask(frame.rename("one more publish, to see whether the connection goes on"))

    def _pause(self, deadline: float) -> bool:
        """Wait a moment; return False when the deadline has passed."""
        now = time.monotonic()
        self._wire.pause(min(now + PAUSE_SECONDS, deadline))
        return now < deadline

    def _next_within(self, seconds: float) -> Answer:
        answer = next(self._wire.answers(seconds), None)
        if answer is not None:
            return answer
        return self._wire.explain_nothing(seconds, _cut_off)

    def _answer(self, frame: ServerFrame) -> Answer | None:
        """Turn a frame into an answer; reply to a heartbeat and return None for it."""
        data = frame.data
        heartbeat = frame.frame_type == FRAME_TYPE_RESPONSE and data == HEARTBEAT
        note = "heartbeat" if heartbeat else ""
        step = self._wire.record("receive", encode(SERVER_FRAME, frame), note=note)
        if heartbeat:
            self.heartbeats += 1
            self._nops_owed += 1
            self._answer_heartbeats()
            return None
        if frame.frame_type == FRAME_TYPE_RESPONSE:
            return Response(data, step)
        if frame.frame_type == FRAME_TYPE_ERROR:
            return refusal(data, step)
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            return Pushed(data, step)
        return Nonsense(_unknown_type(frame.frame_type), step)

    def _answer_heartbeats(self) -> None:
        if self._is_within_frame or self._half_closed or not self.answers_heartbeats:
            return
        while self._nops_owed:
            self._nops_owed -= 1
            self.send(frames.nop())

    def _record_unread(self) -> None:
        for frame in islice(self._wire.left_unread(), UNREAD_FRAMES):
            self._wire.record("receive", encode(SERVER_FRAME, frame), note="left unread")

    def seconds(self, wait: Wait) -> float:
        """Return the time limit of one wait in seconds, longer while this machine is busy."""
        seconds = self._patience.seconds(wait)
        if not (wait is ANSWER or self._patience.in_rounds):
            return seconds
        return max(seconds, min(seconds * machine_load(), LONGEST_WAIT))


def _is_not_writable(answer: Answer) -> bool:
    return isinstance(answer, ErrorFrame) and answer.code == E_FAILED_ON_NOT_WRITABLE


def _cut_off(pending: bytes) -> WireError:
    return WireError(
        clause="kit",
        field="frame",
        offset=len(pending),
        expected="the rest of the frame",
        found="the end of the connection",
    )


def _unknown_type(found: int) -> WireError:
    return WireError(
        clause="kit", field="frame_type", offset=4, expected="0, 1 or 2", found=str(found)
    )
