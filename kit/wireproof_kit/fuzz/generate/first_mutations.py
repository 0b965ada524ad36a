"""The mutations that come first: dropped words, boundaries of fields, special values in JSON.

They are the mistakes that are made most, and each is one of few. So a campaign tries them all
before it draws numbers, bits and bytes at random. The frames of a kind share the list.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from wireproof_kit.fuzz.case import GRAMMAR, Field
from wireproof_kit.fuzz.generate import structure
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.field_map import pattern
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import (
    FILLING,
    FRAME,
    IN_QUERY,
    Column,
    FieldMutation,
    Mutation,
    columns,
    is_calm,
    make_trap_change,
    mutate,
    mutations_of,
)
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps import json_members, numbers
from wireproof_kit.fuzz.generate.traps.json_members import make_escaped_trap, make_member_trap

WORD_DROPPED: Final = Mutation("dropped with its blank", structure.drop_word)
WORDS_DROPPED: Final = Mutation("only its first word in the line", structure.drop_words)
PARAMETER_DROPPED: Final = Mutation("dropped with its name", structure.drop_parameter)
UNCHANGED: Final = Mutation(GRAMMAR)
DROPPED: Final = frozenset(each.name for each in (WORD_DROPPED, WORDS_DROPPED, PARAMETER_DROPPED))
RANDOM: Final = frozenset(
    (*("another", "one bit changed", "one bit flipped", "random bytes"), "JSON: another number")
)
"""Mutations that draw a value; the boundaries and special values of the kind come before them."""
_NONE: frozenset[str] = frozenset()
_NEXT: Final = frozenset(("one less", "one more"))
_NUMBERS: Final = frozenset(("zero", "all ones (-1)", "largest signed", "smallest signed"))
_MEASURES: Final = (
    _NUMBERS | _NEXT | {"to the end of the frame", "one beyond the end of the frame"}
)
_DIGITS: Final = frozenset(
    (*("zero", "minus one", "2**31", "2**32", "2**63 - 1", "2**63", "2**64"), "-(2**63) - 1")
)
_SIZES: Final = frozenset(("empty", "1 bytes", "64 bytes", "65 bytes", "255 bytes", "256 bytes"))
_IN_HEAD: Final = re.compile(r"headers\..*|path|query\..*\.name").fullmatch
"""Parts of HTTP heads whose lengths have no meaning of their own."""
_SIZED: Final = frozenset(("text", "body"))


@dataclass(frozen=True, slots=True)
class First:
    """The mutations that come first of one frame: those of all its cases, and of its calm ones."""

    all: tuple[FieldMutation, ...] = ()
    calm: tuple[FieldMutation, ...] = ()


NOTHING_FIRST: Final = First()


def share_first(
    grammar: Grammar,
    kind: Kind,
    frames: Sequence[FieldIndex],
    has_calm: Sequence[bool],
    order: Random,
) -> list[First]:
    """Return what comes first of each of the frames of a kind.

    Each mutation is given to one of the frames that it changes, and to that with the fewest. Of
    the frames that have calm cases (`has_calm`; see `Kind`), what changes only their content
    comes first of these, and the rest of all others; where there is no such frame, of these, too.
    Frames with fewer get some of their own again, so that the last mutation comes before any frame
    has cases of another kind.
    """
    members = grammar.members.get(kind.name, {})
    found = [[*_form(grammar, frame, order), *_values(frame, members, order)] for frame in frames]
    content = [
        list(filter(_is_calm, each)) if calm else []
        for each, calm in zip(found, has_calm, strict=True)
    ]
    if any(has_calm):
        found = [[entry for entry in each if not _is_calm(entry)] for each in found]
    pairs = zip(_deal(found, frames, order), _deal(content, frames, order), strict=True)
    return [First(tuple(form), tuple(values)) for form, values in pairs]


def _is_calm(entry: FieldMutation) -> bool:
    return entry.row != FRAME and is_calm(entry.mutation, entry.field.role)


def _form(grammar: Grammar, prepared: FieldIndex, order: Random) -> Iterator[FieldMutation]:
    """Yield the dropped words of a frame, then the boundaries of its fields."""
    yield from _words(prepared)
    rows: dict[str, list[tuple[Field, Column]]] = {}
    for field, row, column in columns(prepared, grammar.limits, grammar.traps):
        rows.setdefault(row, []).append((field, column))
    for row, there in rows.items():
        field, column = order.choice(there)
        for mutation in _boundaries(column, is_sized=not _IN_HEAD(field.path)):
            yield FieldMutation(field, mutation, row)


def _words(prepared: FieldIndex) -> Iterator[FieldMutation]:
    whole = Field(FRAME, 0, len(prepared.frame.data), "body")
    words = [each for each in prepared.fields if structure.is_word(prepared, each)]
    if words:
        yield FieldMutation(whole, WORDS_DROPPED, FRAME)
    for word in words:
        yield FieldMutation(word, WORD_DROPPED, pattern(word.path))
    for field in prepared.fields:
        if structure.is_parameter(field):
            yield FieldMutation(field, PARAMETER_DROPPED, pattern(field.path))


@cache
def _boundaries(column: Column, *, is_sized: bool) -> tuple[Mutation, ...]:
    """Return the mutations that try the boundaries of a field's number or length."""
    wanted = _wanted(column, is_sized=is_sized)
    filling = FILLING.get(column.role, ()) if column.filled else ()
    names = {*wanted, *(each.name for each in (filling[column.filled - 1] if filling else ()))}
    found = [mutation for mutation in mutations_of(column) if mutation.name in names]
    changes = {f"the limit {limit}": numbers.make_listed((limit,)) for limit in column.limits}
    return (*found, *(Mutation(name, change) for name, change in changes.items()))


