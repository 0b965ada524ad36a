"""One connection to a server: blocking, with deadlines, every byte recorded.

Waits are polls with a deadline on a non-blocking socket. While writing, what comes is read too,
so that an answer before a reset is never lost. A send to a peer that has gone does not raise: the
next receive says Closed.
"""

import select
import socket
import time
from types import TracebackType
from typing import Self

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.http import Address
from wireproof_kit.iggy import requests
from wireproof_kit.iggy.answers import Answer, Closed, Done, Nonsense, Refused, Silent
from wireproof_kit.iggy.incoming import Incoming
from wireproof_kit.outgoing import Outgoing
from wireproof_kit.patience import ANSWER, Patience, Wait, machine_load
from wireproof_kit.transcript import Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.frame import RESPONSE, Response
from wireproof_spec.iggy.statuses import OK
from wireproof_spec.wire_error import WireError

CONNECT_SECONDS = 5.0
SEND_SECONDS = 10.0
CHUNK = 65536
# Many cases close at once: what each takes off an endless target adds up.
UNREAD_CHUNKS = 4
CHECK = "one more ping, to see whether the connection goes on"


class Connection:
    """A client connection of one case; not for several threads."""

    def __init__(
        self, sock: socket.socket, *, transcript: Transcript, patience: Patience, address: Address
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._patience = patience
        self._transcript = transcript
        self._incoming = Incoming(transcript)
        self._ended: str | None = None
        self._shut = False
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
        """Write all bytes in one go; a peer that has gone is noticed at the next receive."""
        self._transcript.add(
            "send", self.name, data=outgoing.data, parts=outgoing.parts, note=outgoing.what
        )
        self._write(outgoing.data)

    def send_unrecorded(self, outgoing: Outgoing, note: str) -> None:
        """Write bytes that nobody may read later: only that they were sent is recorded."""
        self._transcript.add("note", self.name, note=note)
        self._write(outgoing.data)

    def receive(self, wait: Wait = ANSWER) -> Answer:
        """Return the next answer."""
        return self.receive_within(self.seconds(wait))

    def ask(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send, and return what is answered."""
        self.send(outgoing)
        return self.receive(wait)

    def goes_on(self) -> str:
        """Ping once more on this connection: ``open``, ``closed``, ``broken`` or ``stuck``.

        ``broken`` means that the answer is not that of a ping.
        """
        answer = self.ask(requests.ping().called(CHECK))
        if isinstance(answer, Done):
            return "broken" if answer.body else "open"
        return {"closed": "closed", "silent": "stuck"}.get(answer.kind, "broken")

    @property
    def has_ended(self) -> bool:
        """Tell whether the connection is known to be over, by either side."""
        return self._shut or self._ended is not None or self._incoming.fault is not None

    def receive_within(self, seconds: float) -> Answer:
        """Return the next answer that comes within so many seconds."""
        deadline = time.monotonic() + seconds
        late = False
        while True:
            response = self._incoming.next()
            if response is not None:
                return self._answer(response)
            if self._incoming.fault is not None:
                return self._nonsense(self._incoming.fault)
            if self._ended is not None:
                return self._end()
            if late or not self._wait(select.POLLIN, deadline):
                return self._silence(seconds)
            # A target that sends for ever gets one look past the deadline, no more.
            late = time.monotonic() >= deadline

    def seconds(self, wait: Wait) -> float:
        """Return the budget of one wait, which is more while this machine is busy.

        Whatever is waited for on a connection is an answer: nothing comes by itself.
        """
        return self._patience.seconds(wait) * machine_load()

    def close(self) -> None:
        """End the connection; again does nothing.

        What came and was not read is taken from the socket, a part of it from one that never
        ends: closing over unread bytes would reset the connection and might cost the target what
        was sent last.
        """
        if self._shut:
            return
        self._shut = True
        self._drain()
        if unread := self._incoming.pending:
            self._record(unread[:CHUNK], note="left unread")
        self._sock.close()
        if self._ended is None:
            self._transcript.add("close", self.name, note="by the kit")

    def _answer(self, response: Response) -> Answer:
        self._record(encode(RESPONSE, response))
        if response.status == OK:
            return Done(response.body)
        return Refused(response.status, response.body)

    def _nonsense(self, fault: WireError) -> Nonsense:
        if self._ended is None:
            self._record(self._incoming.pending[:CHUNK])
            self._ended = "nonsense"
        return Nonsense(fault)

    def _end(self) -> Answer:
        pending = self._incoming.pending
        if not pending:
            return Closed(self._ended or "end")
        self._record(pending[:CHUNK], note="cut off")
        return Nonsense(
            WireError(
                clause=RESPONSE.clause,
                field="body",
                offset=len(pending),
                expected="the rest of the answer",
                found="the end of the connection",
            )
        )

    def _silence(self, seconds: float) -> Silent:
        pending = self._incoming.pending
        note = f"nothing whole within {seconds:.2f} s"
        self._transcript.add("note", self.name, data=pending[:CHUNK], note=note)
        return Silent(seconds, partial=len(pending))

    def _record(self, data: bytes, note: str = "") -> None:
        self._transcript.add("receive", self.name, data=data, note=note)

    def _write(self, data: bytes) -> None:
        self._incoming.expect_little()
        self._write_out(memoryview(data))
        self._incoming.expect_answers()

    def _write_out(self, left: memoryview) -> None:
        deadline = time.monotonic() + SEND_SECONDS
        while left and self._ended is None and self._incoming.fault is None:
            if not self._wait(select.POLLIN | select.POLLOUT, deadline):
                note = f"the peer did not take {len(left)} bytes"
                self._transcript.add("note", self.name, note=note)
                return
            try:
                left = left[self._sock.send(left) :]
            except BlockingIOError:
                continue
            except OSError:
                self._drain()
                self._lost("reset")

    def _wait(self, events: int, deadline: float) -> bool:
        """Wait for events, take what has come; False when the deadline has passed."""
        poll = select.poll()
        poll.register(self._sock, events)
        left_ms = max(0.0, deadline - time.monotonic()) * 1000
        ready = poll.poll(left_ms)
        if ready and ready[0][1] & ~select.POLLOUT:
            self._take()
        return bool(ready)

    def _take(self) -> bool:
        """Take one piece of what has come; False when there is none, or the end was reached."""
        try:
            piece = self._sock.recv(CHUNK)
        except BlockingIOError:
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
        """Take what has come, as far as it is bounded."""
        for _ in range(UNREAD_CHUNKS):
            if not self._take():
                break

    def _lost(self, how: str) -> None:
        if self._ended is None:
            self._ended = how
            self._transcript.add("close", self.name, note=f"by the target ({how})")


def connected(address: Address) -> socket.socket:
    """Return a socket connected to an address.

    Raises:
        TargetUnreachable: it accepts no connection.
    """
    try:
        return socket.create_connection(address, timeout=CONNECT_SECONDS)
    except OSError as error:
        host, port = address
        reason = error.strerror or str(error)
        raise TargetUnreachable(f"cannot reach iggy://{host}:{port} ({reason.lower()})") from error
