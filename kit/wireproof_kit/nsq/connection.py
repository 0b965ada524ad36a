"""One connection to a broker: blocking, with deadlines, every byte recorded.

Waits are polls with a deadline on a non-blocking socket. While writing, what comes is read
too, so that an error frame sent before a reset is never lost. A send to a peer that has gone
does not raise: the next receive says Closed.
"""

import select
import socket
import ssl
import time
from collections import deque
from types import TracebackType
from typing import Self

from wireproof_kit.nsq import frames
from wireproof_kit.nsq.answers import (
    Answer,
    Closed,
    Nonsense,
    Pushed,
    Refusal,
    Response,
    Silent,
    refusal,
)
from wireproof_kit.nsq.incoming import Incoming
from wireproof_kit.nsq.outgoing import Outgoing
from wireproof_kit.nsq.topics import Address, Topic
from wireproof_kit.patience import ANSWER, Patience, Wait, machine_load
from wireproof_kit.transcript import IN_TLS, Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.error_codes import E_FAILED_ON_NOT_WRITABLE
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    SERVER_FRAME,
    ServerFrame,
)
from wireproof_spec.nsq.names import HEARTBEAT, OK
from wireproof_spec.wire_error import WireError

__all__ = [
    "GOES_ON",
    "Answer",
    "Closed",
    "Connection",
    "Nonsense",
    "Pushed",
    "Refusal",
    "Response",
    "Silent",
]

GOES_ON = b"wp:goes-on"
CHUNK = 65536
MASK = b"*"
SEND_SECONDS = 10.0
UNREAD_FRAMES = 20
# Many cases close at once: what each takes off an endless target adds up.
UNREAD_CHUNKS = 16
# A cluster that could not write a message makes the partition unwritable while it checks it.
WRITABLE_SECONDS = 10.0
PAUSE_SECONDS = 0.05


