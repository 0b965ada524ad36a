"""Everything one case sent and received, with times, in one list."""

import functools
import itertools
import socket
import string
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from wireproof_kit.wire.together import Together

SENT_KINDS = ("send", "request")
GLANCE_S = 0.5
"""Seconds. A shorter wait only shows that nothing has arrived yet, so it is not counted."""


@dataclass(frozen=True, slots=True)
class Part:
    """A labelled range of sent bytes; ``wrong`` marks a deliberate error in the bytes."""

    offset: int
    length: int
    label: str
    wrong: bool = False


class LateParts(Sequence[Part]):
    """Parts that are computed on first use, since most are never displayed."""

    def __init__(self, name: Callable[[], Iterable[Part]]) -> None:
        self._name = name

    @functools.cached_property
    def _parts(self) -> tuple[Part, ...]:
        return tuple(self._name())

    @overload
    def __getitem__(self, index: int) -> Part: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Part]: ...

    def __getitem__(self, index: int | slice) -> Part | Sequence[Part]:
        return self._parts[index]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __eq__(self, other: object) -> bool:
        return self._parts == (other._parts if isinstance(other, LateParts) else other)

    def __hash__(self) -> int:
        return hash(self._parts)


@dataclass(frozen=True, slots=True)
class Step:
    """One event on one connection.

    ``kind`` is open, send, receive, close, request, response or note; ``at_us`` counts
    microseconds from the start of the case, ``index`` the steps before this one.
    """

    at_us: int
    connection: str
    kind: str
    data: bytes = b""
    parts: Sequence[Part] = ()
    note: str = ""
    index: int = field(default=0, compare=False)


class Transcript:
    """A thread-safe list of the steps on the connections of a case."""

    def __init__(self) -> None:
        self._started = time.monotonic_ns()
        self.started_ms = time.time() * 1000
        """When the transcript began, in milliseconds since 1970."""
        self._steps: list[Step] = []
        self._labels = itertools.count()
        self._lock = threading.Lock()
        self.sent = 0
        """How many bytes were sent so far, over all connections."""
        self.requests = 0
        """How often something was sent so far, over all connections."""
        self.sent_at_s = 0.0
        """When something was sent last, in seconds of the monotonic clock; 0 if nothing was."""
        self.vain_s = 0.0
        """The seconds of all waits in which nothing arrived, without those below GLANCE_S."""
        self.waited_s = 0.0
        """The seconds of all waits at connections, whether something arrived or not."""
        self.together = Together()
        """The connections whose steps are recorded here."""

    def connection_label(self) -> str:
        """Return the name for the next connection: A to Z, then A2 to Z2 and so on."""
        with self._lock:
            number = next(self._labels)
        letter = string.ascii_uppercase[number % 26]
        return letter if number < 26 else f"{letter}{number // 26 + 1}"

    def extend(self, other: "Transcript") -> None:
        """Add the steps of another transcript, as if they happened now."""
        for step in other.steps():
            self.add(step.kind, step.connection, data=step.data, parts=step.parts, note=step.note)

    def add(
        self,
        kind: str,
        connection: str,
        *,
        data: bytes = b"",
        parts: Sequence[Part] = (),
        note: str = "",
    ) -> Step:
        """Append one step with the time since the start of the transcript, and return it."""
        now = time.monotonic_ns()
        at_us = (now - self._started) // 1000
        with self._lock:
            step = Step(at_us, connection, kind, data, parts, note, len(self._steps))
            self._steps.append(step)
            if kind in SENT_KINDS:
                self.sent += len(data)
                self.requests += 1
                self.sent_at_s = now / 1e9
        return step

    @property
    def count(self) -> int:
        """Return how many steps are recorded so far."""
        return len(self._steps)

    def count_beside(self, connection: str, first: int) -> dict[str, int]:
        """Return how much each other connection received from step ``first`` on, no heartbeats."""
        counts = Counter[str]()
        for step in self.steps()[first:]:
            if step.kind == "receive" and step.connection != connection and not step.note:
                counts[step.connection] += 1
        return dict(sorted(counts.items()))

    def add_wait(self, seconds: float) -> None:
        """Add seconds in which nothing arrived to the total, unless fewer than ``GLANCE_S``."""
        with self._lock:
            self.vain_s += seconds if seconds >= GLANCE_S else 0.0

    def wait_together(self, sock: socket.socket, events: int, deadline: float) -> int:
        """Wait as `Together.wait` does, and count the seconds."""
        began = time.monotonic()
        try:
            return self.together.wait(sock, events, deadline)
        finally:
            with self._lock:
                self.waited_s += time.monotonic() - began

    def steps(self) -> tuple[Step, ...]:
        """Return the steps recorded so far."""
        with self._lock:
            return tuple(self._steps)
