"""The cases that an adapter can answer: their requests are JSON objects on one line."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

from wireproof_kit.fuzz.case import GRAMMAR, Case, Step
from wireproof_kit.fuzz.generate.generator import choose_kinds
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import (
    FRAME,
    Column,
    Mutation,
    MutationChoices,
    choices,
    mutate,
    mutations_of,
)
from wireproof_kit.fuzz.generate.random_source import RandomSource, mix_seed
from wireproof_kit.fuzz.generate.seed_frames import KindStates, SeedFrame, case_of, seed_frame
from wireproof_kit.fuzz.generate.values import Drawer
from wireproof_kit.fuzz.send.write_styles import write_whole
from wireproof_kit.oms.fuzz.frames import OPENED, WITH_MESSAGE, documents
from wireproof_kit.oms.fuzz.requests import is_answerable

DOCUMENT: Final = "document"
"""The field of a case whose whole message is drawn."""
_DRAWN: Final = 16
"""One in this many cases that hand over a message is drawn, which takes up to 14 ms."""
_OTHERS: Final = 4
"""One in this many cases is another request than one that hands over a message."""
_FRAMES: Final = 16
"""The number of requests of each kind from which cases are made."""
_STATES: Final = KindStates((OPENED,), (OPENED,))


class AdapterCases:
    """All cases of a seed: requests made wrong in one field, and documents drawn as a whole.

    How a request is divided into writes is never tried: an adapter reads lines.
    """

    def __init__(
        self,
        grammar: Grammar,
        seed: int,
        *,
        frames: Sequence[str] = (),
        states: Sequence[str] = (),
    ) -> None:
        """Choose kinds of requests by their prefixes; empty means all.

        Raises:
            ValueError: there is no such kind or state.
        """
        self.grammar = grammar
        kinds = [kind for kind, _ in choose_kinds(grammar, frames, states)]
        self._messages = [kind for kind in kinds if kind.name in WITH_MESSAGE]
        self._others = [kind for kind in kinds if kind.name not in WITH_MESSAGE]
        self._documents = {
            message.name: {name: Drawer(made) for name, made in documents(message.name).items()}
            for message in self._messages
        }
        self._drawers = {kind.name: Drawer(kind.strategy) for kind in kinds}
        self._stream = mix_seed(seed)
        self._prepared = lru_cache(maxsize=_FRAMES * len(kinds))(self._prepare)

    def case(self, index: int) -> Case:
        """Return the case with this index."""
        return self._make(index)[0]

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Yield the cases from an index on, without end."""
        while True:
            yield self.case(first)
            first += 1

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return no steps: an adapter is open from the start."""
        return self.grammar.entry[state]

    def start(self, state: str) -> str | None:
        """Return the state that needs no steps."""
        return self.grammar.start(state)

    def right(self, case: Case) -> Case | None:
        """Return the case with the valid request it was made from; None if there is none."""
        made, frame = self._make(case.index)
        if frame is None or made.frame_kind != case.frame_kind:
            return None
        steps = (Step(frame.frame.data, label=case.frame_kind),)
        return replace(case, field=FRAME, mutation=GRAMMAR, steps=steps, hazardous=frame.hazardous)

    def _make(self, index: int) -> tuple[Case, SeedFrame | None]:
        """Return a case, and the request it was made from if it is not drawn as a whole."""
        source = RandomSource(self._stream, index)
        hands_over = bool(self._messages) and (not self._others or source.below(_OTHERS))
        kind = source.one_of(self._messages if hands_over else self._others)
        while True:
            made: Case | None = None
            frame: SeedFrame | None = None
            if hands_over and not source.below(_DRAWN):
                made = self._draw(kind, index, source)
            else:
                frame, entries = self._prepared(kind, source.below(_FRAMES))
                made = self._mutate(frame, entries, index, source)
            if made is not None and all(is_answerable(step.data) for step in made.steps):
                return made, frame

    def _mutate(
        self, frame: SeedFrame, entries: MutationChoices, index: int, source: RandomSource
    ) -> Case | None:
        entry = entries[source.below(len(entries))]
        mutant = mutate(frame.prepared, entry, source)
        if mutant is None:
            return None
        done = (entry, mutant)
        return case_of(
            self.grammar, index, frame, done, state=OPENED, mates=[frame], source=source
        )

    def _draw(self, kind: Kind, index: int, source: RandomSource) -> Case:
        drawers = self._documents[kind.name]
        name = source.one_of(list(drawers))
        data = drawers[name].draw(source.below(1 << 63))
        steps = (Step(data, label=f"{kind.name}: {name}"),)
        return Case(index, OPENED, kind.name, DOCUMENT, name, steps, delimited=True)

    def _prepare(self, kind: Kind, number: int) -> tuple[SeedFrame, MutationChoices]:
        source = RandomSource(self._stream, -1 - number)
        frame = self._drawers[kind.name].draw(source.below(1 << 63))
        made = seed_frame(self.grammar, kind, _STATES, frame)
        limits, traps = self.grammar.limits, self.grammar.traps
        return made, choices(made.prepared, limits, traps, wanted=_that_fit)


@cache
def _that_fit(column: Column) -> tuple[Mutation, ...]:
    """Return the mutations of a field that may leave a request on one line."""
    return tuple(
        mutation
        for mutation in mutations_of(column)
        if mutation.style is write_whole and mutation.lengths == "follow" and not mutation.mark
    )
