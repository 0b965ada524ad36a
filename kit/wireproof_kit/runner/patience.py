"""How long to wait, by the kind of wait; measured per target, scaled by one option."""

import contextlib
import os
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum


class Wait(Enum):
    """The kinds of waits, each with its own time limit."""

    ANSWER = "answer"
    PUSH = "push"
    REDELIVERY = "redelivery"
    SETTLING = "settling"


BUSY_LIMIT = 4.0
LEAST_LOAD = 1.5
"""How many times longer waits are before the user is told."""
SHORTEST_S = 0.2
"""The time limit in seconds of every wait of a hurried case."""
# A case is given up after two minutes: it must have seen before that its wait was in vain.
LONGEST_WAIT = 80.0

ANSWER = Wait.ANSWER
PUSH = Wait.PUSH
REDELIVERY = Wait.REDELIVERY
SETTLING = Wait.SETTLING


_is_hurried: ContextVar[Callable[[], bool]] = ContextVar("_is_hurried", default=lambda: False)


@contextlib.contextmanager
def hurry(is_hurried: Callable[[], bool]) -> Generator[None]:
    """In this block and thread, shorten all waits as soon as ``is_hurried`` returns True."""
    token = _is_hurried.set(is_hurried)
    try:
        yield
    finally:
        _is_hurried.reset(token)


def in_hurry(seconds: float) -> float:
    """Return a time limit in seconds, shortened if the case of this thread is hurried."""
    return min(seconds, SHORTEST_S) if _is_hurried.get()() else seconds


@dataclass(frozen=True, slots=True)
class Patience:
    """The time limit in seconds for each kind of wait.

    ``settling`` is for what several nodes have to agree on, such as a leader: no text says how
    soon they must, and measured clusters took 30 s under load. It is ``redelivery`` unless given.
    ``is_withheld``: nothing was delivered while patience was measured. ``in_rounds``: the target
    looks for due messages at intervals, which are longer on a busy machine. ``is_fixed``: no case
    waits by these limits, and none ever waits shorter. ``is_assumed``: deliveries are still to be
    measured.
    """

    answer: float
    push: float
    redelivery: float
    in_rounds: bool = False
    settling: float | None = None
    is_withheld: bool = False
    is_fixed: bool = False
    is_assumed: bool = False

    def seconds(self, wait: Wait) -> float:
        """Return the time limit of a kind of wait in seconds."""
        limit: float | None = getattr(self, wait.value)
        return in_hurry(self.redelivery if limit is None else limit)

    def settling_seconds(self) -> float:
        """Return the seconds that several nodes may take to agree, longer on a busy machine."""
        seconds = self.seconds(SETTLING)
        if self.settling is None:
            return seconds
        return max(seconds, min(seconds * machine_load(), LONGEST_WAIT))


def machine_load() -> float:
    """Return how many times slower than idle this machine may be now, 1 to 4, to lengthen a wait.

    Whoever notes lengthened waits in this process is told.
    """
    load = read_load()
    for noted in _noting:
        noted.note(load)
    return load


def read_load() -> float:
    """Return how many times slower than idle this machine may be now, where nothing waits."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(waiting, 1.0), BUSY_LIMIT)


@dataclass(slots=True)
class Lengthening:
    """How many times waits were lengthened at most; ``tell`` is called when they first are."""

    tell: Callable[[float], None]
    most: float = 1.0

    def note(self, load: float) -> None:
        """Note that a wait is so many times as long as on an idle machine."""
        is_first = self.most < LEAST_LOAD <= load
        self.most = max(self.most, load)
        if is_first:
            self.tell(load)


_noting: list[Lengthening] = []


@contextlib.contextmanager
def note_lengthening(tell: Callable[[float], None]) -> Generator[Lengthening]:
    """In this block, note how much waits are lengthened in all threads; tell the first time."""
    noted = Lengthening(tell)
    _noting.append(noted)
    try:
        yield noted
    finally:
        _noting.remove(noted)
