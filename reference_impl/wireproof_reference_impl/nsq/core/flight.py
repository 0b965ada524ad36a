"""Ordered channels: whether one more message may go out, and what RDY means there."""

from typing import NamedTuple


class Flight(NamedTuple):
    """What an ordered channel has on its way when it asks for the next message.

    `held` messages are with clients and `deferred` ones wait for their time; the oldest of those
    held was sent `age_ns` ago, `touched` tells whether TOUCH was said of one, `idle` whether some
    client holds none, and `elsewhere` how many are held on channels of the same name at other
    partitions of this node.
    """

    held: int
    deferred: int
    age_ns: int
    touched: bool
    idle: bool
    elsewhere: int


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
