"""What the shell carries for: connections of any kind, and who has something to send."""

from collections.abc import Callable
from typing import Protocol

from wireproof_reference_impl.served import Agenda

_MICROSECOND_NS = 1_000


class Connection(Protocol):
    """The protocol's side of a connection; times are in microseconds."""

    closed: bool

    def receive(self, data: bytes, now_us: int) -> None:
        """Take bytes from the client."""

    def end(self) -> None:
        """Learn that the client sends no more, or is gone."""

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        ...


class AtOnce:
    """What is kept is kept before it is answered: there is nothing to wait for."""

    gathers = False

    def commit(self) -> None:
        """Do nothing."""


class Carried:
    """Connections behind addresses, as the shell wants them."""

    open = True

    def __init__(self) -> None:
        self.halted = False
        self.agenda = Agenda()
        self.changed = self.agenda.changed

    def run_timers(self, now_ns: int) -> None:
        """Do nothing: nothing is ever due."""


class Link:
    """One connection, as the shell wants it."""

    def __init__(self, carried: Carried, connection: Connection) -> None:
        self.carried = carried
        self.connection = connection

    @property
    def closed(self) -> bool:
        """Tell whether the connection is over once its output is sent."""
        return self.connection.closed

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes from the client."""
        self.connection.receive(data, now_ns // _MICROSECOND_NS)
        self.carried.changed[self] = None

    def end_of_stream(self, now_ns: int) -> None:
        """Learn that the client sends no more."""
        self.connection.end()
        self.carried.changed[self] = None

    def lost(self, now_ns: int) -> None:
        """Learn that the connection is gone."""
        self.connection.end()

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        return self.connection.take_output()


def connector(
    carried: Carried, connect: Callable[[Callable[[], str], int], Connection]
) -> Callable[[Callable[[], str], int], Link]:
    """Return what makes the shell's side of an accepted client, given its address and the time."""
    return lambda address, now_ns: Link(carried, connect(address, now_ns // _MICROSECOND_NS))
