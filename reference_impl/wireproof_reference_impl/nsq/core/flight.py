"""Ordered channels: whether one more message may go out, and what RDY means there."""

from typing import Protocol


class Flight(Protocol):
    """What an ordered channel has on its way when it asks for the next message."""

    @property
    def held(self) -> int:
        """Return how many messages are with clients."""
        ...

    @property
    def deferred(self) -> int:
        """Return how many wait for their time."""
        ...

    @property
    def age_ns(self) -> int:
        """Return how long ago the oldest of those held was sent; 0 when there is none."""
        ...

    @property
    def touched(self) -> bool:
        """Tell whether TOUCH was said of one of those held."""
        ...

    @property
    def idle(self) -> bool:
        """Tell whether some client holds none."""
        ...

    @property
    def elsewhere(self) -> int:
        """Return how many are held at other partitions of this node, in this channel's name."""
        ...


def one_at_a_time(flight: Flight) -> bool:
    """Tell whether the next message may go out: when none is on its way.

    Clause: smart.order.one-in-flight
    """
    return not flight.held and not flight.deferred


def always_one(said: int, before: int) -> int:
    """Return how many messages a client may hold whatever it says: one; `before` is what it was.

    Clause: smart.order.rdy
    """
    return 1
