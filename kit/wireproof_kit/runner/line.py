"""The way to a target: where it resets connections by itself, a reset shows nothing of the target.

What repeats for a failure cannot tell: on a line that resets one piece in fifty, a case of ten
exchanges is cut off in one run of three, and five runs alike come by chance.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from wireproof_kit.targets.session import Session
from wireproof_kit.wire.transcript import Transcript

TRIPS = 24
"""With four packets each, 24 round trips meet a network that resets one in fifty 7 times in 8."""
MOST_CHECKS = 5


@dataclass(slots=True)
class Line:
    """Finds out whether the network to a target is faulty and cuts connections; thread-safe."""

    session: Session
    _is_bad: bool = False
    _checks: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_bad(self) -> bool:
        """Return True if some, not all, connections that only greet the target are cut off."""
        with self._lock:
            if not self._is_bad and self._checks < MOST_CHECKS:
                self._checks += 1
                self._is_bad = self._loses_trips()
            return self._is_bad

    def _loses_trips(self) -> bool:
        with ThreadPoolExecutor(TRIPS, thread_name_prefix="control") as pool:
            trips = [pool.submit(self.session.control) for _ in range(TRIPS)]
            lost = sum(trip.result().state == "dead" for trip in trips)
        return 0 < lost < TRIPS


def has_reset(transcript: Transcript) -> bool:
    """Return True if the target, or the network before it, reset a connection of a case."""
    return any(
        (step.kind == "close" and "(reset)" in step.note)
        or (step.kind == "response" and step.note == "closed")
        for step in transcript.steps()
    )
