"""Hypothesis strategies for frames, cases and conversations, for tests of one's own.

A `Grammar` says which protocol, and which names are there on a target; each protocol makes its
own, in its module `fuzz.grammar`. Everything shrinks towards right frames and short conversations.
Under the profile `ci` runs are the same every time and nothing is kept; `deep` looks further and
keeps what it found. `register_profiles` names both to Hypothesis, in a conftest for instance; then
`pytest --hypothesis-profile=deep`.
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
    mutate,
    mutations_of,
)
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.seed_frames import KindStates, SeedFrame, case_of, seed_frame
from wireproof_kit.fuzz.generate.weights import is_calm

_DICE = st.integers(0, (1 << 64) - 1)
_DEEP = 2000
MANY = 20
"""Cases drawn of one frame, at most, where many are drawn together."""


def register_profiles(database: Path | None = None) -> None:
    """Name the profiles `ci` and `deep` to Hypothesis; `deep` keeps what it found in a folder.

    Without a folder it is Hypothesis's own, `.hypothesis`.
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
    """Draw right frames, of kinds that begin so; of all, when none is named.

    Raises:
        ValueError: there is no such kind.
    """
    return st.one_of([kind.strategy for kind, _ in choose_kinds(grammar, kinds, ())])


def cases(
    grammar: Grammar, *, frames: Sequence[str] = (), states: Sequence[str] = ()
) -> st.SearchStrategy[Case]:
    """Draw cases: a frame, one thing done to it, and the state in which it is sent.

    Raises:
        ValueError: there is no such frame, or none in such a state.
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
    """Draw some cases of one frame together, which costs less than each alone.

    Frames begin so, or are called `exactly` so.

    Raises:
        ValueError: there is no such frame, or none in such a state.
    """
    ways = [
        (kind, places)
        for kind, places in choose_kinds(grammar, frames, states)
        if not exactly or kind.name in frames
    ]
    return st.one_of([_of_kind(grammar, kind, places, most) for kind, places in ways])


def conversations(grammar: Grammar, *, states: Sequence[str] = ()) -> st.SearchStrategy[Case]:
    """Draw conversations: frames in order, out of order and broken, over several connections."""
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
    """Draw something that is wrong with a frame, and what it is called."""
    source = RandomSource(draw(_DICE), 0)
    entries = choices(frame.prepared, grammar.limits, grammar.traps)
    entry, mutant = _mutate_from(frame, entries, draw(st.integers(0, len(entries) - 1)), source)
    return mutant, f"{entry.row} {entry.mutation.name}"


@cache
def _calm(column: Column) -> tuple[Mutation, ...]:
    return tuple(each for each in mutations_of(column) if is_calm(each, column.role))


def _mutate_from(
    frame: SeedFrame, entries: MutationChoices, at: int, source: RandomSource
) -> tuple[FieldMutation, Mutant]:
    """Do what stands at a place, or behind it where that would change nothing."""
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
