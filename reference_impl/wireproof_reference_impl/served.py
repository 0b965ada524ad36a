"""Interfaces between the shell and the servers: sources, links, pacing and commits."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

NEVER_NS: Final = 1 << 63
"""A time that does not come."""


class Link(Protocol):
    """The protocol of one connection."""

    @property
    def closed(self) -> bool:
        """Return True if the connection ends once its output is sent."""
        ...

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes from the client."""

    def end_of_stream(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""

    def handle_loss(self, now_ns: int) -> None:
        """Handle the loss of the connection."""

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        ...


class Pacing(Protocol):
    """How sockets are written to."""

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
    """Accepts connections: a broker, a lookup server or a control API."""

    @property
    def schedule(self) -> Schedule:
        """Return the schedule, the same object each time."""
        ...

    @property
    def open(self) -> bool:
        """Return True if it accepts connections; if not, its sockets are closed.

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
    """Makes received data durable before it is acknowledged."""

    @property
    def gathers(self) -> bool:
        """Return True if one commit should cover everything that arrived at the same time."""
        ...

    def commit(self) -> None:
        """Make durable what is about to be acknowledged.

        Raises:
            OSError: the messages are not durable and must never be acknowledged.
        """
