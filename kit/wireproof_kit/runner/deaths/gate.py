"""Lets the cases of a run go together, or one alone after a death of the target."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from wireproof_kit.errors import KitError

Rank = tuple[int, float]
"""The place of a case among those that go alone: the lowest goes first."""


@dataclass(slots=True)
class Stay:
    """One stay of a case in company; ``is_due``: it must go alone next, as the target died."""

    is_due: bool = False


@dataclass(slots=True)
class Gate:
    """Lets cases go together until it is shut, then one alone after another; thread-safe.

    All cases that were together when the gate was shut wait until the last of them has ended:
    only then is anybody alone. No wait here has an end of its own, since each case has one.
    """

    ended: threading.Event = field(default_factory=threading.Event)
    """Set when no further case may go; waits beside the gate end with it."""
    _fault: KitError | None = None
    _together: int = 0
    _due: int = 0
    _queue: list[Rank] = field(default_factory=list[Rank])
    _is_shut: bool = False
    _is_taken: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def together(self) -> Generator[Stay]:
        """Let a case go in company. If its stay is due afterwards, it must call `alone`.

        Raises:
            KitError: no further case may go.
        """
        stay = Stay()
        with self._changed:
            self._changed.wait_for(lambda: self._fault is not None or not self._is_shut)
            self._refuse()
            self._together += 1
        try:
            yield stay
            stay.is_due = True
        finally:
            with self._changed:
                stay.is_due = stay.is_due and self._is_shut
                self._due += stay.is_due
                self._together -= 1
                self._changed.notify_all()

    def shut(self) -> None:
        """Let no further case go in company until those that are in it have gone alone."""
        with self._changed:
            self._is_shut = True

    @contextmanager
    def alone(self, rank: Rank) -> Generator[None]:
        """Let a case whose stay was due go alone, in the order of the ranks.

        Raises:
            KitError: no further case may go.
        """
        with self._changed:
            self._due -= 1
        with self._take(rank):
            yield

    @contextmanager
    def alone_once_more(self, rank: Rank) -> Generator[None]:
        """Let a case that has gone alone go alone again.

        Raises:
            KitError: no further case may go.
        """
        with self._take(rank):
            yield

    def end(self, fault: KitError) -> None:
        """Let no further case go: each that waits, or comes, gets an error."""
        with self._changed:
            self._fault = self._fault or fault
            self.ended.set()
            self._changed.notify_all()

    @contextmanager
    def _take(self, rank: Rank) -> Generator[None]:
        with self._changed:
            self._queue.append(rank)
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: self._fault is not None or self._is_free_for(rank))
                self._refuse()
            finally:
                self._queue.remove(rank)
            self._is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._is_shut = bool(self._queue or self._due or self._together)
                self._changed.notify_all()

    def _is_free_for(self, rank: Rank) -> bool:
        is_busy = self._is_taken or self._together or self._due
        return not is_busy and rank == min(self._queue)

    def _refuse(self) -> None:
        if self._fault is not None:
            raise self._fault
