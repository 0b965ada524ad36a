"""Adds to the generated cases those in which a peer is away and nothing is sent."""

from collections.abc import Iterator
from dataclasses import dataclass

from wireproof_kit.fuzz.case import WHOLE, Case, Step
from wireproof_kit.fuzz.driver import Choice, Generation
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT, nothing_in

IDLE_EVERY = 61
"""One in this many cases; a prime, so that all kinds have their turn."""


@dataclass(frozen=True, slots=True)
class IdleCases:
    """Cases of another generation; where frames are not chosen, also cases in idle states."""

    inner: Generation
    choice: Choice
    idle: tuple[str, ...]

    def case(self, index: int) -> Case:
        """Return the case with this index."""
        case = self.inner.case(index)
        if index % IDLE_EVERY or not self.idle or self.choice.frames:
            return case
        state = self.idle[index // IDLE_EVERY % len(self.idle)]
        return nothing_in(case, state, state, WHOLE)

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Yield the cases from an index on, without end."""
        while True:
            yield self.case(first)
            first += 1

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return no steps: a client comes into a state by itself."""
        return self.inner.enter(state)

    def start(self, state: str) -> str | None:
        """Return the state itself, which needs no steps."""
        self.inner.enter(state)
        return state

    def right(self, case: Case) -> Case | None:
        """Return the case with the valid frame it was made from; None if there is none."""
        return None if case.frame_kind == NOTHING_SENT else self.inner.right(case)
