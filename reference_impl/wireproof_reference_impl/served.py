"""What the shell carries for and what it asks of it: sources, their links, pace and keeper."""

from collections.abc import Callable, Iterator, Sequence
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


class Timers(Protocol):
    """What a source waits for."""

    @property
    def due_ns(self) -> int:
        """Return when to look next; it may turn out that nothing is due then."""
        ...


class Changes(Protocol):
    """The links that may have something to send."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __iter__(self) -> Iterator[object]:
        """Go through the links."""
        ...

    def clear(self) -> None:
        """Forget them."""


class Source(Protocol):
    """What the shell carries for: a broker, a lookup server, the control of either."""

    @property
    def changed(self) -> Changes:
        """Return the links that may have something to send."""
        ...

    @property
    def open(self) -> bool:
        """Tell whether it may be reached; if not, its sockets are closed."""
        ...

    @property
    def halted(self) -> bool:
        """Tell whether the whole process is to end at once."""
        ...

    @property
    def timers(self) -> Timers:
        """Return what is told the time."""
        ...

    def run_timers(self, now_ns: int) -> None:
        """Do what is due."""


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
