"""Words of the layout in company that no schema of today puts them in, through both ways."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from byte_mutations import mutated
from construct import this
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import force_setattr

from wireproof_spec.codec import NotGenerated, generate_decoder, generate_encoder
from wireproof_spec.grammar import interpreted
from wireproof_spec.grammar.layout import (
    Bytes,
    Int8ub,
    Int16ub,
    Int32sb,
    Int32ul,
    Int64ul,
    Int128ul,
    Literal,
    OneOf,
    Ranged,
    Record,
    Rest,
    Shape,
    Translated,
    When,
    WideInteger,
    field,
)
from wireproof_spec.grammar.lengths import Count, Declared, Each, Many, Sized
from wireproof_spec.grammar.texts import CarriageReturn, Utf8
from wireproof_spec.wire_error import Unfit, WireError


class Pair(Struct, frozen=True):
    left: object
    right: object


class Doubled(Struct, frozen=True):
    """Changes what its constructor is given: the constructor must be called."""

    left: object
    right: object

    def __post_init__(self) -> None:
        force_setattr(self, "right", (self.right, self.right))


def pair(
    left: Shape, right: Shape, *between: tuple[str, Shape], made: type[Struct] = Pair
) -> Record:
    return Record(
        made, field("left", left), *(field(*each) for each in between), field("right", right)
    )


OPTIONAL = pair(Int8ub, When(this.left > 0x7F, Int32sb))
TEXT = pair(Int8ub, Utf8(Bytes(this.length)), ("length", Declared(Int16ub, of="right")))
SHAPES: dict[str, Shape] = {
    "two byte orders": pair(Int16ub, Int32ul, ("mark", Literal(b"--"))),
    "order changes behind a check": pair(Ranged(Int16ub, 0, 0xFFF), Int64ul),
    "condition in a repetition": Each(OPTIONAL),
    "condition in a count": Record(
        Pair,
        field("count", Count(Int8ub, of="left")),
        field("left", Many(OPTIONAL, count=this.count)),
        field("right", OneOf(Int8ub, (1, 3))),
    ),
    "conditions in a row": pair(
        Int8ub, When(this.left, Int16ub), ("middle", When(this.left, Literal(b"--")))
    ),
    "two conditions": Record(
        Pair,
        field("left", Int8ub),
        field("right", When(this.left & 1, pair(Int8ub, When(this.left & 2, Int16ub)))),
    ),
    "record ends behind a record": pair(OPTIONAL, TEXT),
    "size within a size": Sized(Int16ub, pair(Sized(Int8ub, TEXT), Rest)),
    "size that its parts must fill": Sized(Int8ub, pair(OPTIONAL, TEXT)),
    "rest behind a condition": Sized(Int8ub, pair(OPTIONAL, Rest)),
    "literal within a size": Sized(Int8ub, pair(Int8ub, Rest, ("mark", Literal(b"-")))),
    "sizes in a row": Each(Sized(Int8ub, pair(Int8ub, Rest)), fewest=2),
    "repetition within a repetition": Each(Sized(Int8ub, Each(TEXT))),
    "wide number behind a narrow one": pair(Int8ub, Int128ul),
    "translated": pair(
        Int8ub,
        Translated(Int16ub, int, after=lambda value: value + 1, before=lambda value: value - 1),
    ),
    "a constructor of its own": pair(Int8ub, Int16ub, made=Doubled),
    "bytes of a fixed number": pair(Bytes(3), Bytes(0)),
}
EACH = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


RIGHT = {
    SHAPES["rest behind a condition"]: bytes.fromhex("05 80 00000000"),
    SHAPES["literal within a size"]: bytes.fromhex("04 00 2d 6162"),
    SHAPES["two byte orders"]: bytes.fromhex("0001 2d2d 01000000"),
    SHAPES["size within a size"]: bytes.fromhex("000a 05 01 0002 6162 7a7a7a7a"),
    SHAPES["size that its parts must fill"]: bytes.fromhex("06 01 01 0002 6162"),
}


def likely(shape: Shape, chance: random.Random) -> bytes:
    """Return bytes of which many numbers are small, or almost right ones."""
    if shape in RIGHT and chance.random() < 0.5:
        return mutated(RIGHT[shape], chance)
    few = (0, 0, 1, 1, 2, 3, 4, 5, 7, 45, 45, 0x80, 0xFF)
    return bytes(chance.choice(few) for _ in range(chance.randrange(30)))


def told(do: Callable[[Any], object], given: object) -> object:
    """Return what comes of it, or the error."""
    try:
        return do(given)
    except (WireError, Unfit) as error:
        return error


def told_apart(found: object) -> str:
    """Return a value with the types of its parts, an error with all it carries."""
    return repr(vars(found)) if isinstance(found, WireError) else repr(found)


@EACH
@settings(max_examples=min(20, settings().max_examples), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_company_of_words_reads_and_writes_the_same(shape: Shape, seed: int) -> None:
    decoder = generate_decoder(shape, "clause", name="words")
    encoder = generate_encoder(shape, name="words")
    chance = random.Random(seed)
    for data in (likely(shape, chance) for _ in range(100)):
        found = told(decoder, data)
        oracle = told(partial(interpreted.parse, shape, "clause"), data)
        assert told_apart(found) == told_apart(oracle)
        if not isinstance(oracle, Exception):
            built = told(partial(interpreted.build, shape, "clause"), oracle)
            again = told(encoder, oracle)
            assert again == built or (isinstance(again, Unfit) and isinstance(built, WireError))


@pytest.mark.slow
@EACH
def test_likely_bytes_are_sometimes_right(shape: Shape) -> None:
    chance = random.Random(1)
    decoder = generate_decoder(shape, "clause", name="words")

    found = [told(decoder, likely(shape, chance)) for _ in range(10_000)]

    assert sum(not isinstance(each, WireError) for each in found) > 5


@pytest.mark.parametrize(
    "shape",
    [WideInteger(12), Sized(Int8ub, pair(Int8ub, CarriageReturn()))],
    ids=["another width", "what came before, within a size"],
)
def test_what_is_not_understood_is_said(shape: Shape) -> None:
    with pytest.raises(NotGenerated):
        generate_encoder(shape, name="words")
