"""Cases of which Hypothesis draws each: fewer a second, and every choice is its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.generate.conversations import CONVERSATION
from wireproof_kit.fuzz.generate.generator import choose_kinds, starts
from wireproof_kit.fuzz.generate.grammar import Grammar, never
from wireproof_kit.fuzz.generate.random_source import RandomSource, mix_seed
from wireproof_kit.fuzz.generate.strategies import MANY, conversations, many_cases
from wireproof_kit.fuzz.generate.values import Drawer

CALM = 3
"""How much more often the turn comes of kinds that may share a connection."""
TALKS = 2
"""Conversations in a round of some cases of each kind."""


class DrawnCases:
    """All cases of a seed, each drawn; what a `Generator` offers, by property."""

    def __init__(
        self,
        grammar: Grammar,
        seed: int,
        *,
        frames: Sequence[str] = (),
        states: Sequence[str] = (),
    ) -> None:
        """As for a `Generator`.

        Raises:
            ValueError: there is no such frame, or none in such a state.
        """
        self.grammar = grammar
        self._stream = mix_seed(seed)
        talking = starts(grammar, frames, states)
        alone = bool(frames) and set(frames) == {CONVERSATION}
        there = [] if alone else [kind for kind, _ in choose_kinds(grammar, frames, states)]
        calm = [kind for kind in there if kind.is_calm is not never]
        kinds = [kind.name for kind in (*there, *calm * CALM)]
        made = (many_cases(grammar, frames=[kind], states=states, exactly=True) for kind in kinds)
        self._drawers = [Drawer(each) for each in made]
        self._talker = Drawer(conversations(grammar, states=talking)) if talking else None
        self._singles = len(self._drawers) * MANY
        self.epoch = self._singles + (TALKS if talking else 0)
        self._many = lru_cache(maxsize=len(kinds) or 1)(self._draw_cases)

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return what brings a connection into a state."""
        return self.grammar.entry[state]

    def right(self, case: Case) -> Case | None:
        """Return none: each case was drawn as it is."""
        return None

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Make all cases from an index on, without end."""
        index = first
        while True:
            yield self.case(index)
            index += 1

    def case(self, index: int) -> Case:
        """Make one case."""
        epoch, place = divmod(index, self.epoch)
        if place >= self._singles and self._talker is not None:
            return replace(self._talker.draw(self._number(index)), index=index)
        which, kind = divmod(place, len(self._drawers))
        return replace(self._many(epoch, kind)[which], index=index)

    def _draw_cases(self, epoch: int, kind: int) -> list[Case]:
        return self._drawers[kind].draw(self._number(epoch * self.epoch + kind))

    def _number(self, index: int) -> int:
        return RandomSource(self._stream, index).below(1 << 63)
