"""Encoder source, shape by shape.

Each shape writes its own part and then calls a function that writes the rest. After a conditional
part, the rest is written twice, once for each outcome. `encoder_lengths` has the shapes that
measure or repeat others.
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import TypeAlias

from wireproof_spec.codec.expression import expression
from wireproof_spec.codec.making import Taker
from wireproof_spec.codec.source import NotGenerated, Source
from wireproof_spec.codec.writing import (
    Constant,
    EncoderPath,
    Octets,
    PackedPart,
    joined_bytes,
    write_tests,
)
from wireproof_spec.grammar import layout, texts
from wireproof_spec.grammar.dissection import PartRefused
from wireproof_spec.grammar.layout import Shape
from wireproof_spec.wire_error import Unfit

Rest: TypeAlias = Callable[[EncoderPath], None]
"""Writes what follows."""


@dataclass(frozen=True, slots=True)
class BoundPart:
    """A part to encode: the variable of its value, and the variables and shapes of its record."""

    value: str
    names: Mapping[str, str]
    shapes: Mapping[str, Shape]


@dataclass(slots=True)
class Encoder:
    """Generates the source of an encoder; `take` gives the code that reads a value's fields."""

    code: Source
    take: Taker
    measured: bool = False
    """Whether the bytes written are not all from the first on: a size or a repetition encloses."""


def write_encoder(shape: Shape, take: Taker) -> Source:
    """Return the source of a function `encode(value)`, which raises `Unfit` for a wrong value.

    Raises:
        NotGenerated: a part of the shape is of an unknown kind.
    """
    code = Source()
    failures = (struct.error, UnicodeEncodeError, PartRefused)
    code.constants |= {"failures": failures, "unfit": Unfit, "is_single": _is_single}
    to = Encoder(code, take)

    def end(written: EncoderPath) -> None:
        written = write_tests(code, written)
        code.line(f"return {joined_bytes(code, written.pieces)}")

    with code.block("def encode(value):"):
        with code.block("try:"):
            write(shape, to, BoundPart("value", {}, {}), EncoderPath(), end)
        with code.block("except failures:"):
            code.line("raise unfit from None")
    return code


def _is_single(value: object) -> bool:
    if type(value) is not float or not math.isfinite(value):
        return False
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


