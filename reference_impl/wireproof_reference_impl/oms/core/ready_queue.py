"""The messages of one partition that one group of consumers can be given."""

from heapq import heappop, heappush

from msgspec import Struct

from wireproof_reference_impl.oms.core.message import Message

Rank = tuple[int, int]
"""Higher priorities come first, and of one priority the message that arrived first."""


class Arrival(Struct, frozen=True):
    """A message that is ready for delivery, and its number in the order of arrival."""

    number: int
    message: Message


def rank(arrival: Arrival, *, orders_by_priority: bool) -> Rank:
    """Return the rank of a message in the order of delivery; the lowest is delivered first."""
    return (-arrival.message.priority if orders_by_priority else 0), arrival.number


class ReadyQueue:
    """The messages that are ready for delivery, in a heap by rank."""

    def __init__(self, *, orders_by_priority: bool) -> None:
        self._orders_by_priority = orders_by_priority
        self._heap: list[tuple[Rank, Arrival]] = []

    @property
    def first(self) -> Rank | None:
        """Return the rank of the first message; None if there is none."""
        return self._heap[0][0] if self._heap else None

    def add(self, arrival: Arrival) -> None:
        """Add a message; one that comes back has the same rank as before."""
        heappush(self._heap, (rank(arrival, orders_by_priority=self._orders_by_priority), arrival))

    def take(self) -> Arrival:
        """Remove and return the first message."""
        return heappop(self._heap)[1]
