"""Numbers that parsers often get wrong, by name, each derived from the correct number."""

from collections.abc import Callable, Mapping, Sequence

from wireproof_kit.fuzz.case import Field
from wireproof_kit.fuzz.generate.edits import Edits, FieldIndex, number_edit
from wireproof_kit.fuzz.generate.random_source import RandomSource

Number = Callable[[int, int, RandomSource], int]
"""Returns a wrong number from the correct one, its width in bits and a random source."""


def _random(number: int, bits: int, source: RandomSource) -> int:
    return number ^ (1 + source.below((1 << min(bits, 64)) - 1))


def _flip_bits(number: int, bits: int, source: RandomSource) -> int:
    return number ^ 1 << source.below(bits)


def _swap_bytes(number: int, bits: int, source: RandomSource) -> int:
    return int.from_bytes((number % (1 << bits)).to_bytes(bits // 8, "big"), "little")


NUMBERS: Mapping[str, Number] = {
    "zero": lambda number, bits, source: 0,
    "one": lambda number, bits, source: 1,
    "one less": lambda number, bits, source: number - 1,
    "one more": lambda number, bits, source: number + 1,
    "all ones (-1)": lambda number, bits, source: -1,
    "all ones but one (-2)": lambda number, bits, source: -2,
    "largest signed": lambda number, bits, source: (1 << bits - 1) - 1,
    "smallest signed": lambda number, bits, source: 1 << bits - 1,
    "negated": lambda number, bits, source: -number,
    "twice as much": lambda number, bits, source: number * 2,
    "2**8 more": lambda number, bits, source: number + (1 << 8),
    "2**16 more": lambda number, bits, source: number + (1 << 16),
    "2**24 more": lambda number, bits, source: number + (1 << 24),
    "2**32 more": lambda number, bits, source: number + (1 << 32),
    "a quarter of all": lambda number, bits, source: 1 << bits - 2,
    "other byte order": _swap_bytes,
    "one bit changed": _flip_bits,
    "another": _random,
}


def changed_number(change: Number) -> Callable[[FieldIndex, Field, RandomSource], Edits | None]:
    """Return a mutation that overwrites a field with `change` of its number; None if equal."""

    def make(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
        bits = 64 if field.order is None else 8 * (field.end - field.start)
        edit = number_edit(field, change(prepared.number_in(field), bits, source))
        return None if edit[2] == prepared.bytes_of(field) else (edit,)

    return make


def make_reaching(beyond: int) -> Callable[[FieldIndex, Field, RandomSource], Edits | None]:
    """Return a mutation that makes a length end `beyond` bytes after the end of the frame."""

    def make(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
        assert field.covers is not None, "a length covers something"
        edit = number_edit(field, len(prepared.frame.data) - field.covers[0] + beyond)
        return None if edit[2] == prepared.bytes_of(field) else (edit,)

    return make


def make_listed(
    numbers: Sequence[int],
) -> Callable[[FieldIndex, Field, RandomSource], Edits | None]:
    """Return a mutation that overwrites a field with a random one of the given numbers."""

    def make(prepared: FieldIndex, field: Field, source: RandomSource) -> Edits | None:
        edit = number_edit(field, source.one_of(numbers))
        return None if edit[2] == prepared.bytes_of(field) else (edit,)

    return make
