"""Cases generated from a grammar: a pure function of seed and index, cheap to start anywhere.

Hypothesis draws some frames of every kind once for many cases (an epoch). Which field of which
frame is then mutated, and how, depends on seed and index alone. Measured: Hypothesis takes about
640 µs to draw a case, of which sending is 4 %; a mutation takes 2 µs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import GRAMMAR, WHOLE, Case, Frame, Step
from wireproof_kit.fuzz.generate.conversations import CONVERSATION, write_script
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.first_mutations import First, share_first
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.held_cases import (
    EXERCISE_AT,
    EXERCISE_EVERY,
    NOTHING_SENT,
    HeldCases,
    nothing_in,
)
from wireproof_kit.fuzz.generate.mutations import FRAME, Mutant
from wireproof_kit.fuzz.generate.random_source import RandomSource, mix_seed
from wireproof_kit.fuzz.generate.seed_frames import (
    KindStates,
    SeedFrame,
    case_of,
    has_calm_cases,
    next_mutant,
    places_of,
    seed_frame,
)
from wireproof_kit.fuzz.generate.values import Drawer

DRAWS = 3
"""The minimum number of frames of each kind in an epoch."""
FRAMES = 60
"""The minimum number of frames in an epoch.

With few frames of a kind, all of them might be frames that brokers answer differently.
"""
VISITS = 100
"""The minimum number of cases mutated from each frame in an epoch."""
LEAST = 20_000
"""The minimum number of cases in an epoch: drawing a frame costs more than mutating it."""
CALM = 1.0
"""Added cases that change only content, per other case: many of them fit on a connection."""
HELD_EVERY = 211
"""One in this many cases may be held open; a prime number, so that all kinds are met."""
TALKS = 2
"""The number of cases with several frames, after each round of one case per frame."""
IN_ORDER, OF = 3, 4
"""3 of 4 cases are sent in a state in which their frame is allowed."""


class NothingChosen(ValueError):
    """None of the chosen frames is ever sent in a chosen state."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The valid frames from which the cases of an epoch are mutated.

    `calm` are the frames with mutations that change only content; `talking` are those used in
    cases of several frames.
    """

    all: tuple[SeedFrame, ...]
    calm: tuple[SeedFrame, ...]
    talking: tuple[SeedFrame, ...]


class Generator:
    """Fuzz cases for the chosen kinds of frames and states, each fixed by seed and index."""

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
        self.kinds = choose_kinds(grammar, frames, states)
        self._stream = mix_seed(seed)
        self._starts = starts(grammar, frames, states)
        self._exercises = () if frames or states else grammar.exercises
        self._held = HeldCases(grammar.beating, frames, states)
        alone = bool(frames) and set(frames) == {CONVERSATION}
        self._draws = max(DRAWS, -(-FRAMES // len(self.kinds)))
        self._singles = 0 if alone else len(self.kinds) * self._draws
        self._calm = self._singles + int(self._singles * CALM)
        self._round = self._calm + (TALKS if self._starts else 0)
        self.epoch = self._round * max(VISITS, -(-LEAST // self._round))
        self._drawer = Drawer(st.tuples(*(kind.strategy for kind, _ in self.kinds)))
        self._pool = lru_cache(maxsize=2)(self._draw_pool)

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return the steps that bring a new connection into a state."""
        return self.grammar.entry[state]

    def start(self, state: str) -> str | None:
        """Return the initial state on the interface of `state`, if a new connection has one."""
        return self.grammar.start(state)

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Yield the cases from the index `first` on, without end."""
        index = first
        while True:
            yield self.case(index)
            index += 1

    def right(self, case: Case) -> Case | None:
        """Return the case that sends the valid frame from which a case was mutated, or None."""
        if case.frame_kind == NOTHING_SENT:
            return None
        epoch, place = divmod(self._turn(case.index), self.epoch)
        which = place % self._round
        if which >= self._calm:
            return None
        pool = self._pool(epoch)
        calm = pool.calm or pool.all
        frame = (
            pool.all[which] if which < self._singles else calm[self._calm_turn(place) % len(calm)]
        )
        return replace(
            case,
            field=FRAME,
            mutation=GRAMMAR,
            steps=(Step(frame.frame.data, label=frame.kind.name),),
            delimited=frame.delimited,
            hazardous=frame.hazardous,
        )

    def case(self, index: int) -> Case:
        """Return the case with this index."""
        case = self._case(index)
        number, place = divmod(index % EXERCISE_EVERY - EXERCISE_AT, EXERCISE_AT)
        if not place and 0 <= number < len(self._exercises):
            state = self.grammar.start(case.state) or case.state
            return nothing_in(case, state, self._exercises[number], WHOLE)
        if index % HELD_EVERY == HELD_EVERY - 1:
            return self._held.hold(case, RandomSource(self._stream, index))
        return case

    def first_rows(self) -> frozenset[tuple[str, str, str]]:
        """Return frame kind, field and mutation of the cases that come before random ones."""
        return frozenset(
            (frame.kind.name, entry.row, entry.mutation.name)
            for frame in self._pool(0).all
            for entry in (*frame.entries.first, *frame.calm.first)
        )

    def _turn(self, index: int) -> int:
        """Return which mutation a case has, counted over all cases.

        Cases without a mutation of their own (exercises), and those that may be held open, do not
        count. Each of the latter has an earlier one again: held open, it is not tried as usual.
        """
        rounds, place = divmod(index, EXERCISE_EVERY)
        exercises = range(1, len(self._exercises) + 1)
        done = rounds * len(exercises) + sum(
            place > exercise * EXERCISE_AT for exercise in exercises
        )
        turn = index - done - index // HELD_EVERY
        if index % HELD_EVERY == HELD_EVERY - 1:
            epoch, place = divmod(turn, self.epoch)
            return epoch * self.epoch + RandomSource(self._stream, index).below(place + 1)
        return turn

    def _case(self, index: int) -> Case:
        epoch, place = divmod(self._turn(index), self.epoch)
        visit, which = divmod(place, self._round)
        pool = self._pool(epoch)
        source = RandomSource(self._stream, index)
        if which >= self._calm:
            return self._conversation(index, pool, source)
        if which >= self._singles:
            return self._calm_case(index, pool, self._calm_turn(place), source)
        frame = pool.all[which]
        done = next_mutant(frame.prepared, frame.entries, visit, source)
        state = _state(frame.places, source)
        return case_of(
            self.grammar,
            index,
            frame,
            done,
            state=state,
            mates=pool.all,
            source=source,
        )

    def _calm_turn(self, place: int) -> int:
        """Return the number of a calm case among those of its epoch."""
        visit, which = divmod(place, self._round)
        return visit * (self._calm - self._singles) + which - self._singles

    def _calm_case(self, index: int, pool: Pool, turn: int, source: RandomSource) -> Case:
        calm = pool.calm or pool.all
        visit, which = divmod(turn, len(calm))
        frame = calm[which]
        done = next_mutant(frame.prepared, frame.calm or frame.entries, visit, source)
        state = source.one_of(frame.places.in_order or frame.places.all)
        return case_of(
            self.grammar,
            index,
            frame,
            done,
            state=state,
            mates=pool.all,
            source=source,
        )

    def _conversation(self, index: int, pool: Pool, source: RandomSource) -> Case:
        def break_frame(which: int) -> tuple[Mutant, str]:
            frame, at = pool.talking[which], source.below(1 << 16)
            entry, mutant = next_mutant(frame.prepared, frame.entries, at, source)
            return mutant, f"{entry.row} {entry.mutation.name}"

        frames = [(each.kind, each.frame) for each in pool.talking]
        script = write_script(
            self.grammar, frames, break_frame, starts=self._starts, choose=source.below
        )
        return script.case(index)

    def _draw_pool(self, epoch: int) -> Pool:
        source = RandomSource(self._stream, -1 - epoch)
        order = Random(source.below(1 << 63))
        rounds = [self._drawer.draw(source.below(1 << 63)) for _ in range(self._draws)]
        first = [
            self._share_first(kind, places, drawn, order)
            for (kind, places), drawn in zip(self.kinds, zip(*rounds, strict=True), strict=True)
        ]
        frames = tuple(
            seed_frame(self.grammar, kind, places, frame, order, shares[number])
            for number, drawn in enumerate(rounds)
            for (kind, places), frame, shares in zip(self.kinds, drawn, first, strict=True)
        )
        calm = tuple(frame for frame in frames if frame.calm)
        talking = self.grammar.talking
        return Pool(frames, calm, tuple(e for e in frames if e.kind.interface == talking))

    def _share_first(
        self, kind: Kind, places: KindStates, frames: Sequence[Frame], order: Random
    ) -> list[First]:
        has_calm = [has_calm_cases(self.grammar, kind, places, frame) for frame in frames]
        return share_first(self.grammar, kind, list(map(FieldIndex, frames)), has_calm, order)


def choose_kinds(
    grammar: Grammar, frames: Sequence[str], states: Sequence[str]
) -> tuple[tuple[Kind, KindStates], ...]:
    """Return the chosen kinds, each with the states of its cases.

    Raises:
        ValueError: there is no such frame or state.
        NothingChosen: the frame is never sent in the state.
    """
    for frame in frames:
        check_frame(grammar, frame)
    _check_states(grammar, states)
    every = not frames or CONVERSATION in frames
    wanted = [kind for kind in grammar.kinds if every or kind.name.startswith(tuple(frames))]
    found = ((each, places_of(grammar, each, states)) for each in wanted)
    kinds = tuple((kind, places) for kind, places in found if places.all)
    if not kinds:
        raise NothingChosen(
            f"no frame whose kind begins with {' or '.join(frames)} is sent in the state "
            f"{' or '.join(states)}"
        )
    return kinds


def check_frame(grammar: Grammar, prefix: str) -> None:
    """Check that the name of a kind of frame begins so.

    Raises:
        ValueError: no name does.
    """
    kinds = [*(kind.name for kind in grammar.kinds), CONVERSATION]
    if not any(kind.startswith(prefix) for kind in kinds):
        raise ValueError(
            f"no frame's kind begins with {prefix!r}; expected one of {', '.join(kinds)}"
        )


def _check_states(grammar: Grammar, states: Sequence[str]) -> None:
    known = [state for names in grammar.states.values() for state in names]
    for state in states:
        if state not in known:
            raise ValueError(f"no state is called {state!r}; expected one of {', '.join(known)}")


def starts(grammar: Grammar, frames: Sequence[str], states: Sequence[str]) -> tuple[str, ...]:
    """Return the states in which cases with several frames start; none if these are not chosen."""
    if frames and CONVERSATION not in frames:
        return ()
    there = grammar.states[grammar.talking]
    return tuple(each for each in there if not states or each in states)


def _state(places: KindStates, source: RandomSource) -> str:
    in_order = places.in_order and source.below(OF) < IN_ORDER
    return source.one_of(places.in_order if in_order else places.all)
