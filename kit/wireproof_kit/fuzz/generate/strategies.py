"""Hypothesis strategies for frames, cases and conversations, for tests of other projects.

A `Grammar` determines the protocol and the names on a target; each protocol makes its own in its
module `fuzz.grammar`. Examples shrink towards valid frames and short conversations. Under the
profile `ci` every run is the same and nothing is stored. The profile `deep` tries more examples
and stores failures. `register_profiles` registers both with Hypothesis, for instance in a
conftest; then `pytest --hypothesis-profile=deep` works.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from wireproof_kit.fuzz.case import Case, Frame
from wireproof_kit.fuzz.generate.conversations import MOST_CONNECTIONS, Script
from wireproof_kit.fuzz.generate.generator import choose_kinds
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import (
    Column,
    FieldMutation,
    Mutant,
    Mutation,
    MutationChoices,
    choices,
    is_calm,
    mutate,
    mutations_of,
)
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.seed_frames import KindStates, SeedFrame, case_of, seed_frame

_DICE = st.integers(0, (1 << 64) - 1)
_DEEP = 2000
MANY = 20
"""The maximum number of cases drawn together from one frame.

A case drawn with others costs a third less than a case drawn alone.
"""


def register_profiles(database: Path | None = None) -> None:
    """Register the Hypothesis profiles `ci` and `deep`; `deep` stores failures in a folder.

    Without a folder it uses Hypothesis's default, `.hypothesis`.
    """
    patient = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile(
        "ci", derandomize=True, database=None, deadline=None, suppress_health_check=patient
    )
    kept = None if database is None else DirectoryBasedExampleDatabase(database)
    deep = settings(
        max_examples=_DEEP, derandomize=False, deadline=None, suppress_health_check=patient
    )
    settings.register_profile("deep", deep if kept is None else settings(deep, database=kept))


def frames(grammar: Grammar, *kinds: str) -> st.SearchStrategy[Frame]:
    """Return a strategy for valid frames whose kind begins with one of `kinds`; none means all.

    Raises:
        ValueError: there is no such kind.
    """
    return st.one_of([kind.strategy for kind, _ in choose_kinds(grammar, kinds, ())])


def cases(
    grammar: Grammar, *, frames: Sequence[str] = (), states: Sequence[str] = ()
) -> st.SearchStrategy[Case]:
    """Return a strategy for cases: a frame, one mutation, and the state in which it is sent.

    Raises:
        ValueError: there is no such frame, or the frame is never sent in such a state.
    """
    return many_cases(grammar, frames=frames, states=states, most=1).map(lambda made: made[0])


def many_cases(
    grammar: Grammar,
    *,
    frames: Sequence[str] = (),
    states: Sequence[str] = (),
    exactly: bool = False,
    most: int = MANY,
) -> st.SearchStrategy[list[Case]]:
    """Return a strategy for several cases of one frame, cheaper than drawing them one by one.

    `frames` are prefixes of frame kinds, or complete kinds if `exactly`.

    Raises:
        ValueError: there is no such frame, or the frame is never sent in such a state.
    """
    ways = [
        (kind, places)
        for kind, places in choose_kinds(grammar, frames, states)
        if not exactly or kind.name in frames
    ]
    return st.one_of([_of_kind(grammar, kind, places, most) for kind, places in ways])


def conversations(grammar: Grammar, *, states: Sequence[str] = ()) -> st.SearchStrategy[Case]:
    """Return a strategy for cases of several frames, valid and malformed, in any state."""
    return _conversation(grammar, tuple(states or grammar.states[grammar.talking]))


def _of_kind(
    grammar: Grammar, kind: Kind, places: KindStates, most: int
) -> st.SearchStrategy[list[Case]]:
    def prepare(frame: Frame) -> SeedFrame:
        return seed_frame(grammar, kind, places, frame)

    return _cases_of(grammar, kind.strategy.map(prepare), places, most)


@st.composite
def _cases_of(
    draw: st.DrawFn,
    grammar: Grammar,
    prepared: st.SearchStrategy[SeedFrame],
    places: KindStates,
    most: int,
) -> list[Case]:
    frame = draw(prepared)
    somewhere = st.sampled_from((*places.in_order * 3, *places.all))
    calmly = places.in_order and frame.kind.is_calm(frame.frame) and draw(st.booleans())
    if calmly:
        somewhere = st.sampled_from(places.in_order)
    entries = choices(
        frame.prepared, grammar.limits, grammar.traps, wanted=_calm if calmly else None
    )
    which = st.integers(0, len(entries) - 1)
    made: list[Case] = []
    for _ in range(most):
        source = RandomSource(draw(_DICE), 0)
        done = _mutate_from(frame, entries, draw(which), source)
        state = draw(somewhere)
        made.append(case_of(grammar, 0, frame, done, state=state, mates=[frame], source=source))
    return made


@st.composite
def breaks(draw: st.DrawFn, frame: SeedFrame, grammar: Grammar) -> tuple[Mutant, str]:
    """Draw a mutation of a frame; return the mutant and the name of the mutation."""
    source = RandomSource(draw(_DICE), 0)
    entries = choices(frame.prepared, grammar.limits, grammar.traps)
    entry, mutant = _mutate_from(frame, entries, draw(st.integers(0, len(entries) - 1)), source)
    return mutant, f"{entry.row} {entry.mutation.name}"


@cache
def _calm(column: Column) -> tuple[Mutation, ...]:
    return tuple(mutation for mutation in mutations_of(column) if is_calm(mutation, column.role))


def _mutate_from(
    frame: SeedFrame, entries: MutationChoices, at: int, source: RandomSource
) -> tuple[FieldMutation, Mutant]:
    """Apply the mutation with this number, or the first after it that changes something."""
    while True:
        entry = entries[at % len(entries)]
        mutant = mutate(frame.prepared, entry, source)
        if mutant is not None:
            return entry, mutant
        at += 1


@st.composite
def _conversation(draw: st.DrawFn, grammar: Grammar, starts: tuple[str, ...]) -> Case:
    kinds = [kind for kind in grammar.kinds if kind.interface == grammar.talking]
    start = draw(st.sampled_from(starts))
    script = Script(grammar, start, [start] * draw(st.integers(1, MOST_CONNECTIONS)))
    for turn in draw(st.lists(st.integers(0, 7), min_size=1, max_size=8)):
        if script.is_over:
            break
        connection = draw(st.sampled_from(script.going_on()))
        due = [each for each in kinds if script.is_due(connection, each)]
        kind = draw(st.sampled_from(due if turn < 7 and due else kinds))
        frame = draw(kind.strategy)
        if turn == 6:
            prepared = seed_frame(grammar, kind, KindStates((), starts), frame)
            mutant, how = draw(breaks(prepared, grammar))
            script.say_broken(connection, kind, mutant, how)
        else:
            script.say(connection, kind, frame)
    return script.case(0)
