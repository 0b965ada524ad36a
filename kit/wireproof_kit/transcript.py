"""Everything one case sent and received, with times, in one list."""

import itertools
import string
import threading
import time
from dataclasses import dataclass

IN_TLS = "from here on in TLS"
"""Begins the note of the step after which a connection is encrypted."""


@dataclass(frozen=True, slots=True)
class Part:
    """A labelled range of sent bytes; ``wrong`` marks what was made wrong on purpose."""

    offset: int
    length: int
    label: str
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One event on one connection.

    ``kind`` is open, send, receive, close, request, response or note; ``at_us`` counts
    microseconds from the start of the case.
    """

    at_us: int
    connection: str
    kind: str
    data: bytes = b""
    parts: tuple[Part, ...] = ()
    note: str = ""


class Transcript:
    """A list of steps that several connections and threads may add to."""

    def __init__(self) -> None:
        self._started = time.monotonic_ns()
        self._steps: list[Step] = []
        self._labels = itertools.count()
        self._lock = threading.Lock()

    def connection_label(self) -> str:
        """Return the next connection's name: A to Z, then A2 to Z2 and on."""
        with self._lock:
            number = next(self._labels)
        letter = string.ascii_uppercase[number % 26]
        return letter if number < 26 else f"{letter}{number // 26 + 1}"

    def add(
        self,
        kind: str,
        connection: str,
        *,
        data: bytes = b"",
        parts: tuple[Part, ...] = (),
        note: str = "",
    ) -> None:
        """Append one step, stamped with the time since the transcript began."""
        at_us = (time.monotonic_ns() - self._started) // 1000
        with self._lock:
            self._steps.append(Step(at_us, connection, kind, data, parts, note))

    def steps(self) -> tuple[Step, ...]:
        """Return what has been recorded so far."""
        with self._lock:
            return tuple(self._steps)
