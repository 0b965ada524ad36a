"""Cases out of a grammar: a pure function of seed and index, cheap to begin anywhere.

Hypothesis draws some frames of every kind, once for many cases (an epoch); which field of which
frame is then made wrong, and how, follows from seed and index alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import (
    GRAMMAR,
    HALF_CLOSE,
    TOGETHER,
    Case,
    Frame,
    Manner,
    Role,
    Step,
)
from wireproof_kit.fuzz.chance import Chance
from wireproof_kit.fuzz.drawing import drawn
from wireproof_kit.fuzz.edits import Prepared
from wireproof_kit.fuzz.grammar import Grammar, Kind
from wireproof_kit.fuzz.mutations import Entry, Mutant, menu, mutated
from wireproof_kit.fuzz.walk import pattern

DRAWS = 3
"""Frames of each kind in an epoch."""
VISITS = 400
"""Cases of each frame in an epoch."""
WEIGHTS: Mapping[Role, int] = {
    "length": 6,
    "count": 6,
    "number": 3,
    "enumerator": 3,
    "json": 2,
    "body": 2,
    "text": 2,
    "fixed": 1,
    "line": 1,
}
"""How often a mutation of such a field stands on a frame's list; a heavy one stands there once."""
IN_ORDER, OF = 3, 4
"""So many of so many cases come in a state where their frame is in order."""
OUT_OF_ORDER = "out of order"
"""The mutation of a right frame in a state where none of its kind is due."""


@dataclass(frozen=True, slots=True)
class SeedFrame:
    """A frame to make cases from, and all that may be done to it, in some order."""

    kind: Kind
    prepared: Prepared
    entries: Sequence[Entry]


class Generator:
    """All cases of a seed, for some kinds of frames and states."""

    def __init__(
        self,
        grammar: Grammar,
        seed: int,
        *,
        frames: Sequence[str] = (),
        states: Sequence[str] = (),
    ) -> None:
        """Frames are chosen by the beginnings of their kinds, states by name; empty means all."""
        self.grammar = grammar
        self.seed = seed
        self._states = frozenset(states)
        kinds = [
            each for each in grammar.kinds if not frames or each.name.startswith(tuple(frames))
        ]
        self.kinds = tuple(each for each in kinds if self._states_of(each.interface))
        self.epoch = len(self.kinds) * DRAWS * VISITS
        self._seed_frames = lru_cache(maxsize=2)(self._drawn)

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return what brings a connection into a state."""
        return self.grammar.entry[state]

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Make all cases from an index on, without end."""
        index = first
        while True:
            yield self.case(index)
            index += 1

    def case(self, index: int) -> Case:
        """Make one case."""
        epoch, place = divmod(index, self.epoch)
        pool = self._seed_frames(epoch)
        visit, which = divmod(place, len(pool))
        chance = Chance(self.seed, index)
        return self._made(index, pool, which, visit, chance)

    def _made(
        self, index: int, pool: Sequence[SeedFrame], which: int, visit: int, chance: Chance
    ) -> Case:
        frame = pool[which]
        entry, mutant = _mutant(frame, visit, chance)
        kind, mutation = frame.kind, entry.mutation
        state = self._state(kind, chance)
        name = mutation.name
        if name == GRAMMAR and state not in kind.states:
            name = OUT_OF_ORDER
        field = pattern(entry.field.path)
        label = f"{kind.name}: {field} {name}"
        steps = [Step(mutant.data, mutant.manner, 0, label)]
        if mutation.copies > 1:
            steps = [Step(mutant.data, TOGETHER, 0, label)] * (mutation.copies - 1) + steps
        if mutation.mate:
            mate = self._mate(pool, kind, chance)
            behind = Step(mate.data, mutant.manner, 0, mate.kind)
            steps = [Step(mutant.data, TOGETHER, 0, label), behind]
        return Case(
            index,
            state,
            kind.name,
            field,
            name,
            tuple(steps),
            self._delimited(kind.name, mutant.data, mutant.manner),
            self.grammar.is_hazardous(kind.name, mutant.data),
        )

    def _delimited(self, kind: str, data: bytes, manner: Manner) -> bool:
        return manner is not HALF_CLOSE and self.grammar.is_delimited(kind, data)

    def _mate(self, pool: Sequence[SeedFrame], kind: Kind, chance: Chance) -> Frame:
        mates = [each for each in pool if each.kind.interface == kind.interface]
        return chance.one_of(mates).prepared.frame

    def _state(self, kind: Kind, chance: Chance) -> str:
        there = self._states_of(kind.interface)
        if chance.below(OF) < IN_ORDER:
            there = tuple(each for each in there if each in kind.states) or there
        return chance.one_of(there)

    def _states_of(self, interface: str) -> tuple[str, ...]:
        there = self.grammar.states[interface]
        return tuple(each for each in there if not self._states or each in self._states)

    def _drawn(self, epoch: int) -> tuple[SeedFrame, ...]:
        number = Chance(self.seed, -1 - epoch).below(1 << 63)
        together = st.tuples(*(kind.strategy for kind in self.kinds))
        rounds = drawn(together, number, DRAWS + 1)
        rounds = (rounds * DRAWS)[:DRAWS] if len(rounds) <= DRAWS else rounds[1:]
        frames = zip(self.kinds * DRAWS, (frame for each in rounds for frame in each), strict=True)
        order = Random(number)
        return tuple(self._prepared(kind, frame, order) for kind, frame in frames)

    def _prepared(self, kind: Kind, frame: Frame, order: Random) -> SeedFrame:
        prepared = Prepared(frame)
        entries: list[Entry] = []
        for entry in menu(prepared, self.grammar.limits):
            entries += [entry] * (1 if entry.mutation.heavy else WEIGHTS[entry.field.role])
        order.shuffle(entries)
        return SeedFrame(kind, prepared, entries)


def _mutant(frame: SeedFrame, visit: int, chance: Chance) -> tuple[Entry, Mutant]:
    """Do what is next on a frame's list; what would change nothing is passed over."""
    entries = frame.entries
    at = visit
    while True:
        entry = entries[at % len(entries)]
        mutant = mutated(frame.prepared, entry, chance)
        if mutant is not None:
            return entry, mutant
        at += 1
