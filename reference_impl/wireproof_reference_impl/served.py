"""What the shell carries for and what it asks of it: sources, their links, pace and keeper."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

NEVER_NS: Final = 1 << 63
"""A time that does not come."""


class Link(Protocol):
    """The protocol's side of one connection."""

    @property
    def closed(self) -> bool:
        """Tell whether the connection is over once its output is sent."""
        ...

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes from the client."""

    def end_of_stream(self, now_ns: int) -> None:
        """Learn that the client sends no more."""

    def lost(self, now_ns: int) -> None:
        """Learn that the connection is gone."""

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        ...


class Pacing(Protocol):
    """How the sockets are written to."""

    @property
    def flush_delay_ms(self) -> int:
        """Return how late what there is to say is written."""
        ...

    @property
    def pieces(self) -> Callable[[bytes], Sequence[bytes]]:
        """Return what cuts bytes into the pieces they are written in."""
        ...


class Agenda:
    """What sources want of the shell; those of one process may share one, and cost less then.

    `changed`: the links that may have something to send, and sources that can be reached again
    or no more, in the order in which that came about. `due_ns`: when to run timers next; it may
    turn out that nothing is due then.
    """

    def __init__(self) -> None:
        self.changed: dict[object, None] = {}
        self.due_ns = NEVER_NS


class Source(Protocol):
    """What the shell carries for: a broker, a lookup server, the control of either."""

    @property
    def agenda(self) -> Agenda:
        """Return what it wants; always the same."""
        ...

    @property
    def open(self) -> bool:
        """Tell whether it may be reached; if not, its sockets are closed.

        It is looked at again when the source is among what has changed.
        """
        ...

    @property
    def halted(self) -> bool:
        """Tell whether the whole process is to end at once."""
        ...

    def run_timers(self, now_ns: int) -> None:
        """Do what is due, and note in the agenda when something will be next."""


Connect = Callable[[Callable[[], str], int], Link]
"""Makes the link of a new connection, given what tells its address, HOST:PORT, and the time."""


class Keeper(Protocol):
    """Where what was received is kept before it is answered."""

    @property
    def gathers(self) -> bool:
        """Tell whether answers are better given for all that came at a time."""
        ...

    def commit(self) -> None:
        """Make durable what is about to be answered.

        Raises:
            OSError: it is not, and may never be answered.
        """
