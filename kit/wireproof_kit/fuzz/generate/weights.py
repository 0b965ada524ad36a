"""The order of the mutations of a frame: each field gets turns according to its weight.

A complete list of mutations would cost more than the few hundred cases made from a frame, so each
entry is made when its turn comes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random

from wireproof_kit.fuzz.case import Field, Role
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.first_mutations import NOTHING_FIRST, RANDOM, First
from wireproof_kit.fuzz.generate.mutations import (
    FRAME,
    Column,
    FieldMutation,
    Mutation,
    columns,
    is_calm,
    mutations_of,
)
from wireproof_kit.fuzz.generate.traps.text_traps import Traps

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
"""How often a field is mutated in one round, by its role."""
IN_LIST = "[]"
"""Marks the path pattern of a field that may occur several times."""
IN_HEAD = 3
"""Parts of HTTP headers get a third of the turns, because there are so many of them."""
HEAVY = 3
"""How many mutations of a round are heavy ones, all of a frame together."""
MIXED = 4
"""While mutations come that come first, one in this many is any other."""
RIGHT = 2
"""How often the unchanged frame is sent in a round of mutations that change only content."""
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
"""Additional turns: for the most common mistakes, and for one name that stands for dozens."""

_Slot = tuple[Field, str, Sequence[Mutation], int, int]
"""A field, its pattern, its mutations, the number of the first one, and its number of turns."""


class MutationOrder:
    """An endless sequence of the mutations of a frame; no two rounds through it are the same.

    It begins with what comes `first`, once. Meanwhile some turns are those of the schedule, as a
    campaign must not try one thing only; but nothing is drawn at random then.
    """

    __slots__ = ("_every", "_first", "_heavy", "_opening", "_quiet", "_schedule", "_step")

    def __init__(
        self,
        schedule: Sequence[_Slot],
        heavy: Sequence[_Slot] = (),
        every: int = 1,
        first: Sequence[FieldMutation] = (),
        mixed: int = 0,
        quiet: int = 0,
    ) -> None:
        """Create a sequence; every `every`-th mutation is a heavy one if there are any.

        While there are any that come `first`, every `mixed`-th mutation is of the schedule; none
        if `mixed` is 0. Nothing is drawn at random in these turns, nor in the first `quiet` ones.
        """
        self._first = first
        self._step = mixed
        others = (len(first) - 1) // (mixed - 1) if mixed and first else 0
        self._opening = len(first) + others
        self._quiet = max(quiet, self._opening)
        self._schedule = schedule
        self._heavy = heavy
        self._every = every

    def __bool__(self) -> bool:
        return bool(self._schedule)

    @property
    def first(self) -> Sequence[FieldMutation]:
        """The mutations with which the sequence begins."""
        return self._first

    def __getitem__(self, at: int) -> FieldMutation:
        """Return the mutation of a turn."""
        if at < self._opening:
            times, place = divmod(at, self._step or self._opening)
            if not self._step or place < self._step - 1:
                return self._first[times * (self._step - 1) + place if self._step else at]
        return self._of_schedule(at, drawn=at >= self._quiet)

    def _of_schedule(self, at: int, *, drawn: bool) -> FieldMutation:
        times, place = divmod(at, self._every)
        if place == self._every - 1 and self._heavy:
            return _entry(self._heavy, times)
        return _entry(self._schedule, at, drawn=drawn)


def turns(
    prepared: FieldIndex,
    limits: Mapping[str, tuple[int, ...]],
    traps: Traps,
    order: Random,
    first: First = NOTHING_FIRST,
) -> MutationOrder:
    """Return the endless order of all mutations of a frame, which begins with what is `first`."""
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
    every = max(len(schedule) // HEAVY, 2)
    # Calm cases come at least as often, so that their own first mutations are over by then.
    return MutationOrder(schedule, heavy, every, first.all, MIXED, quiet=len(first.calm))


def calm_turns(
    prepared: FieldIndex,
    limits: Mapping[str, tuple[int, ...]],
    traps: Traps,
    order: Random,
    first: First = NOTHING_FIRST,
) -> MutationOrder:
    """Return the endless order of a frame's mutations that change content and not form."""
    schedule = [
        slot
        for field, row, column in columns(prepared, limits, traps)
        if (found := _calm(column))
        for slot in _slots(field, row, found, RIGHT if row == FRAME else _weight(field), order)
    ]
    order.shuffle(schedule)
    return MutationOrder(schedule, first=first.calm)


def _slots(
    field: Field, row: str, found: Sequence[Mutation], weight: int, order: Random
) -> Iterator[_Slot]:
    first = order.randrange(len(found))
    return ((field, row, found, first + number, weight) for number in range(weight))


def _entry(schedule: Sequence[_Slot], at: int, *, drawn: bool = True) -> FieldMutation:
    """Return the mutation of a turn; unless `drawn`, the next one that draws nothing at random."""
    times, place = divmod(at, len(schedule))
    field, row, found, first, weight = schedule[place]
    turn = first + times * weight
    while not drawn and found[turn % len(found)].name in RANDOM:
        turn += 1
    return FieldMutation(field, found[turn % len(found)], row)


def _weight(field: Field, alike: int = 0) -> int:
    """Return the number of turns of a field.

    The `alike` fields in the items of a list share the turns of one field. Otherwise, in a frame
    with many items, fields that occur once, such as the count, would hardly get a turn.
    """
    of_head = field.path.startswith("headers.") and field.role != "length"
    weight = WEIGHTS[field.role] // (IN_HEAD if of_head else 1)
    return max(1, round(weight / alike)) if alike else weight


@cache
def _light(column: Column) -> Sequence[Mutation]:
    found = [mutation for mutation in mutations_of(column) if not mutation.heavy]
    found += [each for each in found for _ in range(OFTEN.get(each.name, 0))]
    Random(len(found)).shuffle(found)
    return found


@cache
def _heavy(column: Column) -> Sequence[Mutation]:
    return [mutation for mutation in mutations_of(column) if mutation.heavy]


@cache
def _calm(column: Column) -> Sequence[Mutation]:
    return [each for each in _light(column) if is_calm(each, column.role)]