class Connection:
    """A client connection of one case; not for several threads.

    ``heartbeats`` is how many have come so far.
    """

    def __init__(
        self, sock: socket.socket, *, transcript: Transcript, patience: Patience, address: Address
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._patience = patience
        self._transcript = transcript
        self._incoming = Incoming()
        self._kept: deque[Pushed] = deque()
        self._ended: str | None = None
        self._shut = False
        self._half_closed = False
        self._is_within_frame = False
        self._nops_owed = 0
        self.heartbeats = 0
        self._address = address
        self._secret = b""
        self.identified: Answer | None = None
        self.name = transcript.connection_label()
        transcript.add("open", self.name, note=f"{address[0]}:{address[1]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, outgoing: Outgoing) -> None:
        """Write all bytes in one go; a peer that has gone is noticed at the next receive.

        A heartbeat that comes between two pieces of a frame is answered behind the frame.
        """
        self._record("send", outgoing.data, outgoing)
        self._write(outgoing.data)
        self._is_within_frame = outgoing.is_cut
        self._answer_heartbeats()

    @property
    def place(self) -> str:
        """Name what is at the other end."""
        return f"nsq://{self._address[0]}:{self._address[1]}"

    def secure(self, context: ssl.SSLContext, seconds: float) -> None:
        """Go on in TLS.

        Raises:
            TimeoutError: the handshake is not done within so many seconds.
            OSError: it failed; ssl.SSLCertVerificationError when the certificate did.
        """
        deadline = time.monotonic() + seconds
        inside = context.wrap_socket(
            self._sock, server_hostname=self._address[0], do_handshake_on_connect=False
        )
        self._sock = inside
        while True:
            try:
                inside.do_handshake()
            except ssl.SSLWantReadError:
                if not self._is_ready(select.POLLIN, deadline):
                    raise TimeoutError from None
            else:
                break
        self._transcript.add("note", self.name, note=f"{IN_TLS} ({inside.version()})")

    def show_secret(self, secret: bytes) -> None:
        """Say AUTH; neither this nor anything later on the connection records the secret."""
        self._secret = secret
        self.send(frames.auth(secret))

    def receive(self, wait: Wait = ANSWER) -> Answer:
        """Return what comes next; heartbeats are answered and never returned."""
        return self.receive_within(self.seconds(wait))

    def ask(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send, and return what is answered; messages pushed meanwhile are kept for receive."""
        self.send(outgoing)
        deadline = time.monotonic() + self.seconds(wait)
        while True:
            answer = self._next_within(max(0.0, deadline - time.monotonic()))
            if not isinstance(answer, Pushed):
                return answer
            self._kept.append(answer)

    def goes_on(self, topic: Topic) -> str:
        """Publish once more on this connection: ``open``, ``closed``, ``broken`` or ``stuck``.

        ``broken`` means that the answer is not that of the frame just sent. A partition that
        cannot be written for a while is asked again, as the published text expects of clients.
        """
        deadline = time.monotonic() + WRITABLE_SECONDS
        answer = self._one_more(topic)
        while _is_not_writable(answer) and self._pause(deadline):
            answer = self._one_more(topic)
        if isinstance(answer, Response):
            return "open" if answer.data == OK else "broken"
        states = {"closed": "closed", "silent": "stuck"}
        return states.get(answer.kind, "broken")

    @property
    def has_ended(self) -> bool:
        """Tell whether the connection is known to be closed, by either side."""
        return self._shut or self._ended is not None

    def half_close(self) -> None:
        """End the sending direction only; heartbeats then stay without an answer."""
        self._half_closed = True
        self._transcript.add("close", self.name, note="sending direction only")
        try:
            # Not SSLSocket's own, which would take what is still to come for unencrypted.
            socket.socket.shutdown(self._sock, socket.SHUT_WR)
        except OSError:
            self._lost("reset")

    def close(self) -> None:
        """End the connection; again does nothing.

        What came and was not read is recorded, and taken from the socket: closing over unread
        bytes would reset the connection and might cost the target what was sent last.
        """
        if self._shut:
            return
        self._shut = True
        self._drain()
        for _ in range(UNREAD_FRAMES):
            frame = self._incoming.next()
            if frame is None:
                break
            data = self._masked(encode(SERVER_FRAME, frame))
            self._transcript.add("receive", self.name, data=data, note="left unread")
        self._sock.close()
        if self._ended is None:
            self._transcript.add("close", self.name, note="by the kit")

    def receive_within(self, seconds: float) -> Answer:
        """Return what comes next within so many seconds."""
        if self._kept:
            return self._kept.popleft()
        return self._next_within(seconds)

    def _one_more(self, topic: Topic) -> Answer:
        if topic.extend:
            frame = frames.pub_ext(topic, {"goes": "on"}, GOES_ON)
        else:
            frame = frames.pub(topic, GOES_ON)
        return self.ask(frame.called("one more publish, to see whether the connection goes on"))

    def _pause(self, deadline: float) -> bool:
        """Let a moment pass; False when the deadline has passed."""
        now = time.monotonic()
        self._wait(select.POLLIN, min(now + PAUSE_SECONDS, deadline))
        return now < deadline

    def _next_within(self, seconds: float) -> Answer:
        deadline = time.monotonic() + seconds
        late = False
        while True:
            frame = self._incoming.next()
            if frame is not None:
                answer = self._answer(frame)
                if answer is not None:
                    return answer
            elif self._incoming.fault is not None:
                return self._nonsense(self._incoming.fault)
            elif self._ended is not None:
                return self._end()
            elif late or not self._wait(select.POLLIN, deadline):
                return self._silence(seconds)
            else:  # a target that sends for ever gets one look past the deadline, no more
                late = time.monotonic() >= deadline

    def _answer(self, frame: ServerFrame) -> Answer | None:
        """Turn a frame into an answer; a heartbeat is answered and gives None."""
        data = frame.data
        heartbeat = frame.frame_type == FRAME_TYPE_RESPONSE and data == HEARTBEAT
        note = "heartbeat" if heartbeat else ""
        self._transcript.add(
            "receive", self.name, data=self._masked(encode(SERVER_FRAME, frame)), note=note
        )
        if heartbeat:
            self.heartbeats += 1
            self._nops_owed += 1
            self._answer_heartbeats()
            return None
        if frame.frame_type == FRAME_TYPE_RESPONSE:
            return Response(data)
        if frame.frame_type == FRAME_TYPE_ERROR:
            return refusal(data)
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            return Pushed(data)
        return Nonsense(_unknown_type(frame.frame_type))

    def _answer_heartbeats(self) -> None:
        if self._is_within_frame or self._half_closed:
            return
        while self._nops_owed:
            self._nops_owed -= 1
            self.send(frames.nop())

    def _nonsense(self, fault: WireError) -> Nonsense:
        if self._ended is None:
            self._record("receive", self._incoming.pending[:CHUNK])
            self._ended = "nonsense"
        return Nonsense(fault)

    def _end(self) -> Answer:
        pending = self._incoming.pending
        if not pending:
            return Closed(self._ended or "end")
        return Nonsense(
            WireError(
                clause="kit",
                field="frame",
                offset=len(pending),
                expected="the rest of the frame",
                found="the end of the connection",
            )
        )

    def _silence(self, seconds: float) -> Silent:
        pending = self._incoming.pending
        note = f"nothing whole within {seconds:.2f} s"
        self._transcript.add("note", self.name, data=self._masked(pending[:CHUNK]), note=note)
        return Silent(seconds, partial=len(pending))

    def _write(self, data: bytes) -> None:
        deadline = time.monotonic() + SEND_SECONDS
        left = memoryview(data)
        while left and self._ended is None:
            if not self._wait(select.POLLIN | select.POLLOUT, deadline):
                self._transcript.add(
                    "note", self.name, note=f"the peer did not take {len(left)} bytes"
                )
                return
            try:
                left = left[self._sock.send(left) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            except OSError:
                self._drain()
                self._lost("reset")

    def _wait(self, events: int, deadline: float) -> bool:
        """Wait for events, take what has come; False when the deadline has passed."""
        ready = self._is_ready(events, deadline)
        if ready & ~select.POLLOUT:
            self._take()
        return bool(ready)

    def _is_ready(self, events: int, deadline: float) -> int:
        """Wait for events and return which there are; 0 when the deadline has passed."""
        poll = select.poll()
        poll.register(self._sock, events)
        left_ms = max(0.0, deadline - time.monotonic()) * 1000
        ready = poll.poll(left_ms)
        return ready[0][1] if ready else 0

    def _take(self) -> bool:
        """Take one piece of what has come; False when there is none, or the end was reached."""
        try:
            piece = self._sock.recv(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            self._lost("reset")
            return False
        if not piece:
            self._lost("end")
            return False
        self._incoming.feed(piece)
        return self._incoming.fault is None

    def _drain(self) -> None:
        """Take what has come, the first megabyte of it."""
        for _ in range(UNREAD_CHUNKS):
            if not self._take():
                break

    def _lost(self, how: str) -> None:
        if self._ended is None:
            self._ended = how
            self._transcript.add("close", self.name, note=f"by the target ({how})")

    def _record(self, kind: str, data: bytes, outgoing: Outgoing | None = None) -> None:
        parts = outgoing.parts if outgoing else ()
        what = outgoing.what if outgoing else ""
        self._transcript.add(kind, self.name, data=self._masked(data), parts=parts, note=what)

    def _masked(self, data: bytes) -> bytes:
        """Return bytes with the secret made unreadable; its place and size stay."""
        if not self._secret:
            return data
        return data.replace(self._secret, MASK * len(self._secret))

    def seconds(self, wait: Wait) -> float:
        """Return the budget of one wait; more while this machine is busy, where that delays it."""
        seconds = self._patience.seconds(wait)
        scales = wait is ANSWER or self._patience.in_rounds
        return seconds * machine_load() if scales else seconds


def _is_not_writable(answer: Answer) -> bool:
    return isinstance(answer, Refusal) and answer.code == E_FAILED_ON_NOT_WRITABLE


def _unknown_type(found: int) -> WireError:
    return WireError(
        clause="kit", field="frame_type", offset=4, expected="0, 1 or 2", found=str(found)
    )
