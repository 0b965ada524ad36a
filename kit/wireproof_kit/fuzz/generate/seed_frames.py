"""Valid frames from which cases are made, and the making of one case."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from wireproof_kit.fuzz.case import (
    GRAMMAR,
    HALF_CLOSE,
    TOGETHER,
    Case,
    Frame,
    Step,
)
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.first_mutations import NOTHING_FIRST, First
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import FieldMutation, Mutant, Mutation, mutate
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.weights import MutationOrder, calm_turns, turns

OUT_OF_ORDER = "out of order"
"""The mutation name of a valid frame that is sent in a state that does not allow it."""


@dataclass(frozen=True, slots=True)
class KindStates:
    """The states used for a kind of frame: those that allow the frame, and all."""

    in_order: tuple[str, ...]
    all: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeedFrame:
    """A valid frame from which cases are mutated, and the order of its mutations.

    `calm` mutations change the content of a frame and not its form, so that the connection most
    likely stays in its state. Frames that change the state have calm mutations only if they
    contain JSON, because JSON can be wrong in more ways than a frame has turns.
    """

    kind: Kind
    places: KindStates
    prepared: FieldIndex
    entries: MutationOrder
    calm: MutationOrder
    delimited: bool
    hazardous: bool

    @property
    def frame(self) -> Frame:
        """The valid frame."""
        return self.prepared.frame


def places_of(grammar: Grammar, kind: Kind, states: Sequence[str]) -> KindStates:
    """Return the states used for a kind of frame, limited to `states` unless that is empty."""
    there = tuple(each for each in grammar.states[kind.interface] if not states or each in states)
    return KindStates(tuple(each for each in there if each in kind.states), there)


def seed_frame(
    grammar: Grammar,
    kind: Kind,
    places: KindStates,
    frame: Frame,
    order: Random | None = None,
    first: First = NOTHING_FIRST,
) -> SeedFrame:
    """Prepare a valid frame for mutation; without `order` it gets no order of mutations."""
    prepared = FieldIndex(frame)
    delimited = grammar.is_delimited(kind.name, frame.data)
    hazardous = grammar.is_hazardous(kind.name, frame.data)
    calm = entries = MutationOrder(())
    if order is not None:
        entries = turns(prepared, grammar.limits, grammar.traps, order, first)
        if has_calm_cases(grammar, kind, places, frame):
            limits, traps = grammar.limits, grammar.traps
            calm = calm_turns(prepared, limits, traps, order, first)
    return SeedFrame(kind, places, prepared, entries, calm, delimited, hazardous)


def has_calm_cases(grammar: Grammar, kind: Kind, places: KindStates, frame: Frame) -> bool:
    """Return True if cases are made from a frame that change only its content."""
    says_json = kind.interface == grammar.talking and _says_json(frame)
    return bool(places.in_order) and (kind.is_calm(frame) or says_json)


def _says_json(frame: Frame) -> bool:
    return any(field.role == "json" for field in frame.fields)


def next_mutant(
    prepared: FieldIndex, entries: MutationOrder, at: int, source: RandomSource
) -> tuple[FieldMutation, Mutant]:
    """Apply the mutation at position `at` of the order, or the first later one with effect."""
    while True:
        entry = entries[at]
        mutant = mutate(prepared, entry, source)
        if mutant is not None:
            return entry, mutant
        at += 1


def case_of(
    grammar: Grammar,
    index: int,
    frame: SeedFrame,
    done: tuple[FieldMutation, Mutant],
    *,
    state: str,
    mates: Sequence[SeedFrame],
    source: RandomSource,
) -> Case:
    """Return the case that sends a mutant in a state, with a frame from `mates` if needed."""
    entry, mutant = done
    kind, mutation, data = frame.kind.name, entry.mutation, mutant.data
    name = mutation.name
    if name == GRAMMAR and state not in frame.places.in_order:
        name = OUT_OF_ORDER
    label = f"{kind}: {entry.row} {name}"
    if mutation.copies == 1 and not mutation.mate:
        steps: tuple[Step, ...] = (Step(data, mutant.style, 0, label),)
    else:
        mate = _mate(frame, mates, source) if mutation.mate else None
        steps = _steps(mutant, mutation, mate, label)
    right = data is frame.frame.data
    delimited = frame.delimited if right else grammar.is_delimited(kind, data)
    hazardous = frame.hazardous if right else grammar.is_hazardous(kind, data)
    delimited = delimited and mutant.style is not HALF_CLOSE
    return Case(index, state, kind, entry.row, name, steps, delimited, hazardous)


def _mate(frame: SeedFrame, mates: Sequence[SeedFrame], source: RandomSource) -> Frame:
    there = [mate for mate in mates if mate.kind.interface == frame.kind.interface]
    return source.one_of(there or [frame]).frame


def _steps(mutant: Mutant, mutation: Mutation, mate: Frame | None, label: str) -> tuple[Step, ...]:
    """Return the steps for several copies, or for a mutant and its mate, in one write."""
    first = Step(mutant.data, TOGETHER, 0, label)
    if mate is not None:
        return first, Step(mate.data, mutant.style, 0, mate.kind)
    last = Step(mutant.data, mutant.style, 0, label)
    return (*(first,) * (mutation.copies - 1), last)
