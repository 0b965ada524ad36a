"""Timers in one heap; the caller passes the current time."""

import heapq
from collections.abc import Callable
from itertools import count

from wireproof_reference_impl.served import Schedule


class Timer:
    """An action to be called at a time; cancelling it costs nothing."""

    __slots__ = ("action", "when_ns")

    def __init__(self, when_ns: int, action: Callable[[int], None]) -> None:
        self.when_ns = when_ns
        self.action: Callable[[int], None] | None = action


class Timers:
    """Timers sorted by time in a heap; `run` calls the actions that are due.

    The schedule's `due_ns` is never later than the next timer; it may be the time of a cancelled
    one.
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        self._schedule = Schedule() if schedule is None else schedule
        self._heap: list[tuple[int, int, Timer]] = []
        self._sequence = count()
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, when_ns: int, action: Callable[[int], None]) -> Timer:
        """Add a timer that calls `action` with the time when `when_ns` is reached."""
        timer = Timer(when_ns, action)
        heapq.heappush(self._heap, (when_ns, next(self._sequence), timer))
        if when_ns < self._schedule.due_ns:
            self._schedule.due_ns = when_ns
        return timer

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer; do nothing if it has run or is already cancelled."""
        if timer is None or timer.action is None:
            return
        timer.action = None
        self._cancelled += 1
        if self._cancelled > 1000 and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def run(self, now_ns: int) -> None:
        """Run the timers that are due at `now_ns`."""
        while self._heap and self._heap[0][0] <= now_ns:
            timer = heapq.heappop(self._heap)[2]
            action = timer.action
            if action is None:
                self._cancelled -= 1
                continue
            timer.action = None
            action(now_ns)
        due_ns = self.next_ns()
        if due_ns is not None and due_ns < self._schedule.due_ns:
            self._schedule.due_ns = due_ns

    def next_ns(self) -> int | None:
        """Return when the next timer is due; None if there is no timer."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        return self._heap[0][0] if self._heap else None
