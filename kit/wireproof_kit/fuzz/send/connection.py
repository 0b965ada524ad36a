"""One connection of a case: it writes in pieces, reads answers and never blocks."""

import contextlib
import select
import socket
import ssl
import sys
import time
from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from wireproof_kit.errors import KitError
from wireproof_kit.fuzz.driver import Answer, AnswerReader, Listener, LogIn
from wireproof_kit.wire.address import Address, is_number, look_up_again, resolve
from wireproof_kit.wire.transcript import Step, Transcript

CHUNK = 262_144
CONNECT_S = 5.0
REFUSED = "refused"
"""The value of `ended` for a connection that was not accepted, or whose login failed."""
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


_Place = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
_Resolved = tuple[socket.AddressFamily, socket.SocketKind, int, str, _Place]


class CaseConnection:
    """A non-blocking connection of a fuzz case; `answers` are the responses to its requests.

    ``ended`` says how the target closed it (``end``, ``reset``, ``refused``); empty while open.
    ``opened_s`` is when it was opened (monotonic clock), ``last`` what was received last on it.
    `prompt`: received bytes are acknowledged at once, because a target that writes many small
    answers may hold the next one back until then. This works on Linux only; elsewhere the kit
    waits for such a target. `opening` are the first bytes to be sent; `unsent` is the part of them
    that the `login` has not sent.
    """

    __slots__ = (
        "_half_closing",
        "_listener",
        "_out",
        "_prompt",
        "_reader",
        "_transcript",
        "answers",
        "ended",
        "events",
        "half_closed",
        "last",
        "name",
        "opened_s",
        "port",
        "sock",
        "unsent",
    )

    def __init__(
        self,
        address: Address,
        reader: AnswerReader,
        listener: Listener,
        *,
        transcript: Transcript | None = None,
        prompt: bool = False,
        opening: bytes = b"",
        login: LogIn | None = None,
    ) -> None:
        self._reader = reader
        self._listener = listener
        self._transcript = transcript
        self._prompt = prompt
        self._out: deque[bytes | memoryview] = deque()
        self._half_closing = False
        self.opened_s = time.monotonic()
        self.last = b""
        self.half_closed = False
        self.answers: list[Answer] = []
        self.ended = ""
        self.events = select.POLLIN
        self.name = transcript.connection_label() if transcript else ""
        self.sock = _connect(address)
        self.port: int = self.sock.getsockname()[1] if self.sock is not None else 0
        if self.sock is None:
            self.ended = REFUSED
        if transcript is not None:
            transcript.add("open", self.name, note=f"{address[0]}:{address[1]}")
        self.unsent = opening
        if login is not None and opening and self.sock is not None:
            self._log_in(self.sock, address, login)

    @property
    def fault(self) -> str:
        """Why the received bytes are invalid; empty if they are valid.

        After the kit's half-close a target may drop an answer it was sending; the cut answer is
        then not a fault. If the answer was required, the oracle reports it as missing.
        """
        is_cut = self.ended == "end" and not self.half_closed
        if not self._reader.fault and is_cut and self._reader.pending:
            return f"it ends {len(self._reader.pending)} bytes into an answer"
        return self._reader.fault

    @property
    def unfinished(self) -> int:
        """How many bytes have been received of an answer that is not complete."""
        return len(self._reader.pending)

    @property
    def is_sent(self) -> bool:
        """Return True if all queued bytes were sent."""
        return not self._out or bool(self.ended)

    def send(self, *pieces: bytes) -> None:
        """Queue pieces, each for its own write, and write what the socket accepts now."""
        for piece in filter(None, pieces):
            if self._transcript is not None:
                self._transcript.add("send", self.name, data=piece)
            self._out.append(piece)
        self.write()

    def half_close(self) -> None:
        """Shut down the sending direction after everything queued has been sent."""
        self._half_closing = True
        if not self._out:
            self._shut()

    def write(self) -> None:
        """Write as much of the next queued piece as the socket accepts, in one write."""
        if self._out and not self.ended and self.sock is not None:
            piece = self._out.popleft()
            try:
                sent = self.sock.send(piece)
            except _NOT_NOW:
                sent = 0
            except OSError:
                # What it said before it stopped reading is still there to be read.
                self._out.clear()
                sent = len(piece)
            if sent < len(piece):
                self._out.appendleft(memoryview(piece)[sent:])
        self.events = select.POLLIN | select.POLLOUT if self._out else select.POLLIN
        if self._half_closing and not self._out:
            self._shut()

    def read(self) -> bool:
        """Receive what has arrived; return True if bytes or the end of the stream arrived."""
        if self.ended or self.sock is None:
            return False
        try:
            data = self.sock.recv(CHUNK)
        except _NOT_NOW:
            return False
        except OSError:
            self._end("reset")
            return True
        if not data:
            self._end("end")
        elif self._prompt and sys.platform == "linux":
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self.last = data or self.last
        self._take(self._reader.feed(data))
        return True

    def close(self) -> None:
        """Close the connection."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
            if self._transcript is not None and not self.ended:
                self._transcript.add("close", self.name, note="by the kit")
        self._out.clear()

    def _take(self, found: Sequence[Answer]) -> None:
        is_pushed = self._listener.is_pushed
        for answer in found:
            if self._transcript is not None:
                self._transcript.add("receive", self.name, data=answer.data)
            if is_pushed(answer.kind):
                if reply := self._listener.reply_to_unrequested(answer):
                    self.send(reply)  # at once: nobody may come to write for who only listens
            else:
                self.answers.append(answer)

    def _shut(self) -> None:
        if self.half_closed or self.sock is None or self.ended:
            return
        self.half_closed = True
        if self._transcript is not None:
            self._transcript.add("close", self.name, note="sending direction only")
        # A target that has reset the connection may have answered before: only reading may end it.
        with contextlib.suppress(OSError):
            # Not SSLSocket's own, which would take what is still to come for unencrypted.
            socket.socket.shutdown(self.sock, socket.SHUT_WR)

    def _log_in(self, sock: socket.socket, address: Address, login: LogIn) -> None:
        """Log in; a connection that is not let in counts as refused."""
        try:
            done = login(sock, address, self.unsent)
        except (KitError, OSError) as error:
            self.sock, self.ended = None, REFUSED
            sock.close()
            if self._transcript is not None:
                self._transcript.add("note", self.name, note=f"not let in: {error}")
            return
        self.sock, self.unsent = done.sock, done.unsent
        self.answers += done.answers
        for step in done.steps if self._transcript is not None else ():
            self._record(step)

    def _record(self, step: Step) -> None:
        """Record a step of the login as one of this connection, which is open already."""
        if self._transcript is not None and step.kind != "open":
            self._transcript.add(step.kind, self.name, data=step.data, note=step.note)

    def _end(self, how: str) -> None:
        self.ended = how
        self._out.clear()
        self.events = select.POLLIN
        if self._transcript is not None:
            if pending := self._reader.pending:
                self._transcript.add("receive", self.name, data=pending, note="cut off")
            self._transcript.add("close", self.name, note=f"by the target ({how})")


def _connect(address: Address) -> socket.socket | None:
    try:
        for family, kind, number, _, place in _resolve(address):
            sock = socket.socket(family, kind, number)
            try:
                sock.settimeout(CONNECT_S)
                sock.connect(place)
            except OSError:
                sock.close()
                continue
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
    except OSError:
        return None
    return None


@lru_cache(maxsize=16)
def _resolve(address: Address) -> Sequence[_Resolved]:
    """Return the resolved addresses; cached, because a lookup costs as much as a connect."""
    host, port = address
    names = [host] if is_number(host) else map(str, resolve(host) or look_up_again(host))
    return [
        found
        for name in names
        for found in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    ]
