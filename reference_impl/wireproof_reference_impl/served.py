"""Interfaces between the shell and what it serves: sources, links, pacing and commits."""

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
        """Return the bytes to send, and forget them."""
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
    """What sources want of the shell; those of one process may share one, and cost less then.

    `changed`: the links that may have something to send, and sources that can be reached again
    or no more, in the order in which that came about. `due_ns`: when to run timers next; it may
    turn out that nothing is due then.
    """

    def __init__(self) -> None:
        self.changed: dict[object, None] = {}
        self.due_ns = NEVER_NS


class Source(Protocol):
    """What accepts connections: a broker, a lookup server or a control API."""

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
        """Run the timers that are due, and note in the schedule when the next one is."""


Connect = Callable[[Callable[[], str], int], Link]
"""Makes the link of a new connection, given what tells its address, HOST:PORT, and the time."""


class Committer(Protocol):
    """Commits what was received before it is answered."""

    @property
    def gathers(self) -> bool:
        """Return True if one commit should serve all that came at the same time."""
        ...

    def commit(self) -> None:
        """Make durable what will be answered next.

        Raises:
            OSError: it is not, and may never be answered.
        """
