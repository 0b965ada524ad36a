"""In which order things are done to a frame: fields have turns as often as they weigh.

A list of all that may be done would cost more than the few hundred cases that a frame gives;
entries are made when their turn comes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random

from wireproof_kit.fuzz.case import GRAMMAR, Field, Role
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.mutations import (
    FRAME,
    Column,
    FieldMutation,
    Mutation,
    columns,
    mutations_of,
)
from wireproof_kit.fuzz.generate.text_traps import Traps

WEIGHTS: Mapping[Role, int] = {
    "length": 18,
    "count": 18,
    "number": 9,
    "enumerator": 9,
    "json": 12,
    "body": 9,
    "text": 6,
    "fixed": 3,
    "line": 3,
}
"""How often the turn of a field of such a role comes."""
IN_LIST = "[]"
"""Stands in the pattern of a field that may be there several times."""
IN_HEAD = 3
"""How many times less often that of a part of an HTTP header: there are so many of them."""
HEAVY = 3
"""How often the turn comes of all that is heavy in a frame together."""
RIGHT = 2
"""How often the right frame's turn comes among the calm ones."""
OFTEN = {
    "empty": 5,
    "zero": 2,
    "one more": 2,
    "one less": 2,
    "all ones (-1)": 2,
    "all ones but one (-2)": 1,
    "largest signed": 1,
    "smallest signed": 1,
    "JSON: another number": 8,
}
"""How many turns more the oldest mistakes have than odder ones, and one that stands for dozens."""
_CONTENT: frozenset[Role] = frozenset(("body", "json"))

_Slot = tuple[Field, str, Sequence[Mutation], int, int]
"""A field, its pattern, what may be done to it, where to begin there, how many turns it has."""


class MutationOrder:
    """What is done to a frame at each turn, without end: no two rounds are the same."""

    __slots__ = ("_every", "_heavy", "_schedule")

    def __init__(
        self, schedule: Sequence[_Slot], heavy: Sequence[_Slot] = (), every: int = 1
    ) -> None:
        """One turn of `every` so many is that of something heavy, where there is any."""
        self._schedule = schedule
        self._heavy = heavy
        self._every = every

    def __bool__(self) -> bool:
        return bool(self._schedule)

    def __getitem__(self, at: int) -> FieldMutation:
        """Return what is done at a turn."""
        times, place = divmod(at, self._every)
        if place == self._every - 1 and self._heavy:
            return _entry(self._heavy, times)
        return _entry(self._schedule, at)


def turns(
    prepared: FieldIndex, limits: Mapping[str, tuple[int, ...]], traps: Traps, order: Random
) -> MutationOrder:
    """Return the turns of all that may be done to a frame."""
    there = list(columns(prepared, limits, traps))
    alike = Counter(row for _, row, _ in there if IN_LIST in row)
    schedule = [
        slot
        for field, row, column in there
        if (found := _light(column))
        for slot in _slots(field, row, found, _weight(field, alike[row]), order)
    ]
    heavy = [
        slot
        for field, row, column in there
        if (found := _heavy(column))
        for slot in _slots(field, row, found, 1, order)
    ]
    order.shuffle(schedule)
    order.shuffle(heavy)
    return MutationOrder(schedule, heavy, max(len(schedule) // HEAVY, 2))


def calm_turns(
    prepared: FieldIndex, limits: Mapping[str, tuple[int, ...]], traps: Traps, order: Random
) -> MutationOrder:
    """Return the turns of what leaves a frame's form as it is."""
    schedule = [
        slot
        for field, row, column in columns(prepared, limits, traps)
        if (found := _calm(column))
        for slot in _slots(field, row, found, RIGHT if row == FRAME else _weight(field), order)
    ]
    order.shuffle(schedule)
    return MutationOrder(schedule)


def _slots(
    field: Field, row: str, found: Sequence[Mutation], weight: int, order: Random
) -> Iterator[_Slot]:
    first = order.randrange(len(found))
    return ((field, row, found, first + number, weight) for number in range(weight))


def _entry(schedule: Sequence[_Slot], at: int) -> FieldMutation:
    times, place = divmod(at, len(schedule))
    field, row, found, first, weight = schedule[place]
    return FieldMutation(field, found[(first + times * weight) % len(found)], row)


def _weight(field: Field, alike: int = 0) -> int:
    """Return how many turns a field has.

    Those `alike` in the items of a list have together as many as one alone: else a frame with
    many items would hardly come to what there is one of, the count of them among it.
    """
    of_head = field.path.startswith("headers.") and field.role != "length"
    weight = WEIGHTS[field.role] // (IN_HEAD if of_head else 1)
    return max(1, round(weight / alike)) if alike else weight


@cache
def _light(column: Column) -> Sequence[Mutation]:
    found = [each for each in mutations_of(column) if not each.heavy]
    found += [each for each in found for _ in range(OFTEN.get(each.name, 0))]
    Random(len(found)).shuffle(found)
    return found


@cache
def _heavy(column: Column) -> Sequence[Mutation]:
    return [each for each in mutations_of(column) if each.heavy]


@cache
def _calm(column: Column) -> Sequence[Mutation]:
    return [each for each in _light(column) if is_calm(each, column.role)]


def is_calm(mutation: Mutation, role: Role) -> bool:
    """Tell whether a mutation of a field of that role leaves the form of its frame as it is."""
    if mutation.name == GRAMMAR:
        return True
    in_content = role in _CONTENT and mutation.change is not None
    return in_content and mutation.lengths == "follow" and not mutation.heavy
