"""Adapters between connections and the shell that serves their sockets."""

from collections.abc import Callable
from typing import Protocol

from wireproof_reference_impl.served import Schedule

_MICROSECOND_NS = 1_000


class Connection(Protocol):
    """The interface of a connection's protocol, without I/O; times are in microseconds."""

    closed: bool

    def receive(self, data: bytes, now_us: int) -> None:
        """Process bytes from the client."""

    def end(self) -> None:
        """Handle the end of the client's stream or the loss of the connection."""

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        ...


Connect = Callable[[Callable[[], str], int], Connection]
"""Makes the protocol of an accepted connection from its address and the time in microseconds."""


class NoCommit:
    """Does nothing before an answer: the server stores messages before it answers."""

    gathers = False

    def commit(self) -> None:
        """Do nothing: what was received is stored already."""


class ServerSource:
    """The Iggy server as the shell serves it; faults set `halted` to end the process."""

    open = True

    def __init__(self) -> None:
        self.halted = False
        self.schedule = Schedule()
        self.changed = self.schedule.changed

    def run_timers(self, now_ns: int) -> None:
        """Do nothing: the server has no timers."""


class Link:
    """Adapts a connection's protocol to the interface that the shell serves."""

    def __init__(self, source: ServerSource, connection: Connection) -> None:
        self.source = source
        self.connection = connection

    @property
    def closed(self) -> bool:
        """Return True if the connection ends once its output is sent."""
        return self.connection.closed

    def receive(self, data: bytes, now_ns: int) -> None:
        """Process bytes from the client."""
        self.connection.receive(data, now_ns // _MICROSECOND_NS)
        self.source.changed[self] = None

    def end_of_stream(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""
        self.connection.end()
        self.source.changed[self] = None

    def handle_loss(self, now_ns: int) -> None:
        """Handle the loss of the connection."""
        self.connection.end()

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        return self.connection.take_output()


def connector(source: ServerSource, connect: Connect) -> Callable[[Callable[[], str], int], Link]:
    """Return a function that makes an accepted client's link from its address and the time."""
    return lambda address, now_ns: Link(source, connect(address, now_ns // _MICROSECOND_NS))