@singledispatch
def write(shape: object, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    """Write a part, and then the rest."""
    raise NotGenerated(repr(shape))


@write.register(layout.Integer)
def _(
    shape: layout.Integer, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    piece = pack(shape, part.value)
    then(written.and_test(_no_integer(part.value)).and_piece(piece))


def _no_integer(value: str) -> str:
    # A tenth faster than `type(…)`; what lies of its class is refused when it is packed.
    return f"{value}.__class__ is not int"


def _no_bytes(value: str) -> str:
    return f"{value}.__class__ is not bytes and not isinstance({value}, bytes)"


def pack(integer: layout.Integer, value: str) -> PackedPart:
    """Return the piece of an integer."""
    order = integer.fmtstr[0] if integer.length > 1 else ""
    return PackedPart(order, integer.fmtstr[1], integer.length, (value,))


@write.register(layout.WideInteger)
def _(
    shape: layout.WideInteger, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    if shape.length != 16:
        raise NotGenerated(f"an integer of {shape.length} bytes")
    value = part.value
    halves = (f"{value} & 0xFFFFFFFFFFFFFFFF", f"{value} >> 64")
    piece = PackedPart("<", "QQ", shape.length, halves)
    then(written.and_test(_no_integer(value)).and_piece(piece))


@write.register(layout.Float)
def _(shape: layout.Float, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    piece = PackedPart("<", "f", shape.length, (part.value,))
    then(written.and_test(f"not is_single({part.value})").and_piece(piece))


@write.register(layout.Ranged)
def _(
    shape: layout.Ranged, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    value = part.value
    written = written.and_test(_no_integer(value))
    written = written.and_test(f"not {shape.lowest} <= {value} <= {shape.highest}")
    then(written.and_piece(pack(shape.integer, value)))


@write.register(layout.OneOf)
def _(shape: layout.OneOf, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    value = part.value
    written = written.and_test(_no_integer(value), f"{value} not in {shape.values!r}")
    then(written.and_piece(pack(shape.integer, value)))


@write.register(layout.Literal)
def _(
    shape: layout.Literal, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    then(written.and_piece(Constant(shape.value)))


@write.register(layout.Bytes)
def _(shape: layout.Bytes, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    if isinstance(shape.length, int):
        value = part.value
        tests = (_no_bytes(value), f"len({value}) != {shape.length}")
        piece = PackedPart("", f"{shape.length}s", shape.length, (value,))
        then(written.and_test(*tests).and_piece(piece))
        return
    written, octets = prepare(shape, to, part.value, written)
    then(written.and_piece(octets))


@write.register(texts.Utf8)
def _(shape: texts.Utf8, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    written, octets = prepare(shape, to, part.value, written)
    then(written.and_piece(octets))


def prepare(
    shape: Shape, to: Encoder, value: str, written: EncoderPath
) -> tuple[EncoderPath, Octets]:
    """Write the code that encodes bytes or text once; return the variable with the bytes."""
    if value in written.prepared:
        return written, written.prepared[value]
    if isinstance(shape, layout.When):
        return prepare(shape.subcon, to, value, written)
    if isinstance(shape, texts.Utf8):
        written = write_tests(to.code, written.and_test(f"not isinstance({value}, str)"))
        octets = to.code.name("octets")
        to.code.line(f"{octets} = {value}.encode()")
    elif isinstance(shape, layout.Bytes):
        written = written.and_test(_no_bytes(value))
        octets = value
    else:
        raise NotGenerated(f"the length of {shape!r}")
    octets_made = Octets(octets, f"len({octets})")
    return written.and_prepared(value, octets_made), octets_made


@write.register(texts.Text)
def _(shape: texts.Text, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    value, pattern = part.value, to.code.constant(shape.pattern.fullmatch, "pattern")
    tests = (_no_bytes(value), f"not {pattern}({value})")
    then(written.and_test(*tests).and_piece(Octets(value, f"len({value})")))


@write.register(texts.Decimal)
def _(
    shape: texts.Decimal, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    value, digits = part.value, to.code.name("digits")
    tests = (_no_integer(value), f"not 0 <= {value} <= {shape.highest}")
    written = write_tests(to.code, written.and_test(*tests))
    to.code.line(f"{digits} = str({value}).encode()")
    then(written.and_piece(Octets(digits, f"len({digits})")))


@write.register(texts.Words)
def _(shape: texts.Words, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    write_repeated(shape.subcon, to, part, written, then, before=Constant(b" "))


@write.register(texts.CarriageReturn)
def _(
    shape: texts.CarriageReturn, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    if to.measured:
        raise NotGenerated("a carriage return within something measured")
    value, before = part.value, to.code.name("octets")
    written = write_tests(to.code, written.and_test(f"not isinstance({value}, bool)"))
    to.code.line(f"{before} = {joined_bytes(to.code, written.pieces)}")
    pieces = (Octets(before, f"len({before})"), Octets(rf"b'\r' * {value}", value))
    written = replace(written, pieces=pieces)
    then(written.and_test(rf"not {value} and {before}.endswith(b'\r')"))


@write.register(layout.Field)
def _(shape: layout.Field, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    write(shape.subcon, to, part, written, then)


@write.register(layout.Record)
def _(
    shape: layout.Record, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    names, written = _take_apart(shape, to, part.value, written)
    _write_parts(shape, to, names, written, then)


def _take_apart(
    shape: layout.Record, to: Encoder, value: str, written: EncoderPath
) -> tuple[dict[str, str], EncoderPath]:
    """Write the code that takes a value apart; return the variables of its parts."""
    test, pattern = to.take(to.code, value, shape.value_type)
    written = write_tests(to.code, written.and_test(test))
    names = {part.name: "None" for part in shape.parts}
    for index, name in enumerate(shape.value_fields):
        source = pattern.format(name=name, index=index)
        if name in shape.absent:
            written = written.and_test(f"{source} is not None")
        else:
            names[name] = to.code.name(name)
            to.code.line(f"{names[name]} = {source}")
    return names, written


def _write_parts(
    shape: layout.Record, to: Encoder, names: Mapping[str, str], written: EncoderPath, then: Rest
) -> None:
    shapes = {each.name: each.subcon for each in shape.parts}

    def write_from(index: int, written: EncoderPath) -> None:
        if index == len(shape.parts):
            then(written)
            return
        each = shape.parts[index]
        part = BoundPart(names[each.name], names, shapes)
        write(each, to, part, written, partial(write_from, index + 1))

    write_from(0, written)


@write.register(layout.When)
def _(shape: layout.When, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    condition = expression(shape.condition, part.names)
    nothing = () if part.value == "None" else (f"{part.value} is not None",)
    answer = written.answers.get(condition)
    if answer is not None:
        if answer:
            write(shape.subcon, to, part, written, then)
        else:
            then(written.and_test(*nothing))
        return
    written = write_tests(to.code, written)
    with to.code.block(f"if {condition}:"):
        write(shape.subcon, to, part, written.and_answer(condition, True), then)
    with to.code.block("else:"):
        then(written.and_answer(condition, False).and_test(*nothing))


@write.register(layout.Translated)
def _(
    shape: layout.Translated, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    made = to.code.constant(shape.value_type, "class")
    written = write_tests(to.code, written.and_test(f"type({part.value}) is not {made}"))
    before, whole = to.code.constant(shape.before, "before"), to.code.name("whole")
    to.code.line(f"{whole} = {before}({part.value})")
    write(shape.subcon, to, replace(part, value=whole), written, then)


@write.register(layout.Lifted)
def _(
    shape: layout.Lifted, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    code = to.code
    inner, high = code.name(shape.part), code.name(shape.into)
    test, pattern = to.take(code, part.value, shape.value_type)
    written = write_tests(code, written.and_test(test))
    fields = shape.value_fields
    code.line(f"{inner} = {pattern.format(name=shape.part, index=fields.index(shape.part))}")
    code.line(f"{high} = {pattern.format(name=shape.into, index=fields.index(shape.into))}")
    names, written = _take_apart(shape.inner, to, inner, written)
    low, whole = names[shape.number], code.name("whole")
    for number, most in ((low, shape.most_low), (high, shape.most_high)):
        written = written.and_test(_no_integer(number), f"not 0 <= {number} <= {most}")
    written = write_tests(code, written)
    code.line(f"{whole} = {high} << {shape.bits} | {low}")
    _write_parts(shape.inner, to, {**names, shape.number: whole}, written, then)


def write_repeated(
    each: Shape,
    to: Encoder,
    part: BoundPart,
    written: EncoderPath,
    then: Rest,
    before: Constant | None = None,
) -> None:
    """Write the code that writes each item of a tuple, and then the rest."""
    code, measured = to.code, to.measured
    written = write_tests(code, written.and_test(f"not isinstance({part.value}, tuple)"))
    parts, item, octets = code.name("parts"), code.name("item"), code.name("octets")
    code.line(f"{parts} = []")

    def end(written: EncoderPath) -> None:
        written = write_tests(code, written)
        code.line(f"{parts}.append({joined_bytes(code, written.pieces)})")

    to.measured = True
    with code.block(f"for {item} in {part.value}:"):
        inside = EncoderPath() if before is None else EncoderPath((before,))
        write(each, to, BoundPart(item, {}, {}), inside, end)
    to.measured = measured
    code.line(f"{octets} = b''.join({parts})")
    then(written.and_piece(Octets(octets, f"len({octets})")))
