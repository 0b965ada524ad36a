"""Reports a command's progress on stderr every few seconds."""

import sys
import time

from wireproof.options.global_options import manner
from wireproof.view.output import write_lines

EVERY_S = 5.0


class Progress:
    """Reports completed items on stderr; silent if the user asked for the result only."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._started = self._told_at = time.monotonic()
        self._out = None if manner().quiet else sys.stderr

    def update(self, done: int, total: int) -> None:
        """Report the number of completed items, every few seconds at most."""
        now = time.monotonic()
        if self._out is None or now - self._told_at < EVERY_S or not done:
            return
        self._told_at = now
        spent = now - self._started
        left = spent / done * (total - done)
        told = f"{done}/{total} {self._noun}, {spent:.0f} s, about {left:.0f} s left"
        write_lines(self._out, [f"progress [ {told} ]"])