def _wanted(column: Column, *, is_sized: bool) -> frozenset[str]:
    if column.role in _SIZED:
        return _SIZES if is_sized else _NONE
    if column.role not in ("length", "count", "number", "enumerator"):
        return _NONE
    wanted = _MEASURES if column.role in ("length", "count") else _NUMBERS
    return _DIGITS | (wanted & _NEXT) if column.digits else wanted


def _values(
    prepared: FieldIndex, members: json_members.Members, order: Random
) -> Iterator[FieldMutation]:
    documents = [each for each in prepared.fields if each.role == "json"]
    if not documents or not members:
        return
    field = order.choice(documents)
    in_query = field.path.startswith(f"{IN_QUERY}.")
    for path, values in members.items():
        for value in values:
            trap = make_member_trap(path, value)
            change = make_trap_change(make_escaped_trap(trap) if in_query else trap)
            mutation = Mutation(json_members.name_member(path, value), change)
            yield FieldMutation(field, mutation, pattern(field.path))


def _deal(
    each_frame: Sequence[Sequence[FieldMutation]], frames: Sequence[FieldIndex], order: Random
) -> list[list[FieldMutation]]:
    """Give each mutation to one of the frames that it changes, dropped words first and twice."""
    able: dict[tuple[str, str], list[tuple[int, FieldMutation]]] = {}
    nothing = RandomSource(0, 0)
    for number, found in enumerate(each_frame):
        for entry in found:
            if mutate(frames[number], entry, nothing) is not None:
                able.setdefault((entry.row, entry.mutation.name), []).append((number, entry))
    names = list(able)
    order.shuffle(names)
    words = [name for name in names if name[1] in DROPPED]
    names = [*words, *words, *(name for name in names if name[1] not in DROPPED)]
    hands: list[list[FieldMutation]] = [[] for _ in frames]
    for name in names:
        number, entry = min(able[name], key=lambda each: len(hands[each[0]]))
        hands[number].append(entry)
    most = max(map(len, hands), default=0)
    sent = [_unchanged(frame) for frame in frames]
    return [_stretch(hand or [valid], most) for hand, valid in zip(hands, sent, strict=True)]


def _stretch(hand: list[FieldMutation], most: int) -> list[FieldMutation]:
    return [hand[at % len(hand)] for at in range(most)]


def _unchanged(prepared: FieldIndex) -> FieldMutation:
    whole = Field(FRAME, 0, len(prepared.frame.data), "body")
    return FieldMutation(whole, UNCHANGED, FRAME)
