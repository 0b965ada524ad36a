"""The steps of a connection that are kept: its opening whole, and the latest ones cut short."""

from collections import deque
from collections.abc import Iterator

from wireproof_kit.wire.transcript import Step

OPENING_BYTES = 1 << 16
OPENING_STEPS = 150
RECENT_STEPS = 30
RECENT_BYTES = 1 << 11
"""How many bytes are kept of each of the latest steps."""


class Evidence:
    """The steps kept of one connection, as evidence: its first ones and the latest ones."""

    def __init__(self) -> None:
        self.opening: list[Step] = []
        self.is_full = False
        """True once the first steps are complete, and a step was kept among the latest."""
        self._bytes = 0
        self._recent: deque[Step] = deque(maxlen=RECENT_STEPS)
        self._dropped = 0

    def add(self, step: Step) -> None:
        """Keep a step, among the first while there is room, else among the latest."""
        self._bytes += len(step.data)
        fits = self._bytes <= OPENING_BYTES and len(self.opening) < OPENING_STEPS
        if fits and not self.is_full:
            self.opening.append(step)
            return
        self.is_full = True
        self._dropped += len(self._recent) == RECENT_STEPS
        self._recent.append(_cut(step))

    def __iter__(self) -> Iterator[Step]:
        """Yield the steps kept; a note stands for those that were not."""
        yield from self.opening
        if self._dropped:
            first = self._recent[0]
            note = f"{self._dropped} steps not kept"
            yield Step(first.at_us, first.connection, "note", note=note)
        yield from self._recent


def _cut(step: Step) -> Step:
    if len(step.data) <= RECENT_BYTES:
        return step
    note = f"the first {RECENT_BYTES} of {len(step.data)} bytes"
    return Step(step.at_us, step.connection, step.kind, step.data[:RECENT_BYTES], note=note)
