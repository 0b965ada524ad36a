"""Generated code against interpreted construct: the same values, bytes and errors."""

import contextlib
import random
from collections.abc import Callable, Iterator
from enum import IntEnum
from importlib.resources.abc import Traversable
from typing import Any

import construct
import pytest
from byte_mutations import mutated
from check_each import check_each
from construct import this
from every_schema import every_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from schema_values import built

from wireproof_spec.codec import NotGenerated, generate_decoder, generate_encoder
from wireproof_spec.decoding import Schema, decode, decode_many, encode, extent
from wireproof_spec.grammar import interpreted
from wireproof_spec.grammar.layout import Bytes, Int8ub, Record, Shape, When, field
from wireproof_spec.grammar.lengths import Declared, Sized
from wireproof_spec.iggy import golden as iggy_golden
from wireproof_spec.nsq import golden as nsq_golden
from wireproof_spec.nsq.message import Extend
from wireproof_spec.nsq.publish import PUB_BODY, PubBody
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.wire_error import Unfit, WireError

SCHEMAS = every_schema()
EACH = pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
"""For what takes long: workers share the rows."""
AT_ONCE = check_each(SCHEMAS.values(), lambda schema: schema.name)
FEW = settings(max_examples=min(5, settings().max_examples), deadline=None)
"""Each with many mutations, for each of so many shapes."""
MUTATIONS = 5 * FEW.max_examples
LARGE = 5_000


def test_there_is_code_for_every_schema_of_both_protocols() -> None:
    assert len(SCHEMAS) >= 75
    for schema in SCHEMAS.values():
        generate_decoder(schema.shape, schema.clause, name=schema.name)
        generate_encoder(schema.shape, name=schema.name)


@AT_ONCE
def test_the_door_leads_to_generated_code(schema: Schema[Any]) -> None:
    with contextlib.suppress(WireError):
        decode(schema, b"\xff" * 3)
    with pytest.raises(WireError):
        encode(schema, None)

    assert schema.decoder.__name__ == "decode"
    assert schema.encoder.__name__ == "encode"


def said(read: Callable[[bytes], object], data: bytes) -> str:
    """Return a value with the types of all its parts, or an error with all it carries."""
    try:
        return repr(read(data))
    except WireError as error:
        return repr(vars(error))


def hold_equal(schema: Schema[Any], data: bytes) -> None:
    oracle = said(lambda data: interpreted.parse(schema.shape, schema.clause, data), data)

    assert said(schema.decoder, data) == oracle


@pytest.mark.slow
@EACH
@FEW
@given(data=st.data())
def test_drawn_values_and_their_bytes_are_read_and_written_the_same(
    schema: Schema[Any], data: st.DataObject
) -> None:
    """One draw for all: to draw costs more than most of the checks."""
    value, encoded = data.draw(built(schema))

    for end in range(min(len(encoded), 150)):
        hold_equal(schema, encoded[:end])
    check_odd_values(schema, value)
    check_tuples(schema, value, encoded)


@pytest.mark.slow
@AT_ONCE
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_valid_bytes_and_mutations_of_them_read_the_same(
    schema: Schema[Any], data: st.DataObject, seed: int
) -> None:
    _, encoded = data.draw(built(schema))
    chance = random.Random(seed)

    hold_equal(schema, encoded)
    for _ in range(MUTATIONS):
        changed = mutated(encoded, chance)
        hold_equal(schema, changed)
        hold_equal(schema, mutated(changed, chance))


