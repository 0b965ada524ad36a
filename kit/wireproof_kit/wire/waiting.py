"""Waits with a deadline that a pause of the kit's own machine moves.

What a pause explains rests on time or absence alone: a wait that ended in vain. A case notes its
longest pause, as a share of the wait's limit.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import TypeVar

from wireproof_kit.drivers.processor import PauseClock

T = TypeVar("T")

UNMEASURED_S = 0.05
"""Seconds of a wait before pauses are measured: most answers come sooner, and measuring costs."""
_EQUAL_S = 0.001
MOST_LONGER = 4.0
"""How many times its limit a wait may become longer by pauses."""
LONGEST_PAUSE_S = 0.25
SHARE_OF_PAUSE = 8
EXPLAINS = 0.25
"""From this share of a wait's limit on, a pause explains that the wait was in vain."""


class Pauses:
    """The longest pause in a vain wait of a case so far, as a share of the wait's limit."""

    longest = 0.0

    def explain(self) -> bool:
        """Return True if a pause explains what did not come in time."""
        return self.longest >= EXPLAINS


_pauses: ContextVar[Pauses] = ContextVar("_pauses")


@contextlib.contextmanager
def note_pauses(pauses: Pauses) -> Generator[None]:
    """In this block and thread, note the pauses in vain waits."""
    token = _pauses.set(pauses)
    try:
        yield
    finally:
        _pauses.reset(token)


class Deadline:
    """The end of a wait of so many seconds; pauses of the kit's own machine put it off."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.monotonic()
        self._end = self._began + seconds
        self._clock: PauseClock | None = None
        self._late = self._paused = 0.0

    def left(self) -> float:
        """Return for how long to wait before the next call, in seconds; 0.0 at the end."""
        now = time.monotonic()
        if self._clock is None:
            late = now - self._began - UNMEASURED_S
            if now < self._end and late < -_EQUAL_S:
                return min(-late, self._end - now)
            self._measure(late)
        if now >= self._end and self._clock is not None:
            self._put_off(self._late + self._clock.seconds())
        return max(self._end - now, 0.0)

    def rest(self) -> float:
        """Return all seconds that are left, for a wait that measures pauses itself."""
        if self._clock is None:
            self._measure(0.0)
        return self.left()

    def _measure(self, late: float) -> None:
        """Measure pauses from now on; ``late``: the kit looks so much later than it asked for."""
        if self._seconds:
            self._clock, self._late = PauseClock(), max(late, 0.0)

    def _put_off(self, paused: float) -> None:
        paused = min(paused, MOST_LONGER * self._seconds)
        self._end += max(paused - self._paused, 0.0)
        self._paused = max(paused, self._paused)
        pauses = _pauses.get(None)
        if pauses is not None and self._seconds:
            pauses.longest = max(pauses.longest, self._paused / self._seconds)


def until(
    look: Callable[[], T | None],
    *,
    seconds: float,
    every: float = 0.1,
    given_up: threading.Event | None = None,
) -> T | None:
    """Call ``look`` every ``every`` seconds until it returns a result; return the result.

    Return None after ``seconds``, or as soon as ``given_up`` is set. A wait that lasts looks less
    often, and ends at most an eighth of its time too late: 50 polls a second in a dozen cases at
    once keep a processor busy for as long as a message does not come.
    """
    deadline = Deadline(seconds)
    pause = given_up or threading.Event()
    began = time.monotonic()
    while True:
        found = look()
        left = deadline.left()
        if found is not None or left <= 0:
            return found
        waited = time.monotonic() - began
        longer = min(waited / SHARE_OF_PAUSE, LONGEST_PAUSE_S)
        # Behind the first end, each pause of the machine puts the end off by a little: without a
        # least wait, a case on a busy machine would poll as fast as it can for seconds.
        least = every / 4 if waited >= seconds else 0.0
        if pause.wait(max(min(max(every, longer), left), least)):
            return None
