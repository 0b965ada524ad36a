"""The limits of a case with a client: how long it may take, and how much of it is kept."""

from dataclasses import dataclass
from typing import Final

CHUNK: Final = 1 << 14
"""The most bytes read at once: of a flood of NOP they are 4,096 events."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a case is kept; a client that sends more is ended.

    ``bytes`` counts all connections and the driver's lines, ``text`` these lines alone, which
    take up to eight times as much memory when they are decoded.
    """

    bytes: int
    events: int
    text: int


OF_CASE: Final = Bounds(bytes=2 << 20, events=20_000, text=1 << 19)
"""Real clients and their drivers wrote up to 150 KiB and made 1,100 events in a case."""
MOST_WRITTEN: Final = 64 << 20
"""Bytes that a client may write to stdout or stderr; one that writes more is ended.

No log of a case is so long. Without a limit, `yes` kept a processor busy for half a minute.
"""
OF_SHORT_RUN: Final = Bounds(bytes=1 << 17, events=2_000, text=1 << 17)
"""All two dozen short runs are kept while the cases run."""
OF_FUZZ_RUN: Final = Bounds(bytes=2 << 20, events=20_000, text=2 << 20)
"""A driver repeats in base64 what a fuzzed node sends."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in seconds and in size.

    ``start`` are the seconds until the client first connects, ``course`` those from then to the
    case's end.
    """

    start: float
    course: float
    kept: Bounds = OF_CASE
