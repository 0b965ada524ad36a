"""The table of mutations: what can be made wrong in a frame, by the role of each field.

A mutation changes its field and nothing else: if the field grows or shrinks, the lengths around it
are corrected. The mutation of the same name with the suffix `KEPT` leaves the lengths unchanged,
so that they are wrong.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

from wireproof_kit.fuzz.case import GRAMMAR, HALF_CLOSE, WHOLE, Field, Role, Slow, WriteStyle
from wireproof_kit.fuzz.generate import structure
from wireproof_kit.fuzz.generate.edits import Edits, FieldIndex, apply_edits, growth
from wireproof_kit.fuzz.generate.field_map import pattern
from wireproof_kit.fuzz.generate.http_frames import END_OF_HEAD, METHOD, VERSION
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps import http_traps, json_traps, numbers, text_traps
from wireproof_kit.fuzz.generate.traps.text_traps import NO_TRAPS, Trap, Traps
from wireproof_kit.fuzz.send import write_styles

Change: TypeAlias = Callable[[FieldIndex, Field, RandomSource], Edits | None]
"""Returns the edits of a mutation of a field; None if they would change nothing."""

KEPT = ", lengths as before"
FRAME = "frame"
"""The name of the field that stands for the whole frame."""
_ITEM = "item"
IN_QUERY = "query"
"""The place of path segments and query values in an HTTP request."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A way to make a field wrong, or to send a frame in an unusual way.

    The `lengths` around the field ``follow`` the change (counts by `items`), or are ``kept`` and
    thus wrong, or are corrected by the change itself (``seen to``). `copies` of the frame go out
    in one write. With a `mate`, a valid frame of another kind follows in the same write. `heavy`
    mutations are used less often. A `mark` is put inside the field, and the frame is cut after it.
    """

    name: str
    change: Change | None = None
    style: write_styles.Way = write_styles.write_whole
    lengths: Literal["follow", "kept", "seen to"] = "follow"
    items: int = 0
    copies: int = 1
    mate: bool = False
    heavy: bool = False
    mark: bytes = b""


@dataclass(frozen=True, slots=True)
class FieldMutation:
    """A mutation of one field of a frame; `row` names the field in the coverage table."""

    field: Field
    mutation: Mutation
    row: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """The bytes after a mutation, and how to write them."""

    data: bytes
    style: WriteStyle = WHOLE


def mutate(prepared: FieldIndex, entry: FieldMutation, source: RandomSource) -> Mutant | None:
    """Return the bytes of a frame after a mutation; None if it would change nothing."""
    mutation, field = entry.mutation, entry.field
    data = prepared.frame.data
    if mutation.mark:
        return _mark(data, entry, source)
    if mutation.change is not None:
        edits = mutation.change(prepared, field, source)
        if edits is None:
            return None
        if mutation.lengths == "follow" and field.measured_by:
            edits = (*prepared.repairs(field, growth(edits), mutation.items), *edits)
        data = apply_edits(data, edits)
    style = mutation.style(field, len(data), source)
    return None if style is None else Mutant(data, style)


def _mark(data: bytes, entry: FieldMutation, source: RandomSource) -> Mutant | None:
    """Put a byte that ends something elsewhere into a field, and cut the frame right behind it.

    A reader that looks for the byte takes a piece that ends there for all that it waits for.
    """
    field, mark = entry.field, entry.mutation.mark
    inside = field.end - field.start - 1
    if inside < 1:
        return None
    at = field.start + source.below(inside)
    behind = at + 1
    marked = data[:at] + mark + data[behind:]
    if entry.mutation.style is write_styles.half_close:
        return Mutant(marked[:behind], HALF_CLOSE)
    return Mutant(marked, Slow(write_styles.PAUSE_S, (behind,)))  # else both may arrive at once


class Column(NamedTuple):
    """The properties of a field that decide which mutations are tried on it.

    `place` is the field's place in an HTTP request; the whole frame and repeated items have places
    of their own. `measured`: a length measures the field. `filled` is the width of the length that
    measures this field alone. `limits` and `traps` are the protocol's own numbers and changes.
    """

    role: Role
    place: str = ""
    digits: bool = False
    measured: bool = False
    reaching: bool = False
    filled: int = 0
    limits: tuple[int, ...] = ()
    traps: tuple[tuple[str, Trap], ...] = ()


def columns(
    prepared: FieldIndex, limits: Mapping[str, tuple[int, ...]], traps: Traps = NO_TRAPS
) -> Iterator[tuple[Field, str, Column]]:
    """Yield the whole frame, its fields and its repeated items.

    Each comes with its name in the coverage table and the properties that choose its mutations.
    """
    yield Field(FRAME, 0, len(prepared.frame.data), "body"), FRAME, Column("body", FRAME)
    for field in prepared.fields:
        row, place = pattern(field.path), _place(field)
        column = Column(
            field.role,
            place,
            field.role in _DECIMAL and not field.order,
            bool(field.measured_by),
            field.covers is not None and field.role == "length",
            _find_fill_width(prepared, field),
            limits.get(row, ()),
            tuple(trap for where in (field.role, place) for trap in traps.get(where, {}).items()),
        )
        yield field, row, column
    for item in structure.items(prepared):
        measured = bool(item.measured_by)
        yield item, pattern(item.path), Column("body", _ITEM, measured=measured)


class MutationChoices:
    """A sequence of all mutations of all fields of a frame; each is computed on access."""

    __slots__ = ("_ends", "_found")

    def __init__(self, found: Sequence[tuple[Field, str, Sequence[Mutation]]]) -> None:
        self._found = found
        self._ends = list(accumulate(len(mutations) for _, _, mutations in found))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, at: int) -> FieldMutation:
        """Return the mutation with this number.

        Raises:
            IndexError: there are fewer mutations.
        """
        which = bisect_right(self._ends, at)
        field, row, mutations = self._found[which]
        return FieldMutation(field, mutations[at - self._ends[which]], row)

    def __iter__(self) -> Iterator[FieldMutation]:
        return (self[at] for at in range(len(self)))


def choices(
    prepared: FieldIndex,
    limits: Mapping[str, tuple[int, ...]],
    traps: Traps = NO_TRAPS,
    *,
    wanted: Callable[["Column"], Sequence[Mutation]] | None = None,
) -> MutationChoices:
    """Return the mutations of a frame's fields: for each field, those of `wanted`, or all.

    `limits` are numbers that matter to a field, by path pattern; `traps` are the protocol's own
    changes of texts.
    """
    chosen = wanted or mutations_of
    there = columns(prepared, limits, traps)
    return MutationChoices([(field, row, chosen(column)) for field, row, column in there])


@cache
def mutations_of(column: Column) -> tuple[Mutation, ...]:
    """Return the mutations that can be tried on a field with these properties."""
    if column.place == FRAME:
        return WHOLE_FRAME
    found = ITEMS if column.place == _ITEM else tuple(_of_field(column))
    return tuple(each for each in found if column.measured or each.lengths != "kept")


def _of_field(column: Column) -> Iterator[Mutation]:
    if column.role == "json" and column.place == IN_QUERY:
        yield from JSONIN_QUERY
    else:
        yield from IN_DIGITS if column.digits else BY_ROLE[column.role]
    yield from _ESCAPES if column.place == IN_QUERY else IN_HEAD.get(column.place, ())
    yield from _traps(dict(column.traps))
    yield from ANY_FIELD
    if column.role in _RAW and not column.digits:
        yield from MARKED
    if column.reaching:
        yield from REACHING
    if column.limits:
        yield Mutation("about a limit", numbers.make_listed(column.limits))
    if column.filled:
        yield from FILLING[column.role][column.filled - 1]


def _find_fill_width(prepared: FieldIndex, field: Field) -> int:
    """Return the width of the length that measures only this field, if it is below three bytes."""
    if not field.measured_by or field.role not in _GROWN:
        return 0
    length = prepared.by_path[field.measured_by[-1]]
    width = length.end - length.start
    alone = length.covers == (field.start, field.end) and length.order
    return width if alone and width < _WIDE else 0


def _place(field: Field) -> str:
    if field.path.startswith(("path", "query.")):
        return IN_QUERY
    return field.path if field.path in IN_HEAD else ""


def make_trap_change(trap: Trap) -> Change:
    """Return the change that replaces a field by what a trap makes of it."""

    def change(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
        right = prepared.bytes_of(field)
        wrong = trap(right, source)
        return None if wrong == right else ((field.start, field.end, wrong),)

    return change


def _traps(*tables: Mapping[str, Trap]) -> Iterator[Mutation]:
    for table in tables:
        for name, trap in table.items():
            mutation = Mutation(name, make_trap_change(trap))
            yield mutation
            yield replace(mutation, name=name + KEPT, lengths="kept")


def _large() -> Iterator[Mutation]:
    """Yield the large sizes with correct lengths; a wrong length does not need a large field."""
    for name, trap in text_traps.LARGE_SIZES.items():
        yield Mutation(name, make_trap_change(trap), heavy=True)


def _structural(change: Change, name: str, items: int = 0) -> Iterator[Mutation]:
    yield Mutation(name, change, items=items)
    yield Mutation(name + KEPT, change, lengths="kept")


def _cuts(name: str, change: Change) -> Iterator[Mutation]:
    yield Mutation(name, change, lengths="seen to")
    yield Mutation(f"{name}, then closed", change, write_styles.half_close, "seen to")


_DECIMAL: frozenset[Role] = frozenset(("length", "count", "number", "enumerator"))

_NUMBERS = tuple(
    Mutation(name, numbers.changed_number(change)) for name, change in numbers.NUMBERS.items()
)
_BYTES = tuple(_traps(text_traps.CHANGES))
_SIZED = (*_traps(text_traps.SIZES), *_large())

JSONIN_QUERY = (*_BYTES, *_traps(http_traps.escape_traps(json_traps.JSON)))
IN_DIGITS = (*_NUMBERS, *_traps(text_traps.DIGITS, text_traps.CHANGES))
BY_ROLE: Mapping[Role, tuple[Mutation, ...]] = {
    "length": _NUMBERS,
    "count": _NUMBERS,
    "number": _NUMBERS,
    "enumerator": _NUMBERS,
    "text": (*_BYTES, *_traps(text_traps.WORDS, text_traps.SIZES)),
    "json": (*_BYTES, *_traps(json_traps.JSON), *_SIZED),
    "body": (*_BYTES, *_traps(text_traps.BODIES), *_SIZED),
    "fixed": (*_BYTES, *_traps(text_traps.WORDS)),
    "line": _BYTES,
}
_WIDE = 3  # bytes of a length that no frame fills
_LESS = {0: "", 1: ", less one", 2: ", less two"}
_GROWN: Mapping[Role, Callable[[int], Trap]] = {
    "body": text_traps.make_size_trap,
    "text": text_traps.make_size_trap,
    "json": json_traps.make_size_trap,
}
FILLING: Mapping[Role, tuple[tuple[Mutation, ...], ...]] = {
    role: tuple(
        tuple(
            Mutation(
                f"as long as its length tells{words}",
                make_trap_change(grown((1 << bits) - 1 - less)),
            )
            for less, words in _LESS.items()
        )
        for bits in (8, 16)
    )
    for role, grown in _GROWN.items()
}
_ESCAPES = tuple(_traps(http_traps.ESCAPES))
IN_HEAD: Mapping[str, tuple[Mutation, ...]] = {
    METHOD: tuple(_traps(http_traps.METHODS)),
    VERSION: tuple(_traps(http_traps.VERSIONS)),
    END_OF_HEAD: tuple(_traps(http_traps.ENDS)),
}
REACHING = (
    Mutation("to the end of the frame", numbers.make_reaching(0)),
    Mutation("one beyond the end of the frame", numbers.make_reaching(1)),
    Mutation("far beyond the end of the frame", numbers.make_reaching(70_000)),
)
ITEMS = (
    *_structural(structure.drop_field, "dropped", items=-1),
    *_structural(structure.double_field, "doubled", items=1),
    Mutation("swapped with the next", structure.swap_fields, lengths="seen to"),
)
ANY_FIELD = (
    *_structural(structure.drop_field, "dropped"),
    *_structural(structure.double_field, "doubled"),
    Mutation("swapped with the next", structure.swap_fields, lengths="seen to"),
    *_cuts("cut before it", structure.cut_before),
    *_cuts("cut inside it", structure.cut_inside),
    Mutation("the frame ends before it", structure.ends_before, lengths="seen to"),
    Mutation("the frame ends inside it", structure.ends_inside, lengths="seen to"),
    Mutation("two writes, cut before it", style=write_styles.split_before),
    Mutation("two writes, cut inside it", style=write_styles.split_inside),
)
_CONTENT: frozenset[Role] = frozenset(("body", "json"))
_RAW: frozenset[Role] = frozenset(("number", "enumerator", "body"))
"""Roles of fields that may hold any byte."""
_MARKS = {"a line feed": b"\n", "a blank": b" ", "a NUL": b"\0"}
MARKED = tuple(
    Mutation(f"{name} inside, cut behind it{words}", style=style, lengths="seen to", mark=mark)
    for name, mark in _MARKS.items()
    for words, style in (("", write_styles.slow), (", then closed", write_styles.half_close))
)
WHOLE_FRAME = (
    Mutation(GRAMMAR),
    Mutation("byte by byte", style=write_styles.byte_by_byte),
    Mutation("many writes", style=write_styles.split),
    Mutation("then closed", style=write_styles.half_close),
    Mutation("slowly", style=write_styles.slow, heavy=True),
    Mutation("twice in one write", copies=2),
    Mutation("many in one write", copies=20),
    Mutation("another behind it", mate=True),
)


def is_calm(mutation: Mutation, role: Role) -> bool:
    """Return True if a mutation of a field with this role keeps the form of its frame."""
    if mutation.name == GRAMMAR:
        return True
    in_content = role in _CONTENT and mutation.change is not None
    return in_content and mutation.lengths == "follow" and not mutation.heavy
