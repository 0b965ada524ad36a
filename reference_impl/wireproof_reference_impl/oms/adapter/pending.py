"""Requests to receive that wait for a message."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from wireproof_reference_impl.oms.clock import ServerClock
from wireproof_reference_impl.oms.core.broker import Broker, Received

Deliver = Callable[[Sequence[Received], int], None]
"""Is given the messages received, or none at the end of the time, and the time."""


class PendingReceive(Struct, frozen=True):
    """A request for messages of a destination and a group that waits for a message.

    `until_ns` is when it gives up. Its patience is measured by the wall clock: the server's may be
    moved ahead meanwhile.
    """

    destination: str
    group: str
    most: int
    until_ns: int
    deliver: Deliver
    caller: object


class PendingReceives:
    """The waiting requests for messages, in order; the first that a message fits gets it."""

    def __init__(self, broker: Broker, clock: ServerClock) -> None:
        self._broker = broker
        self._clock = clock
        self._pending: list[PendingReceive] = []

    @property
    def next_due_ns(self) -> int | None:
        """Return when to call `look` again: a message is due, or the time of a request ends."""
        if not self._pending:
            return None
        due, ends = self._broker.next_due, min(each.until_ns for each in self._pending)
        return ends if due is None else min(ends, self._clock.wall_ns(due))

    def add(self, receive: PendingReceive, wall_ns: int) -> None:
        """Answer a request for messages at once, or when a message is there.

        Raises:
            Refusal: the destination does not exist.
        """
        if not self._answer(receive, wall_ns):
            self._pending.append(receive)

    def forget(self, caller: object) -> None:
        """Drop the requests of a caller who is gone: no message must be lost to them."""
        self._pending = [each for each in self._pending if each.caller is not caller]

    def look(self, wall_ns: int) -> None:
        """Answer the requests for which there is a message now, or whose time is over."""
        self._broker.advance(self._clock.now(wall_ns))
        pending, self._pending = self._pending, []
        self._pending += [each for each in pending if not self._answer(each, wall_ns)]

    def _answer(self, receive: PendingReceive, wall_ns: int) -> bool:
        now = self._clock.now(wall_ns)
        found = self._broker.receive(
            receive.destination, receive.group, most=receive.most, now=now
        )
        if found or wall_ns >= receive.until_ns:
            receive.deliver(found, wall_ns)
            return True
        return False
