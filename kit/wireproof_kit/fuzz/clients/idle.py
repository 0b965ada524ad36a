"""Adds to the generated cases those in which a peer is away and nothing is sent."""

from collections.abc import Iterator
from dataclasses import dataclass

from wireproof_kit.fuzz.case import WHOLE, Case, Step
from wireproof_kit.fuzz.driver import Choice, Generation
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT, nothing_in

IDLE_EVERY = 61
"""One in this many cases sends nothing; a prime number, so that all kinds are met."""


@dataclass(frozen=True, slots=True)
class IdleCases:
    """The cases of another generator and, unless frames are chosen, cases that send nothing.

    ``idle`` are the states of the latter, in which a server is down.
    """

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
        """Yield the cases from the index `first` on, without end."""
        while True:
            yield self.case(first)
            first += 1

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return no steps: the client itself determines its state."""
        return self.inner.enter(state)

    def start(self, state: str) -> str | None:
        """Return the state itself: no steps are needed for a client."""
        self.inner.enter(state)
        return state

    def right(self, case: Case) -> Case | None:
        """Return the case that sends the valid frame from which a case was mutated, or None."""
        return None if case.frame_kind == NOTHING_SENT else self.inner.right(case)