@pytest.mark.slow
@AT_ONCE
@FEW
@given(seed=st.integers(0, 2**32))
def test_random_bytes_read_the_same(schema: Schema[Any], seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(MUTATIONS):
        hold_equal(schema, chance.randbytes(chance.randrange(80)))
        hold_equal(schema, bytes(chance.choice((0, 0, 0, 1, 4, 32)) for _ in range(60)))


SIZED = {name: schema for name, schema in SCHEMAS.items() if isinstance(schema.shape, Sized)}


def one_by_one(schema: Schema[Any], data: bytes, limit: int) -> tuple[list[object], list[int]]:
    """Decode values in a row through construct, up to the first that is not whole or right."""
    values: list[object] = []
    ends: list[int] = []
    at = 0
    with contextlib.suppress(WireError):
        while (size := extent(schema, data[at:], limit=limit)) and at + size <= len(data):
            values.append(interpreted.parse(schema.shape, "", data[at : at + size]))
            at += size
            ends.append(at)
    return values, ends


@pytest.mark.parametrize("schema", SIZED.values(), ids=SIZED.keys())
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_many_in_a_row_are_those_one_by_one(
    schema: Schema[Any], data: st.DataObject, seed: int
) -> None:
    row = b"".join(encoded for _, encoded in data.draw(st.lists(built(schema), max_size=4)))
    chance = random.Random(seed)
    for changed in (row, *(mutated(row, chance) for _ in range(MUTATIONS))):
        for limit in (1 << 20, chance.randrange(40)):
            expected = one_by_one(schema, changed, limit)
            assert repr(decode_many(schema, changed, limit=limit)) == repr(expected)

    before = chance.randbytes(chance.randrange(1, 9))
    values, ends = decode_many(schema, row)
    assert decode_many(schema, before + row, len(before)) == (
        values,
        [len(before) + end for end in ends],
    )


def test_many_in_a_row_must_be_led_by_their_size() -> None:
    with pytest.raises(TypeError, match="not led by its size"):
        decode_many(TRACE_RESPONSE, b"OK")


def recorded(protocol: str) -> set[bytes]:
    """Return what was recorded from real peers: each piece, and what stands behind its heads."""
    tcp = nsq_golden.nsqd_tcp() if protocol == "nsq" else iggy_golden.tcp()
    folder = nsq_golden.folder() if protocol == "nsq" else iggy_golden.folder()
    pieces = {step.data for scenario in tcp for step in scenario.steps}
    pieces |= {file.read_bytes() for file in _files(folder) if not file.name.endswith(".jsonl")}
    return {piece[start:] for piece in pieces for start in (0, 4, 8) if len(piece) < LARGE}


def _files(folder: Traversable) -> Iterator[Traversable]:
    for each in folder.iterdir():
        yield from _files(each) if each.is_dir() else (each,)


RECORDED = {protocol: recorded(protocol) for protocol in ("nsq", "iggy")}


def of_its_protocol(schema: Schema[Any]) -> set[bytes]:
    return RECORDED["iggy" if schema.clause.startswith("iggy.") else "nsq"]


@pytest.mark.slow
@EACH
def test_recorded_bytes_read_the_same(schema: Schema[Any]) -> None:
    for data in of_its_protocol(schema):
        hold_equal(schema, data)


def test_most_schemas_read_some_of_the_recorded_bytes() -> None:
    def reads(schema: Schema[Any]) -> bool:
        return any(said(schema.decoder, data)[0] != "{" for data in of_its_protocol(schema))

    assert sum(map(reads, SCHEMAS.values())) > 70


class Number(IntEnum):
    ONE = 1


class Octets(bytes):
    pass


ODD: list[object] = [
    None,
    True,
    -1,
    0,
    1,
    2**16,
    2**64,
    2**128,
    -(2**63) - 1,
    1.5,
    float("inf"),
    float("nan"),
    1e300,
    Number.ONE,
    "",
    "text",
    "\ud800",
    "x" * 300,
    b"",
    b" ",
    b"\r",
    b"x" * 300,
    b"x" * 70_000,
    Octets(b"0123456789abcdef"),
    bytearray(b"x"),
    (),
    (1,),
    [],
    Extend(0, None),
    Extend(4, b"x"),
    PubBody(b"x"),
]


def odd_values(value: object) -> Iterator[object]:
    """Yield a value with each of its parts, at any depth, turned into something else."""
    yield from ODD
    if isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from ((*value[:index], odd, *value[index + 1 :]) for odd in odd_values(each))
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            part = getattr(value, name)
            yield from (replace(value, **{name: odd}) for odd in odd_values(part))


def told(build: Callable[[Any], bytes], value: object) -> bytes | None:
    try:
        return build(value)
    except (WireError, Unfit):
        return None


def check_odd_values(schema: Schema[Any], value: object) -> None:
    """Values that fit, and that do not, are written the same."""

    def oracle(value: object) -> bytes:
        return interpreted.build(schema.shape, schema.clause, value)

    assert told(schema.encoder, value) == oracle(value)
    for odd in random.Random(repr(value)).sample(list(odd_values(value)), k=31):
        assert told(schema.encoder, odd) == told(oracle, odd), odd


def check_tuples(schema: Schema[Any], value: object, encoded: bytes) -> None:
    """Tuples hold the same parts."""
    to_tuples = generate_decoder(schema.shape, schema.clause, name="tuples", as_tuples=True)
    of_tuples = generate_encoder(schema.shape, name="tuples", as_tuples=True)

    assert to_tuples(encoded) == as_tuples(value)
    assert of_tuples(as_tuples(value)) == encoded


def as_tuples(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(as_tuples, value))
    if isinstance(value, Struct):
        return tuple(as_tuples(getattr(value, name)) for name in value.__struct_fields__)
    return value


def test_what_is_made_has_the_class_of_its_constructor() -> None:
    made = decode(PUB_BODY, encode(PUB_BODY, PubBody(b"x")))

    assert type(made) is PubBody
    assert made == PubBody(b"x")
    assert hash(made) == hash(PubBody(b"x"))


LEFT_TO_CONSTRUCT = {
    "a word of construct": Record(
        PubBody, field("body", construct.NullTerminated(construct.GreedyBytes))
    ),
    "a length nobody measured": Record(
        PubBody, field("length", Int8ub), field("body", Bytes(this.length))
    ),
    "a condition that is a function": Record(
        PubBody, field("body", When(lambda context: True, Bytes(1)))
    ),
    "bounds that are a function": Record(
        PubBody,
        field("length", Declared(Int8ub, of="body", bounds=lambda context: (1, 2))),
        field("body", Bytes(this.length)),
    ),
}
BYTES_OF_A = (b"a\0", b"\1a", b"a", b"\1a")


@pytest.mark.parametrize(
    ("shape", "data"),
    [*zip(LEFT_TO_CONSTRUCT.values(), BYTES_OF_A, strict=True)],
    ids=LEFT_TO_CONSTRUCT.keys(),
)
def test_a_shape_that_is_not_understood_is_left_to_construct(shape: Shape, data: bytes) -> None:
    with pytest.raises(NotGenerated):
        generate_decoder(shape, "", name="")

    assert decode(Schema("unknown", "", PubBody, shape), data) == PubBody(b"a")
