"""Requests to receive that wait for a message."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from wireproof_reference_impl.oms.clock import ServerClock
from wireproof_reference_impl.oms.core.broker import Broker, Received

Deliver = Callable[[Sequence[Received], int], None]
"""Is given the messages received, or none at the end of the time, and the time."""


class Wish(Struct, frozen=True):
    """What a consumer waits for.

    `until_ns` is when it gives up. Its patience is measured by the wall clock: the server's may be
    moved ahead meanwhile.
    """

    destination: str
    group: str
    most: int
    until_ns: int
    deliver: Deliver
    asker: object


class Waiting:
    """Wishes in the order in which they came; the first that a message fits gets it."""

    def __init__(self, broker: Broker, clock: ServerClock) -> None:
        self._broker = broker
        self._clock = clock
        self._wishes: list[Wish] = []

    @property
    def next_due_ns(self) -> int | None:
        """Return when to look again: a message is due, or the time of a wish ends."""
        if not self._wishes:
            return None
        due, ends = self._broker.next_due, min(each.until_ns for each in self._wishes)
        return ends if due is None else min(ends, self._clock.wall_ns(due))

    def add(self, wish: Wish, wall_ns: int) -> None:
        """Fulfil a wish at once, or when its message is there.

        Raises:
            Refusal: the destination does not exist.
        """
        if not self._fulfil(wish, wall_ns):
            self._wishes.append(wish)

    def forget(self, asker: object) -> None:
        """Drop the wishes of somebody who is gone: no message is to be lost to them."""
        self._wishes = [each for each in self._wishes if each.asker is not asker]

    def look(self, wall_ns: int) -> None:
        """Fulfil what can be fulfilled by now."""
        self._broker.advance(self._clock.now(wall_ns))
        wishes, self._wishes = self._wishes, []
        self._wishes += [each for each in wishes if not self._fulfil(each, wall_ns)]

    def _fulfil(self, wish: Wish, wall_ns: int) -> bool:
        now = self._clock.now(wall_ns)
        found = self._broker.receive(wish.destination, wish.group, most=wish.most, now=now)
        if found or wall_ns >= wish.until_ns:
            wish.deliver(found, wall_ns)
            return True
        return False
