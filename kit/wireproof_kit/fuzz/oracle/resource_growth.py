"""Detects growth of memory or open files over cases that should leave nothing behind."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import FILES, MEMORY
from wireproof_kit.targets.process import Usage, usage
from wireproof_spec.growth import ROUNDS, least_growth, repetitions

SETTLE_S = 1.5
SELDOM_S = 6.0
POLL_S = 0.05
FILES_STEP = 32
"""The growth in open files that is suspicious; topics created by cases open a few."""
MEMORY_STEP = 512 * 1024
"""The growth in bytes beyond that of other batches that is suspicious."""
MUCH = 8 * 1024 * 1024
"""The growth in bytes over one batch that is suspicious, even if other batches grow as much."""
REMEMBERED = 32

Send = Callable[[Sequence[Case]], None]


@dataclass(slots=True)
class Watch:
    """Measures the open files and memory of the target's process after every batch of cases."""

    pid: int
    _files: int = field(default=0, init=False)
    _memory: int = field(default=0, init=False)
    _look_at: float = field(default=0.0, init=False)
    _grown: deque[int] = field(default_factory=lambda: deque[int](maxlen=REMEMBERED), init=False)
    _pause_s: float = field(default=SELDOM_S / 2, init=False)
    _weigh_at: float = field(default=0.0, init=False)
    _step: int = field(default=FILES_STEP, init=False)

    def climbs(self, cases: Sequence[Case]) -> Trouble | None:
        """Return what grew suspiciously over a batch; the next batch is compared with this one."""
        now = usage(self.pid)
        if now is None:
            return None
        if not self._files:
            self._files, self._memory = now.files + self._step, now.memory
            return None
        is_due = time.monotonic() >= self._look_at
        if is_due and now.files > self._files:
            # A server may keep for a moment what it has ended.
            self._look_at = time.monotonic() + SELDOM_S
            now = self._wait_until_settled(self._files) or now
        grown = now.memory - self._memory
        self._memory = max(self._memory, now.memory)
        if is_due and now.files > self._files:
            grew = now.files - self._files + self._step
            self._step *= 2
            self._files = now.files + self._step
            return Trouble(FILES, f"{grew} more open files after {len(cases)} cases")
        usual = median(self._grown) if len(self._grown) > 2 else grown
        self._grown.append(grown)
        size = _size(cases)
        is_much = grown > usual + MEMORY_STEP + size // 4 or grown > MUCH + 8 * size
        if is_much and time.monotonic() >= self._weigh_at:
            # Each time that it was nothing, it is longer until the next look.
            self._pause_s *= 1.3
            self._weigh_at = time.monotonic() + self._pause_s
            return Trouble(MEMORY, f"{grown} more bytes after {len(cases)} cases")
        return None

    def repeat_cases(self, violated: str, cases: Sequence[Case], send: Send) -> Trouble | None:
        """Send cases several times; return the trouble if the rule's resource grows every time."""
        if violated == FILES:
            return self._climbing_files(cases, send)
        return self._climbing_memory(cases, send)

    def _climbing_files(self, cases: Sequence[Case], send: Send) -> Trouble | None:
        # One case leaks one file, and a server that is late with another hides it.
        many = list(cases) * repetitions(len(cases))
        send(many)
        before = usage(self.pid)
        for _ in range(ROUNDS):
            send(many)
            now = self._wait_until_settled(before.files) if before else None
            if before is None or now is None or now.files <= before.files:
                return None
            before = now
        return Trouble(FILES, f"open files grow with every {len(many)} cases")

    def _climbing_memory(self, cases: Sequence[Case], send: Send) -> Trouble | None:
        many = list(cases) * repetitions(len(cases))
        least = least_growth([[len(step.data) for step in case.steps] for case in cases])
        send(many)
        before = usage(self.pid)
        first = before
        for _ in range(ROUNDS):
            send(many)
            now = usage(self.pid)
            if before is None or now is None or now.memory - before.memory < least:
                return None
            before = now
        if first is None or before is None:
            return None
        grown = before.memory - first.memory
        return Trouble(MEMORY, f"{grown} more bytes after {ROUNDS * len(many)} cases")

    def _wait_until_settled(self, level: int) -> Usage | None:
        """Return the usage once open files are down to a level, or after 1.5 seconds."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            now = usage(self.pid)
            if now is None or now.files <= level or time.monotonic() > deadline:
                return now
            time.sleep(POLL_S)


def _size(cases: Sequence[Case]) -> int:
    return sum(len(step.data) for case in cases for step in case.steps)
