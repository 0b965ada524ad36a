"""Histories: random sequences of moves, searched by a Hypothesis rule machine inside one case.

A move has a name and a number for its choices. The first history that breaks the law ends the
search. A faulty target may not repeat its fault, and Hypothesis shrinks only repeatable failures.
So the moves are shortened here: one part after another is left out, with limits on runs and time
and with little patience. The shortest history is then played once more with all patience.
Hypothesis is imported only when a search begins.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, cast

from wireproof_kit.errors import ArrangementFailed, KitError
from wireproof_kit.observation import Observation, observed

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

KEPT = "kept"
CHOICES = 8
PROFILE = "HYPOTHESIS_PROFILE"
LIGHT = "light"
LIGHTER = 13


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a property-based search for a violation continues.

    It tries ``examples`` sequences of ``steps`` operations; a failing one is repeated up to
    ``shrinks`` times in ``shrink_seconds`` to be shortened. After ``seconds`` the current sequence
    is completed and no other is begun.
    """

    examples: int = 25
    steps: int = 20
    seconds: float = 25.0
    shrinks: int = 100
    shrink_seconds: float = 8.0


SHORT = Effort()
DEEP = Effort(examples=2000, steps=40, seconds=75.0, shrinks=400, shrink_seconds=30.0)


def usual_effort(short: Effort = SHORT) -> Effort:
    """Return the effort of a search: ``short``, or what HYPOTHESIS_PROFILE says."""
    profile = os.environ.get(PROFILE)
    if profile == LIGHT:
        return replace(short, examples=-(-short.examples // LIGHTER))
    return DEEP if profile == "deep" else short


class LawBroken(Exception):
    """A sequence of operations showed wrong behaviour: an observation's word, and a note."""

    def __init__(self, word: str, note: str, *, overdue: bool = False) -> None:
        super().__init__(f"{word}: {note}")
        self.word = word
        self.note = note
        self.overdue = overdue


class History(Protocol):
    """One sequence of operations on a target; each method but ``close`` may raise LawBroken."""

    def move(self, name: str, choice: int) -> str:
        """Perform an operation and return its description; empty if nothing was done."""
        ...

    def end(self) -> None:
        """Complete the sequence, and check that everything that must arrive does."""
        ...

    def close(self) -> None:
        """Release all resources without raising an error."""
        ...


class Begin(Protocol):
    """Starts operations: with short waits if ``hurried``, with a transcript if ``shown``."""

    def __call__(self, *, hurried: bool, shown: bool) -> History:
        """Return a history of which nothing has happened yet."""
        ...


Move = tuple[str, int]

_WARMING = threading.Lock()
_warm = threading.Event()


@dataclass(frozen=True, slots=True)
class Failure:
    """A sequence of operations that led to wrong behaviour, their descriptions, and the error."""

    moves: tuple[Move, ...]
    words: tuple[str, ...]
    broken: LawBroken

    def observation(self) -> Observation:
        """Return the observation of the failure; its note lists the operations."""
        note = f"{'; '.join(self.words)} → {self.broken.note}"
        return observed(self.broken.word, overdue=self.broken.overdue, note=note)


class _Enough(BaseException):
    """Ends a search; Hypothesis lets it pass."""


@dataclass(slots=True)
class _Search:
    begin: Begin
    effort: Effort
    tell: Callable[[str], None]
    started: float = field(default_factory=time.monotonic)
    runs: int = 0
    made: int = 0
    first: Failure | None = None
    trouble: KitError | None = None
    ended: bool = False

    def next_run(self) -> "_Run":
        """Begin one more history.

        Raises:
            _Enough: there have been enough.
        """
        if self.first is not None or self.is_over():
            self.ended = True
            raise _Enough
        run = _Run(self)
        self.guard(run.start)
        return run

    def is_over(self) -> bool:
        """Tell whether no other history is to be begun, and the one at hand to be ended."""
        return time.monotonic() - self.started > self.effort.seconds

    def guard(self, act: Callable[[], None]) -> None:
        """Do something with the target; what keeps the kit from it ends the search."""
        try:
            act()
        except KitError as error:
            self.trouble = self.trouble or error
            self.ended = True
            raise _Enough from error


class _Run:
    """One history of a search, with its moves so far."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._history: History | None = None
        self._moves: list[Move] = []
        self._words: list[str] = []
        self._over = False

    def start(self) -> None:
        """Begin the history."""
        self._history = self._search.begin(hurried=False, shown=False)

    def move(self, name: str, choice: int) -> None:
        """Make a move, unless time is over: then the history only has to end."""
        if not self._over and not self._search.is_over():
            self._search.guard(lambda: self._judge(lambda: self._move(name, choice)))

    def end(self, *, checked: bool) -> None:
        """Let go of the history, after the last check if it got so far."""
        try:
            if checked and not self._over:
                self._search.guard(lambda: self._judge(self._end))
        finally:
            if self._history is not None:
                self._history.close()

    def _judge(self, act: Callable[[], None]) -> None:
        try:
            act()
        except LawBroken as broken:
            self._over = True
            self._search.first = Failure(tuple(self._moves), tuple(self._words), broken)
            raise

    def _move(self, name: str, choice: int) -> None:
        if self._history is None:
            return
        self._moves.append((name, choice))
        self._words.append(name)
        words = self._history.move(name, choice)
        self._words.pop()
        if words:
            self._words.append(words)
            self._search.made += 1
        else:
            self._moves.pop()

    def _end(self) -> None:
        if self._history is not None:
            self._history.end()
        self._search.runs += 1
        self._search.tell("; ".join(self._words))


def search(
    begin: Begin,
    moves: Sequence[str],
    *,
    seed: int,
    tell: Callable[[str], None],
    effort: Effort = SHORT,
) -> Observation:
    """Try random sequences of operations until one fails.

    Return the observation ``kept``, or that of the shortest failing sequence. The same seed gives
    the same sequences. ``tell`` is called with a note about each sequence that did not fail.

    Raises:
        KitError: the kit could not search, for instance for lack of time, and found nothing.
    """
    state = _Search(begin, effort, tell)
    _explore(state, moves, seed)
    if state.first is not None:
        return _find_shown(begin, state.first, effort).observation()
    if state.trouble is not None:
        raise state.trouble
    if not state.runs:
        raise ArrangementFailed(f"no history came to its end in {effort.seconds:g} s")
    return observed(KEPT, note=f"{state.runs} histories, {state.made} moves")


def _find_shown(begin: Begin, first: Failure, effort: Effort) -> Failure:
    """Return the shortest failure with the same word that repeats, else the first failure."""
    word = first.broken.word
    best = _shorten(begin, first, effort)
    return _play(begin, best.moves, word, shown=True) or first


def _shorten(begin: Begin, first: Failure, effort: Effort) -> Failure:
    """Leave out one part of the moves after another, halves first, single moves last."""
    best, plays = first, 0
    started = time.monotonic()
    size = len(best.moves) // 2
    while size:
        at = 0
        while at < len(best.moves):
            if plays == effort.shrinks or time.monotonic() - started > effort.shrink_seconds:
                return best
            plays += 1
            moves = best.moves[:at] + best.moves[at + size :]
            shorter = _play(begin, moves, first.broken.word, shown=False)
            best, at = (shorter, at) if shorter else (best, at + size)
        size //= 2
    return best


def _play(begin: Begin, moves: Sequence[Move], word: str, *, shown: bool) -> Failure | None:
    """Play a sequence; None when it does not break the law in the way the word says."""
    words: list[str] = []
    try:
        history = begin(hurried=not shown, shown=shown)
    except KitError:
        return None
    try:
        for name, choice in moves:
            words.append(name)
            words[-1] = history.move(name, choice) or f"({name})"
        history.end()
    except LawBroken as broken:
        made = tuple(moves[: len(words)])
        return Failure(made, tuple(words), broken) if broken.word == word else None
    except KitError:
        return None
    finally:
        history.close()
    return None


def _explore(state: _Search, moves: Sequence[str], seed: int) -> None:
    """Let Hypothesis search for a failure; the result is stored in the search."""
    import hypothesis
    from hypothesis.errors import Flaky

    _warm_up()
    from hypothesis.stateful import run_state_machine_as_test

    effort = state.effort
    settings = hypothesis.settings(
        max_examples=effort.examples,
        stateful_step_count=effort.steps,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate,),
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=(hypothesis.HealthCheck.too_slow,),
        report_multiple_bugs=False,
        print_blob=False,
    )
    machine = _machine(state, moves)

    # A function: of a class Hypothesis would parse the source, see _warm_up.
    @hypothesis.seed(seed)
    def histories() -> "RuleBasedStateMachine":
        return machine()

    try:
        run_state_machine_as_test(
            cast("type[RuleBasedStateMachine]", histories), settings=settings
        )
    except _Enough:
        return
    except (LawBroken, Flaky):
        # Cut short, a history looks to Hypothesis like one that draws otherwise than before.
        if state.first is None and not state.ended:
            raise


def _warm_up() -> None:
    """Let Hypothesis look through the modules it draws from before any search begins.

    It parses their sources when it first draws, which fails in one thread while another
    search, in its own thread, sets the recursion limit.
    """
    import hypothesis
    from hypothesis import strategies as st

    with _WARMING:
        if _warm.is_set():
            return

        @hypothesis.seed(0)
        @hypothesis.settings(max_examples=2, database=None, deadline=None)
        @hypothesis.given(st.lists(st.integers(0, 1), min_size=300, max_size=300))
        def draw(numbers: list[int]) -> None:
            del numbers

        draw()
        _warm.set()


def _machine(state: _Search, moves: Sequence[str]) -> "type[RuleBasedStateMachine]":
    """Return a rule machine that makes moves.

    One rule draws which: of several, Hypothesis leaves some out of whole histories, and a short
    search has none to spare.
    """
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule

    class Histories(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.run = state.next_run()

        @rule(name=st.sampled_from(moves), choice=st.integers(0, CHOICES - 1))
        def move(self, name: str, choice: int) -> None:
            self.run.move(name, choice)

        def teardown(self) -> None:
            self.run.end(checked=sys.exc_info()[1] is None)

    return Histories
