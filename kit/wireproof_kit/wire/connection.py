"""The kit's end of a connection in any protocol: deadlines, limits and a transcript.

Waits are polls with a deadline on a non-blocking socket. Input is read while writing, so that
bytes that a target sends before a reset are never lost. A write to a closed connection does not
raise an error: the connection reports its end.
"""

import select
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

from wireproof_kit.errors import TargetUnreachable, refuse_exhausted
from wireproof_kit.wire.address import Address, connect, format_address
from wireproof_kit.wire.answers import Closed, Nonsense, Silent
from wireproof_kit.wire.incoming import Incoming, Source
from wireproof_kit.wire.transcript import Part, Transcript
from wireproof_kit.wire.waiting import Deadline
from wireproof_spec.step_notes import IN_TLS
from wireproof_spec.wire_error import WireError

T = TypeVar("T")
A = TypeVar("A")

CHUNK = 65536
MASK = b"*"
CONNECT_SECONDS = 5.0
SEND_SECONDS = 10.0


class Closing(ABC):
    """What is closed at the end of a ``with`` statement."""

    @abstractmethod
    def close(self) -> None:
        """Close it; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Wire(Generic[T, A]):
    """A socket to the target that decodes the received values of one kind; not thread-safe.

    The ``source`` decodes the values, such as frames or responses; ``answer`` records each and
    returns what the case sees of it, or None for what it has dealt with, such as a heartbeat. When
    the connection ends, at most ``unread`` bytes are still received: many cases close at once, and
    what each receives from a target that never stops sending adds up.
    """

    def __init__(
        self,
        sock: socket.socket,
        source: Source[T],
        answer: Callable[[T], A | None],
        *,
        transcript: Transcript,
        address: Address,
        unread: int,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._host = address[0]
        self._incoming = Incoming(source)
        self._answer = answer
        self._early = deque[A]()
        self._waited_from = 0
        self._transcript = transcript
        self._unread = unread
        self._secret = b""
        self._ended: str | None = None
        self._end: int | None = None
        self._shut = False
        self.name = transcript.connection_label()
        self.record("open", note=format_address(address))
        transcript.together.add(self)

    @property
    def pending(self) -> bytes:
        """Return the received bytes that do not form a complete value yet."""
        return self._incoming.pending

    @property
    def has_ended(self) -> bool:
        """Return True if either side is known to have closed the connection."""
        return self._shut or self._is_over

    def hide(self, secret: bytes) -> None:
        """Mask a secret in all steps recorded from now on; its place and length stay visible."""
        self._secret = secret

    def record(
        self, kind: str, data: bytes = b"", *, parts: Sequence[Part] = (), note: str = ""
    ) -> int:
        """Add a step on this connection to the transcript, and return the step's index.

        Bytes hidden by `hide` are masked.
        """
        if self._secret:
            data = data.replace(self._secret, MASK * len(self._secret))
        return self._transcript.add(kind, self.name, data=data, parts=parts, note=note).index

    @property
    def sock(self) -> socket.socket:
        """The connection's socket, for code that continues with another protocol on it."""
        return self._sock

    def secure(self, context: ssl.SSLContext, seconds: float) -> None:
        """Switch the connection to TLS.

        Raises:
            TimeoutError: the handshake is not done within so many seconds.
            OSError: the handshake failed; ssl.SSLCertVerificationError for a bad certificate.
        """
        deadline = time.monotonic() + seconds
        inside = context.wrap_socket(
            self._sock, server_hostname=self._host, do_handshake_on_connect=False
        )
        self._sock = inside
        while True:
            try:
                inside.do_handshake()
            except ssl.SSLWantReadError:
                if not self._ready(select.POLLIN, deadline):
                    raise TimeoutError from None
            else:
                break
        self.record("note", note=f"{IN_TLS} ({inside.version()})")

    def write(self, data: bytes) -> None:
        """Send all bytes, unless the peer closed, does not read for long, or sends without end."""
        deadline = time.monotonic() + SEND_SECONDS
        left = memoryview(data)
        while left and not self._is_over:
            if not self._wait(select.POLLIN | select.POLLOUT, deadline):
                self.record("note", note=f"the peer did not take {len(left)} bytes")
                return
            try:
                left = left[self._sock.send(left) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            except OSError:
                self.drain()
                self._raise_lost("reset")

    def answers(self, seconds: float) -> Iterator[A]:
        """Yield answers as they arrive, until the time limit or the end of the connection."""
        deadline = Deadline(seconds)
        late = False
        self._waited_from = self._transcript.count
        while True:
            if self._early:
                yield self._early.popleft()
                continue
            value = self._incoming.next()
            if value is not None:
                answer = self._answer(value)
                if answer is not None:
                    yield answer
                continue
            if self._is_over or late:
                return
            left = deadline.left()
            late = not left  # a target that sends for ever gets one look past the deadline
            if not self._wait(select.POLLIN, time.monotonic() + left) and late:
                return

    def explain_nothing(
        self, seconds: float, cut: Callable[[bytes], WireError]
    ) -> Nonsense | Closed | Silent:
        """Return why no complete value arrived within ``seconds``.

        ``cut`` makes the error for an incomplete last value from its bytes.
        """
        if self._incoming.fault is not None:
            return self._nonsense(self._incoming.fault)
        pending = self.pending
        if self._ended is not None:
            return Nonsense(cut(pending), self._end) if pending else Closed(self._ended, self._end)
        self._transcript.add_wait(seconds)
        beside = self._transcript.count_beside(self.name, self._waited_from)
        counts = ", ".join(f"{name} received {count}" for name, count in beside.items())
        meanwhile = f"; meanwhile {counts}" if counts else ""
        note = f"nothing whole within {seconds:.2f} s{meanwhile}"
        step = self.record("note", pending[:CHUNK], note=note)
        return Silent(seconds, partial=len(pending), step=step)

    def pause(self, until: float) -> None:
        """Receive bytes until some arrive or the monotonic time ``until`` has come."""
        self._wait(select.POLLIN, until)

    def drain(self) -> None:
        """Receive all bytes that have arrived, at most ``unread`` of them."""
        for _ in range(self._unread // CHUNK):
            if not self._take():
                break

    def read_early(self) -> None:
        """Receive what has arrived, and keep it for the next wait at this connection."""
        self._take()
        while (value := self._incoming.next()) is not None:
            answer = self._answer(value)
            if answer is not None:
                self._early.append(answer)

    def left_unread(self) -> Iterator[T]:
        """Yield the complete values that were received but not yet returned."""
        while (value := self._incoming.next()) is not None:
            yield value

    def half_close(self) -> None:
        """Close the sending direction only."""
        self.record("close", note="sending direction only")
        try:
            # Not SSLSocket's own, which would take what is still to come for unencrypted.
            socket.socket.shutdown(self._sock, socket.SHUT_WR)
        except OSError:
            self._raise_lost("reset")

    def close(self, unread: Callable[[], None]) -> None:
        """Close the connection; a second call does nothing.

        Bytes that have arrived are received first, up to a limit: closing a socket with unread
        bytes would reset the connection, and the target might lose what was sent last. ``unread``
        is called to record the values among them.
        """
        if self._shut:
            return
        self._shut = True
        self._transcript.together.remove(self)
        self.drain()
        unread()
        self._sock.close()
        if self._ended is None:
            self.record("close", note="by the kit")

    @property
    def _is_over(self) -> bool:
        """Return True if nothing more can arrive from the target."""
        return self._ended is not None or self._incoming.fault is not None

    def _nonsense(self, fault: WireError) -> Nonsense:
        if self._ended is None:
            self._end = self.record("receive", self.pending[:CHUNK])
            self._ended = "nonsense"
        return Nonsense(fault, self._end)

    def _wait(self, events: int, deadline: float) -> bool:
        """Wait for events and receive; return False when the deadline has passed."""
        ready = self._ready(events, deadline)
        if ready & ~select.POLLOUT:
            self._take()
        return bool(ready)

    def _ready(self, events: int, deadline: float) -> int:
        """Wait for socket events and return them; return 0 when the deadline has passed."""
        return self._transcript.wait_together(self._sock, events, deadline)

    def _take(self) -> bool:
        """Receive once; return False when nothing has arrived or the connection ended."""
        # No MSG_WAITALL: on a socket that does not block it returns less than asked for.
        try:
            piece = self._sock.recv(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            self._raise_lost("reset")
            return False
        if not piece:
            self._raise_lost("end")
            return False
        self._incoming.feed(piece)
        return self._incoming.fault is None

    def _raise_lost(self, how: str) -> None:
        if self._ended is None:
            self._ended = how
            self._end = self.record("close", note=f"by the target ({how})")


def connect_socket(address: Address, protocol: str) -> socket.socket:
    """Return a socket connected to an address; error messages name the URL scheme ``protocol``.

    Raises:
        TargetUnreachable: no connection is accepted there.
        Exhausted: this machine cannot make another connection.
    """
    try:
        return connect(address, CONNECT_SECONDS)
    except OSError as error:
        refuse_exhausted(error, address[0])
        reason = error.strerror or str(error)
        raise TargetUnreachable(
            f"cannot reach {protocol}://{format_address(address)} ({reason.lower()})"
        ) from error


def accepts(address: Address) -> bool:
    """Return True if an address accepts a connection now.

    Raises:
        Exhausted: this machine cannot make another connection.
    """
    try:
        connect(address, CONNECT_SECONDS).close()
    except OSError as error:
        refuse_exhausted(error, address[0])
        return False
    return True
