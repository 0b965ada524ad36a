"""Waits at one socket of a case, and reads its other connections meanwhile.

A case looks at one connection at a time. What the target sends on another one would lie unread
until the case ends, its heartbeats unanswered, and would have no time of arrival.
"""

import select
import socket
import threading
import time
from typing import Protocol


class EarlyReader(Protocol):
    """A connection that can be read while its case waits at another one."""

    @property
    def sock(self) -> socket.socket:
        """Return the connection's socket."""
        ...

    @property
    def has_ended(self) -> bool:
        """Return True if either side is known to have closed the connection."""
        ...

    def read_early(self) -> None:
        """Receive what has arrived, and keep it until the case waits at this connection."""
        ...


class Together:
    """The open connections of one case; each is read only in the thread that opened it."""

    def __init__(self) -> None:
        self._open: list[tuple[EarlyReader, int]] = []
        self._waiting = threading.Lock()

    def add(self, connection: EarlyReader) -> None:
        """Read a connection whenever this thread waits at another one."""
        self._open.append((connection, threading.get_ident()))

    def remove(self, connection: EarlyReader) -> None:
        """Read a connection no more; it may have been removed already."""
        self._open = [each for each in self._open if each[0] is not connection]

    def wait(self, sock: socket.socket, events: int, deadline: float) -> int:
        """Wait for poll events of a socket and return them; 0 at the monotonic time ``deadline``.

        A connection that is read may have to send, as the answer to a heartbeat; it then waits
        for its own socket alone.
        """
        poll = select.poll()
        poll.register(sock, events)
        if not self._waiting.acquire(blocking=False):
            return dict(poll.poll(_left_ms(deadline))).get(sock.fileno(), 0)
        try:
            return self._wait(poll, sock.fileno(), deadline)
        finally:
            self._waiting.release()

    def _wait(self, poll: "select.poll", own: int, deadline: float) -> int:
        thread, beside = threading.get_ident(), dict[int, EarlyReader]()
        for connection, opened_in in self._open:
            if opened_in == thread and not connection.has_ended:
                number = connection.sock.fileno()
                if number != own:
                    poll.register(number, select.POLLIN)
                    beside[number] = connection
        while True:
            ready = dict(poll.poll(_left_ms(deadline)))
            for number in ready.keys() & beside.keys():
                beside[number].read_early()
                if beside[number].has_ended:
                    poll.unregister(number)
                    del beside[number]
            if own in ready or not ready:
                return ready.get(own, 0)


def _left_ms(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic()) * 1000
