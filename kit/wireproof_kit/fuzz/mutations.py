"""What may be made wrong in a frame: the table of mutations, by what a field is for.

Each has a name and does what the name says to its field, and nothing else: where it makes a field
longer or shorter, the lengths around follow, so that only the field is wrong. The same under
the name with `KEPT` behind it leaves the lengths as they were: then they lie.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from wireproof_kit.fuzz import http_traps, json_traps, manners, numbers, structure, text_traps
from wireproof_kit.fuzz.case import GRAMMAR, WHOLE, Field, Manner, Role
from wireproof_kit.fuzz.chance import Chance
from wireproof_kit.fuzz.edits import Edits, Prepared, applied, growth
from wireproof_kit.fuzz.http_frames import END_OF_HEAD, METHOD, VERSION
from wireproof_kit.fuzz.text_traps import Trap
from wireproof_kit.fuzz.walk import pattern

Change: TypeAlias = Callable[[Prepared, Field, Chance], Edits | None]
"""What becomes of the bytes; None where nothing would."""

KEPT = ", lengths as before"
FRAME = "frame"
"""The name of the field that is all of a frame."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A way to make a field, or the way a frame is sent, wrong.

    `lengths` around the field follow what becomes of it, and counts change by `items`; or they are
    kept, and lie; or the change itself sees to them. `copies` of the frame go out in one write;
    with a `mate` a right frame of another kind goes behind it in the same one. Of the `heavy`
    there are fewer.
    """

    name: str
    change: Change | None = None
    manner: manners.Way = manners.whole
    lengths: Literal["follow", "kept", "seen to"] = "follow"
    items: int = 0
    copies: int = 1
    mate: bool = False
    heavy: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A mutation of one field of a frame; `row` is the field's pattern."""

    field: Field
    mutation: Mutation
    row: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """What came of a mutation."""

    data: bytes
    manner: Manner = WHOLE


def mutated(prepared: Prepared, entry: Entry, chance: Chance) -> Mutant | None:
    """Do what an entry says; None where it would change nothing."""
    mutation, field = entry.mutation, entry.field
    data = prepared.frame.data
    if mutation.change is not None:
        edits = mutation.change(prepared, field, chance)
        if edits is None:
            return None
        if mutation.lengths == "follow" and field.measured_by:
            edits = (*prepared.repairs(field, growth(edits), mutation.items), *edits)
        data = applied(data, edits)
    manner = mutation.manner(field, len(data), chance)
    return None if manner is None else Mutant(data, manner)


def menu(prepared: Prepared, limits: Mapping[str, tuple[int, ...]]) -> list[Entry]:
    """Return all that may be done to a frame; `limits` are numbers for fields, by pattern."""
    whole = Field(FRAME, 0, len(prepared.frame.data), "body")
    entries = [Entry(whole, mutation, FRAME) for mutation in WHOLE_FRAME]
    for field in prepared.fields:
        row = pattern(field.path)
        entries += (Entry(field, mutation, row) for mutation in _of_field(field, row, limits))
        entries += (Entry(field, mutation, row) for mutation in _filled(prepared, field))
    for item in structure.items(prepared):
        row = pattern(item.path)
        entries += (Entry(item, mutation, row) for mutation in _fitting(item, ITEMS))
    return entries


def _of_field(field: Field, row: str, limits: Mapping[str, tuple[int, ...]]) -> Iterator[Mutation]:
    table = BY_ROLE[field.role]
    if field.role == "json" and field.path.startswith("query."):
        table = JSON_IN_QUERY
    elif field.role in _DECIMAL and not field.order:
        table = IN_DIGITS
    yield from _fitting(field, (*table, *_of_http(field.path), *ANY_FIELD))
    if field.covers is not None and field.role == "length":
        yield from REACHING
    numbers_here = limits.get(row)
    if numbers_here:
        yield Mutation("about a limit", numbers.listed(numbers_here))


