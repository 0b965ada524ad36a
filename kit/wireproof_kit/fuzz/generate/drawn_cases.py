"""Cases that Hypothesis draws one by one: fewer per second, but every choice is independent."""

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
"""How often kinds of frames that may share a connection are drawn in addition."""
TALKS = 2
"""The number of cases with several frames, after each round of cases of all kinds."""


class DrawnCases:
    """Fuzz cases drawn by Hypothesis, each fixed by seed and index; used like `Generator`."""

    def __init__(
        self,
        grammar: Grammar,
        seed: int,
        *,
        frames: Sequence[str] = (),
        states: Sequence[str] = (),
    ) -> None:
        """Choose frames by prefixes of their kinds, states by name; empty means all.

        Raises:
            ValueError: there is no such frame, or the frame is never sent in such a state.
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
        """Return the steps that bring a new connection into a state."""
        return self.grammar.entry[state]

    def start(self, state: str) -> str | None:
        """Return the initial state on the interface of `state`, if a new connection has one."""
        return self.grammar.start(state)

    def right(self, case: Case) -> Case | None:
        """Return None: the valid frame behind a drawn case is not known."""
        return None

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Yield the cases from the index `first` on, without end."""
        index = first
        while True:
            yield self.case(index)
            index += 1

    def case(self, index: int) -> Case:
        """Return the case with this index."""
        epoch, place = divmod(index, self.epoch)
        if place >= self._singles and self._talker is not None:
            return replace(self._talker.draw(self._number(index)), index=index)
        which, kind = divmod(place, len(self._drawers))
        return replace(self._many(epoch, kind)[which], index=index)

    def _draw_cases(self, epoch: int, kind: int) -> list[Case]:
        return self._drawers[kind].draw(self._number(epoch * self.epoch + kind))

    def _number(self, index: int) -> int:
        return RandomSource(self._stream, index).below(1 << 63)
