"""Cases out of a grammar: a pure function of seed and index, cheap to begin anywhere.

Hypothesis draws some frames of every kind, once for many cases (an epoch); which field of which
frame is then made wrong, and how, follows from seed and index alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from random import Random

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import (
    GRAMMAR,
    HALF_CLOSE,
    TOGETHER,
    Case,
    Frame,
    Role,
    Step,
)
from wireproof_kit.fuzz.chance import Chance, mixed
from wireproof_kit.fuzz.drawing import drawn
from wireproof_kit.fuzz.edits import Prepared
from wireproof_kit.fuzz.grammar import Grammar, Kind
from wireproof_kit.fuzz.mutations import Entry, Mutant, Mutation, menu, mutated

DRAWS = 3
"""Frames of each kind in an epoch."""
VISITS = 400
"""Cases of each frame in an epoch."""
WEIGHTS: Mapping[Role, int] = {
    "length": 6,
    "count": 6,
    "number": 3,
    "enumerator": 3,
    "json": 4,
    "body": 2,
    "text": 2,
    "fixed": 1,
    "line": 1,
}
"""How often the turn of a field of such a role comes."""
HEAVY = 1
"""How often the turn comes of all that is heavy in a frame together."""
IN_ORDER, OF = 3, 4
"""So many of so many cases come in a state where their frame is in order."""
OUT_OF_ORDER = "out of order"
"""The mutation of a right frame in a state where none of its kind is due."""


@dataclass(frozen=True, slots=True)
class Places:
    """The states that cases of a kind come in: those where it is in order, and all."""

    in_order: tuple[str, ...]
    all: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeedFrame:
    """A frame to make cases from, and all that may be done to it, in some order."""

    kind: Kind
    places: Places
    prepared: Prepared
    entries: Sequence[Entry]
    delimited: bool
    hazardous: bool


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
        """Frames are chosen by the beginnings of their kinds, states by name; empty means all.

        Raises:
            ValueError: there is no such frame, or none in such a state.
        """
        self.grammar = grammar
        self.seed = seed
        self._stream = mixed(seed)
        chosen = [
            each for each in grammar.kinds if not frames or each.name.startswith(tuple(frames))
        ]
        found = [(each, _places(grammar, each, states)) for each in chosen]
        self.kinds = tuple((kind, places) for kind, places in found if places.all)
        if not self.kinds:
            raise ValueError("no frame of that kind in that state")
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
        frame = pool[which]
        chance = Chance(self._stream, index)
        entry, mutant = _mutant(frame, visit, chance)
        state = _state(frame.places, chance)
        kind, mutation, data = frame.kind.name, entry.mutation, mutant.data
        name = mutation.name
        if name == GRAMMAR and state not in frame.places.in_order:
            name = OUT_OF_ORDER
        label = f"{kind}: {entry.row} {name}"
        if mutation.copies == 1 and not mutation.mate:
            steps: tuple[Step, ...] = (Step(data, mutant.manner, 0, label),)
        else:
            steps = _steps(pool, frame, mutant, mutation, chance=chance, label=label)
        right = data is frame.prepared.frame.data
        delimited = frame.delimited if right else self.grammar.is_delimited(kind, data)
        hazardous = frame.hazardous if right else self.grammar.is_hazardous(kind, data)
        delimited = delimited and mutant.manner is not HALF_CLOSE
        return Case(index, state, kind, entry.row, name, steps, delimited, hazardous)

    def _drawn(self, epoch: int) -> tuple[SeedFrame, ...]:
        number = Chance(self._stream, -1 - epoch).below(1 << 63)
        together = st.tuples(*(kind.strategy for kind, _ in self.kinds))
        rounds = drawn(together, number, DRAWS + 1)
        rounds = (rounds * DRAWS)[:DRAWS] if len(rounds) <= DRAWS else rounds[1:]
        frames = (frame for each in rounds for frame in each)
        order = Random(number)
        return tuple(
            self._prepared(kind, places, frame, order)
            for (kind, places), frame in zip(self.kinds * DRAWS, frames, strict=True)
        )

    def _prepared(self, kind: Kind, places: Places, frame: Frame, order: Random) -> SeedFrame:
        prepared = Prepared(frame)
        entries = _in_turn(menu(prepared, self.grammar.limits), order)
        delimited = self.grammar.is_delimited(kind.name, frame.data)
        hazardous = self.grammar.is_hazardous(kind.name, frame.data)
        return SeedFrame(kind, places, prepared, entries, delimited, hazardous)


def _in_turn(entries: Iterable[Entry], order: Random) -> list[Entry]:
    """Return entries so that the turns of fields come as often as they weigh.

    A field with many mutations has no more turns than one with few, until that one's are done.
    """
    groups: dict[int | None, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(None if entry.mutation.heavy else id(entry.field), []).append(entry)
    placed: list[tuple[float, Entry]] = []
    for key, group in groups.items():
        weight = HEAVY if key is None else WEIGHTS[group[0].field.role]
        order.shuffle(group)
        placed += (((turn + order.random()) / weight, entry) for turn, entry in enumerate(group))
    return [entry for _, entry in sorted(placed, key=itemgetter(0))]


def _places(grammar: Grammar, kind: Kind, states: Sequence[str]) -> Places:
    there = tuple(each for each in grammar.states[kind.interface] if not states or each in states)
    return Places(tuple(each for each in there if each in kind.states), there)


def _state(places: Places, chance: Chance) -> str:
    in_order = places.in_order and chance.below(OF) < IN_ORDER
    return chance.one_of(places.in_order if in_order else places.all)


def _steps(
    pool: Sequence[SeedFrame],
    frame: SeedFrame,
    mutant: Mutant,
    mutation: Mutation,
    *,
    chance: Chance,
    label: str,
) -> tuple[Step, ...]:
    """Return the copies of a frame, or a frame and its mate, in one write."""
    first = Step(mutant.data, TOGETHER, 0, label)
    if mutation.mate:
        mates = [each for each in pool if each.kind.interface == frame.kind.interface]
        mate = chance.one_of(mates).prepared.frame
        return first, Step(mate.data, mutant.manner, 0, mate.kind)
    last = Step(mutant.data, mutant.manner, 0, label)
    return (*(first,) * (mutation.copies - 1), last)


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
