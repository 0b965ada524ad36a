"""Things that wait for their time."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class DueQueue(Generic[T]):
    """A heap of things sorted by due time; those due at the same time keep their order."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> int | None:
        """Return the due time of the first thing; None if the queue is empty."""
        return self._heap[0][0] if self._heap else None

    def add(self, due: int, thing: T) -> None:
        """Add a thing with its due time."""
        self._count += 1
        heappush(self._heap, (due, self._count, thing))

    def take_due(self, now: int) -> Iterator[T]:
        """Remove and yield the things that are due, in the order of due times."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]