def _filled(prepared: Prepared, field: Field) -> Iterator[Mutation]:
    """Yield what makes a field as long as its own length can tell, or hardly less."""
    if not field.measured_by or field.role not in _FILLING:
        return
    length = prepared.by_path[field.measured_by[-1]]
    width = length.end - length.start
    if length.covers == (field.start, field.end) and length.order and width < _WIDE:
        yield from _FILLING[field.role][width - 1]


def _of_http(path: str) -> tuple[Mutation, ...]:
    if path.startswith(("path", "query.")):
        return _ESCAPES
    return IN_HEAD.get(path, ())


def _fitting(field: Field, table: Iterable[Mutation]) -> Iterator[Mutation]:
    """Leave out what lets lengths lie where no length measures the field."""
    return (each for each in table if field.measured_by or each.lengths != "kept")


def _trapped(trap: Trap) -> Change:
    """Return the change that lets a field fall into a trap."""

    def change(prepared: Prepared, field: Field, chance: Chance) -> Edits | None:
        right = prepared.bytes_of(field)
        wrong = trap(right, chance)
        return None if wrong == right else ((field.start, field.end, wrong),)

    return change


def _traps(*tables: Mapping[str, Trap], heavy: bool = False) -> Iterator[Mutation]:
    for table in tables:
        for name, trap in table.items():
            mutation = Mutation(name, _trapped(trap), heavy=heavy)
            yield mutation
            yield replace(mutation, name=name + KEPT, lengths="kept")


def _structural(change: Change, name: str, items: int = 0) -> Iterator[Mutation]:
    yield Mutation(name, change, items=items)
    yield Mutation(name + KEPT, change, lengths="kept")


def _cuts(name: str, change: Change) -> Iterator[Mutation]:
    yield Mutation(name, change, lengths="seen to")
    yield Mutation(f"{name}, then closed", change, manners.half_close, "seen to")


_DECIMAL: frozenset[Role] = frozenset(("length", "count", "number", "enumerator"))

_NUMBERS = tuple(
    Mutation(name, numbers.changed_number(change)) for name, change in numbers.NUMBERS.items()
)
_BYTES = tuple(_traps(text_traps.CHANGES))
_SIZED = (*_traps(text_traps.SIZES), *_traps(text_traps.LARGE_SIZES, heavy=True))

JSON_IN_QUERY = (*_BYTES, *_traps(http_traps.escaped(json_traps.JSON)))
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
    "body": text_traps.sized,
    "text": text_traps.sized,
    "json": json_traps.sized,
}
_FILLING: Mapping[Role, tuple[tuple[Mutation, ...], ...]] = {
    role: tuple(
        tuple(
            Mutation(
                f"as long as its length tells{words}", _trapped(grown((1 << bits) - 1 - less))
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
    Mutation("to the end of the frame", numbers.reaching(0)),
    Mutation("one beyond the end of the frame", numbers.reaching(1)),
    Mutation("far beyond the end of the frame", numbers.reaching(70_000)),
)
ITEMS = (
    *_structural(structure.dropped, "dropped", items=-1),
    *_structural(structure.doubled, "doubled", items=1),
    Mutation("swapped with the next", structure.swapped, lengths="seen to"),
)
ANY_FIELD = (
    *_structural(structure.dropped, "dropped"),
    *_structural(structure.doubled, "doubled"),
    Mutation("swapped with the next", structure.swapped, lengths="seen to"),
    *_cuts("cut before it", structure.cut_before),
    *_cuts("cut inside it", structure.cut_inside),
    Mutation("the frame ends before it", structure.ends_before, lengths="seen to"),
    Mutation("the frame ends inside it", structure.ends_inside, lengths="seen to"),
    Mutation("two writes, cut before it", manner=manners.split_before),
    Mutation("two writes, cut inside it", manner=manners.split_inside),
)
WHOLE_FRAME = (
    Mutation(GRAMMAR),
    Mutation("byte by byte", manner=manners.byte_by_byte),
    Mutation("many writes", manner=manners.split),
    Mutation("then closed", manner=manners.half_close),
    Mutation("slowly", manner=manners.slow, heavy=True),
    Mutation("twice in one write", copies=2),
    Mutation("many in one write", copies=20),
    Mutation("another behind it", mate=True),
)
