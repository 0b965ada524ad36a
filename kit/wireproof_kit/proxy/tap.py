"""Hands what passes from the relay to the observer, which is slower and must not delay it.

The relay never waits: where the observer is too far behind, the bytes of a connection are relayed
and not observed from then on, and counted. A stream of which a part is missing cannot be decoded.
"""

import threading
import time
from collections import deque

from wireproof_kit.wire.transcript import Step

MOST_BYTES = 16 << 20
"""The most bytes that wait for the observer, over all connections."""
MOST_STEPS = 20_000
LOST = "not observed from here on: the observer is too far behind"


class Tap:
    """A bounded queue of steps from the relay to the observer, from the client's point of view."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._started = time.monotonic_ns()
        self._most = most_bytes
        self._steps: deque[Step] = deque()
        self._waiting = 0
        self._lost: set[str] = set()
        self._is_ended = False
        self._changed = threading.Condition()
        self.lost_connections = 0
        self.lost_bytes = 0
        self.most_waiting = 0
        """The largest number of bytes that waited for the observer at once."""

    def put(self, kind: str, conn: str, *, data: bytes = b"", note: str = "") -> None:
        """Append a step, with the time since the queue was made."""
        with self._changed:
            if conn in self._lost:
                self.lost_bytes += len(data)
                if kind == "close":
                    self._lost.discard(conn)
                    self._add(kind, conn, b"", note)
                return
            full = self._waiting + len(data) > self._most or len(self._steps) >= MOST_STEPS
            if data and full:
                self._lost.add(conn)
                self.lost_connections += 1
                self.lost_bytes += len(data)
                self._add("note", conn, b"", LOST)
                return
            self._add(kind, conn, data, note)

    def end(self) -> None:
        """Mark the end of the queue: no more steps will be added."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()

    def take(self) -> Step | None:
        """Wait for the next step and return it; None at the end of the queue."""
        with self._changed:
            while not self._steps and not self._is_ended:
                self._changed.wait()
            if not self._steps:
                return None
            step = self._steps.popleft()
            self._waiting -= len(step.data)
            return step

    def _add(self, kind: str, conn: str, data: bytes, note: str) -> None:
        at_us = (time.monotonic_ns() - self._started) // 1000
        self._steps.append(Step(at_us, conn, kind, data, note=note))
        self._waiting += len(data)
        self.most_waiting = max(self.most_waiting, self._waiting)
        self._changed.notify()
