"""Interfaces between the shell and the servers: sources, links, pacing and commits."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

NEVER_NS: Final = 1 << 63
"""A time that does not come."""


class Link(Protocol):
    """The interface of a connection's protocol, without I/O, as the shell serves it."""

    @property
    def closed(self) -> bool:
        """Return True if the connection ends once its output is sent."""
        ...

    def receive(self, data: bytes, now_ns: int) -> None:
        """Process bytes from the client."""

    def end_of_stream(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""

    def handle_loss(self, now_ns: int) -> None:
        """Handle the loss of the connection."""

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        ...


class Pacing(Protocol):
    """The interface of how output is written to sockets: with what delay, in which pieces."""

    @property
    def flush_delay_ms(self) -> int:
        """Return by how many milliseconds each write is delayed."""
        ...

    @property
    def pieces(self) -> Callable[[bytes], Sequence[bytes]]:
        """Return the function that cuts output into separate writes."""
        ...


class Schedule:
    """What the shell must do for sources; sources of one process may share a schedule.

    `changed`: links that may have something to send, and sources that have become reachable or
    unreachable, in the order of the changes. `due_ns`: when to run timers next; possibly nothing
    is due then.
    """

    def __init__(self) -> None:
        self.changed: dict[object, None] = {}
        self.due_ns = NEVER_NS


class Source(Protocol):
    """The interface of what accepts connections: a broker, a lookup server, a control API."""

    @property
    def schedule(self) -> Schedule:
        """Return the source's schedule, the same object each time."""
        ...

    @property
    def open(self) -> bool:
        """Return True if the source accepts connections; if not, its sockets are closed.

        The shell asks again when the schedule lists the source as changed.
        """
        ...

    @property
    def halted(self) -> bool:
        """Return True if the whole process must end at once."""
        ...

    def run_timers(self, now_ns: int) -> None:
        """Run the timers that are due, and set when the next one is."""


Connect = Callable[[Callable[[], str], int], Link]
"""Makes the link of a new connection, given what tells its address, HOST:PORT, and the time."""


class Committer(Protocol):
    """The interface that makes received data durable before it is acknowledged."""

    @property
    def gathers(self) -> bool:
        """Return True if one commit should cover everything that arrived at the same time."""
        ...

    def commit(self) -> None:
        """Make received messages durable, before they are acknowledged.

        Raises:
            OSError: the messages are not durable and must never be acknowledged.
        """
