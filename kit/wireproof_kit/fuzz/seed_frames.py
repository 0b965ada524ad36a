"""Frames to make cases from, and the making of one case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random

from wireproof_kit.fuzz.case import (
    GRAMMAR,
    HALF_CLOSE,
    TOGETHER,
    Case,
    Field,
    Frame,
    Role,
    Step,
)
from wireproof_kit.fuzz.chance import Chance
from wireproof_kit.fuzz.edits import Prepared
from wireproof_kit.fuzz.grammar import Grammar, Kind
from wireproof_kit.fuzz.mutations import Entry, Mutant, Mutation, menu, mutated

WEIGHTS: dict[Role, int] = {
    "length": 6,
    "count": 6,
    "number": 3,
    "enumerator": 3,
    "json": 4,
    "body": 3,
    "text": 2,
    "fixed": 1,
    "line": 1,
}
"""How often the turn of a field of such a role comes."""
IN_HEAD = 0.3
"""How much less often that of a part of an HTTP header: there are so many of them."""
HEAVY = 1
"""How often the turn comes of all that is heavy in a frame together."""
OFTEN = {"empty": 5, "zero": 2, "one more": 2, "one less": 2, "all ones (-1)": 2}
"""How many turns more the oldest mistakes have than odder ones."""
_CONTENT: frozenset[Role] = frozenset(("body", "json"))
OUT_OF_ORDER = "out of order"
"""The mutation of a right frame in a state where none of its kind is due."""


@dataclass(frozen=True, slots=True)
class Places:
    """The states that cases of a kind come in: those where it is in order, and all."""

    in_order: tuple[str, ...]
    all: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeedFrame:
    """A frame to make cases from, and all that may be done to it, in some order.

    The `calm` things leave the frame whole, and their connection most likely in its state: their
    content is wrong, not their form.
    """

    kind: Kind
    places: Places
    prepared: Prepared
    entries: Sequence[Entry]
    calm: Sequence[Entry]
    delimited: bool
    hazardous: bool

    @property
    def frame(self) -> Frame:
        """The frame itself."""
        return self.prepared.frame


def places_of(grammar: Grammar, kind: Kind, states: Sequence[str]) -> Places:
    """Return where cases of a kind come, of the states wanted; empty means all."""
    there = tuple(each for each in grammar.states[kind.interface] if not states or each in states)
    return Places(tuple(each for each in there if each in kind.states), there)


def seed_frame(
    grammar: Grammar, kind: Kind, places: Places, frame: Frame, order: Random | None
) -> SeedFrame:
    """Prepare a frame; without an order, what may be done to it stands from simple to odd."""
    prepared = Prepared(frame)
    entries = menu(prepared, grammar.limits)
    if order is not None:
        entries = _in_turn(entries, order)
    delimited = grammar.is_delimited(kind.name, frame.data)
    hazardous = grammar.is_hazardous(kind.name, frame.data)
    has_calm = places.in_order and kind.is_calm(frame)
    calm = [each for each in entries if _is_calm(each)] if has_calm else []
    return SeedFrame(kind, places, prepared, entries, calm, delimited, hazardous)


def next_mutant(
    prepared: Prepared, entries: Sequence[Entry], at: int, chance: Chance
) -> tuple[Entry, Mutant]:
    """Do what stands at a place of a list, or behind it where that changes nothing."""
    while True:
        entry = entries[at % len(entries)]
        mutant = mutated(prepared, entry, chance)
        if mutant is not None:
            return entry, mutant
        at += 1


def case_of(
    grammar: Grammar,
    index: int,
    frame: SeedFrame,
    done: tuple[Entry, Mutant],
    *,
    state: str,
    mates: Sequence[SeedFrame],
    chance: Chance,
) -> Case:
    """Return the case of a mutant in a state; a mate, where one is wanted, is one of `mates`."""
    entry, mutant = done
    kind, mutation, data = frame.kind.name, entry.mutation, mutant.data
    name = mutation.name
    if name == GRAMMAR and state not in frame.places.in_order:
        name = OUT_OF_ORDER
    label = f"{kind}: {entry.row} {name}"
    if mutation.copies == 1 and not mutation.mate:
        steps: tuple[Step, ...] = (Step(data, mutant.manner, 0, label),)
    else:
        mate = _mate(frame, mates, chance) if mutation.mate else None
        steps = _steps(mutant, mutation, mate, label)
    right = data is frame.frame.data
    delimited = frame.delimited if right else grammar.is_delimited(kind, data)
    hazardous = frame.hazardous if right else grammar.is_hazardous(kind, data)
    delimited = delimited and mutant.manner is not HALF_CLOSE
    return Case(index, state, kind, entry.row, name, steps, delimited, hazardous)


def _is_calm(entry: Entry) -> bool:
    mutation = entry.mutation
    if mutation.name == GRAMMAR:
        return True
    content = entry.field.role in _CONTENT and mutation.change is not None
    return content and mutation.lengths == "follow" and not mutation.heavy


def _mate(frame: SeedFrame, mates: Sequence[SeedFrame], chance: Chance) -> Frame:
    there = [each for each in mates if each.kind.interface == frame.kind.interface]
    return chance.one_of(there or [frame]).frame


def _steps(mutant: Mutant, mutation: Mutation, mate: Frame | None, label: str) -> tuple[Step, ...]:
    """Return the copies of a frame, or a frame and its mate, in one write."""
    first = Step(mutant.data, TOGETHER, 0, label)
    if mate is not None:
        return first, Step(mate.data, mutant.manner, 0, mate.kind)
    last = Step(mutant.data, mutant.manner, 0, label)
    return (*(first,) * (mutation.copies - 1), last)


def _weight(field: Field) -> float:
    of_head = field.path.startswith("headers.") and field.role != "length"
    return WEIGHTS[field.role] * (IN_HEAD if of_head else 1)


def _in_turn(entries: Iterable[Entry], order: Random) -> list[Entry]:
    """Return entries so that the turns of fields come as often as they weigh.

    A field with many mutations has no more turns than one with few, until that one's are done.
    """
    groups: dict[int | None, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(None if entry.mutation.heavy else id(entry.field), []).append(entry)
    placed: list[tuple[float, Entry]] = []
    for key, group in groups.items():
        weight = HEAVY if key is None else _weight(group[0].field)
        group += [each for each in group for _ in range(OFTEN.get(each.mutation.name, 0))]
        order.shuffle(group)
        placed += (((turn + order.random()) / weight, entry) for turn, entry in enumerate(group))
    return [entry for _, entry in sorted(placed, key=itemgetter(0))]
