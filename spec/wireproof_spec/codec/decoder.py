"""Decoder source for numbers, bytes and records.

`decoder_lengths` and `decoder_texts` have the other shapes.
"""

from collections.abc import Mapping
from functools import singledispatch
from itertools import groupby
from typing import cast

from wireproof_spec.codec.expression import expression
from wireproof_spec.codec.making import Maker
from wireproof_spec.codec.reading import (
    TOTAL,
    DecoderBuilder,
    Kind,
    Position,
    join_path,
    quote_path,
    term,
)
from wireproof_spec.codec.source import NotGenerated, Source
from wireproof_spec.grammar import layout, lengths
from wireproof_spec.grammar.layout import Shape
from wireproof_spec.wording import show_value

MOST_AHEAD = 2
"""Numbers read before it is known whether they are there: each is wasted where they are not."""


class Decoder(DecoderBuilder):
    """Generates the source of a decoder; `make` writes the code that creates a decoded value."""

    def __init__(self, code: Source, make: Maker) -> None:
        super().__init__(code)
        self.make = make
        self.names: dict[str, str] = {}
        """The variables of the parts of the record that is being read."""
        self.enclosed = False
        """Whether a record or a repetition encloses what is being read."""
        self.among_many = False
        """Whether a value that is not whole ends a loop instead of being refused."""

    def refuse(self, test: str, path: str, place: Position, expected: str, found: str) -> None:
        """Write code that raises an error for a part if `test` is true.

        `expected` is text for the error; `found` is the source of an expression.
        """
        self.hold(test, f"refused({quote_path(path)}, {place}, {expected!r}, {found})")


@singledispatch
def read(shape: object, to: Decoder, path: str) -> str:
    """Write code that decodes a shape; return the variable or the source of the decoded value."""
    raise NotGenerated(repr(shape))


@read.register(layout.Integer)
def _(shape: layout.Integer, to: Decoder, path: str) -> str:
    value = to.name("number")
    to.read_fixed(_kind(shape), (value,), path)
    return value


def _kind(shape: layout.Integer) -> Kind:
    return Kind(shape.fmtstr[0], shape.fmtstr[1], shape.length)


@read.register(layout.WideInteger)
def _(shape: layout.WideInteger, to: Decoder, path: str) -> str:
    if shape.length != 16:
        raise NotGenerated(f"an integer of {shape.length} bytes")
    low, high, value = to.name("low"), to.name("high"), to.name("number")
    to.read_fixed(Kind("<", "QQ", shape.length), (low, high), path)
    to.later(f"{value} = {high} << 64 | {low}")
    return value


@read.register(layout.Float)
def _(shape: layout.Float, to: Decoder, path: str) -> str:
    value, place = to.name("real"), to.place
    to.read_fixed(Kind("<", "f", shape.length), (value,), path)
    to.refuse(f"not isfinite({value})", path, place, "a finite number", f"shown({value})")
    return value


@read.register(layout.Ranged)
def _(shape: layout.Ranged, to: Decoder, path: str) -> str:
    place, integer = to.place, shape.integer
    value = read(integer, to, path)
    tests = [f"{value} < {shape.lowest}"] * (shape.lowest > integer.lowest)
    tests += [f"{value} > {shape.highest}"] * (shape.highest < integer.highest)
    if tests:
        expected = f"{shape.lowest} to {shape.highest}"
        to.refuse(" or ".join(tests), path, place, expected, value)
    return value


@read.register(layout.OneOf)
def _(shape: layout.OneOf, to: Decoder, path: str) -> str:
    place = to.place
    value = read(shape.subcon, to, path)
    listed = ", ".join(map(str, shape.values))
    to.refuse(f"{value} not in {shape.values!r}", path, place, f"one of {listed}", value)
    return value


@read.register(layout.Literal)
def _(shape: layout.Literal, to: Decoder, path: str) -> str:
    value, place, size = to.name("literal"), to.place, len(shape.value)
    to.read_fixed(Kind("", f"{size}s", size), (value,), path)
    test = f"{value} != {shape.value!r}"
    to.refuse(test, path, place, show_value(shape.value), f"shown({value})")
    return value


@read.register(layout.Bytes)
def _(shape: layout.Bytes, to: Decoder, path: str) -> str:
    if shape.length is layout.room:
        return _read_rest(to, path)
    value = to.name("octets")
    if isinstance(shape.length, int):
        to.read_fixed(Kind("", f"{shape.length}s", shape.length), (value,), path)
        return value
    length = expression(shape.length, to.names)
    if length not in to.fitting:
        raise NotGenerated(f"{path} of a length that is not declared")
    to.flush()
    start, stop = to.place, to.known_to_fit(length)
    if stop is None:
        stop = to.name("at")
        to.code.line(f"{stop} = {start} + {length}")
        with to.code.block(f"if {stop} > total:"):
            to.code.line(f"raise cut({quote_path(path)}, {start}, {length}, total)")
    to.code.line(f"{value} = data[{start}:{stop}]")
    to.place = Position(stop, 0)
    return value


def _read_rest(to: Decoder, path: str) -> str:
    to.flush()
    start, end, value = to.place, to.end, to.name("octets")
    before = start.base == to.floor.base and start.more <= to.floor.more
    if end not in to.reached:
        with to.code.block(f"if {end} > total:"):
            to.code.line(f"raise cut({quote_path(path)}, {start}, {end} - {term(start)}, total)")
    if not before and end != TOTAL:
        with to.code.block(f"if {start} > {end}:"):
            to.code.line(f"raise behind({quote_path(path)}, {start}, {end})")
    to.code.line(f"{value} = data[{start}:{end}]")
    to.place = end
    to.reached.add(end)
    return value


@read.register(layout.Field)
def _(shape: layout.Field, to: Decoder, path: str) -> str:
    return read(shape.subcon, to, join_path(path, shape.name))


@read.register(layout.Record)
def _(shape: layout.Record, to: Decoder, path: str) -> str:
    parts = _read_parts(shape, to, path)
    value = to.name("value")
    values = [parts.get(name, "None") for name in shape.value_fields]
    to.later(to.make(to.code, value, shape.value_type, values))
    return value


def _read_parts(shape: layout.Record, to: Decoder, path: str) -> Mapping[str, str]:
    """Write the code that reads a record's parts; return the source of each value by name."""
    outer, enclosed = to.names, to.enclosed
    to.names, to.enclosed = {}, True
    for condition, group in groupby(shape.parts, key=_condition):
        parts = list(group)
        if condition is None:
            for part in parts:
                to.names[part.name] = read(part, to, path)
        else:
            _read_when({part.name: cast(layout.When, part.subcon) for part in parts}, to, path)
    names = to.names
    to.names, to.enclosed = outer, enclosed
    return names


def _condition(part: layout.Field) -> str | None:
    shape: Shape = part.subcon
    return repr(shape.condition) if isinstance(shape, layout.When) else None


def _read_when(parts: Mapping[str, layout.When], to: Decoder, path: str) -> None:
    """Write the code that reads consecutive parts that are present on the same condition."""
    first = next(iter(parts.values()))
    test = expression(first.condition, to.names)
    to.flush(_list_leading(first.subcon)[0][:MOST_AHEAD])
    before, at = to.place, to.name("at")
    names: list[str] = []
    with to.apart(), to.block(f"if {test}:"):
        for name, shape in parts.items():
            to.names[name] = read(shape.subcon, to, join_path(path, name))
        to.flush()
        for name in parts:
            to.names[name] = _assign(to, to.names[name])
            names.append(to.names[name])
        to.code.line(f"{at} = {to.place}")
    with to.block("else:"):
        to.code.line(f"{' = '.join(names)} = None")
        to.code.line(f"{at} = {before}")
    to.place = Position(at, 0)


def _list_leading(shape: Shape) -> tuple[list[Kind], bool]:
    """Return the numbers that a shape begins with, and True if it consists only of these."""
    match shape:
        case layout.Integer():
            return [_kind(shape)], True
        case lengths.Declared() | lengths.Count() | layout.Ranged() | layout.OneOf():
            return [_kind(shape.integer)], True
        case layout.When():
            return _list_leading(shape.subcon)[0], False
        case layout.Record():
            kinds_found: list[Kind] = []
            for part in shape.parts:
                kinds, whole = _list_leading(part.subcon)
                kinds_found += kinds
                if not whole:
                    return kinds_found, False
            return kinds_found, True
        case _:
            return [], False


def _assign(to: Decoder, value: str) -> str:
    """Return the value if it is a variable, else a new variable with the value."""
    if value.isidentifier():
        return value
    name = to.name("value")
    to.code.line(f"{name} = {value}")
    return name


@read.register(layout.Translated)
def _(shape: layout.Translated, to: Decoder, path: str) -> str:
    whole, value = read(shape.subcon, to, path), to.name("value")
    after = to.code.constant(shape.after, "after")
    to.later(f"{value} = {after}({whole})")
    return value


@read.register(layout.Lifted)
def _(shape: layout.Lifted, to: Decoder, path: str) -> str:
    parts = dict(_read_parts(shape.inner, to, join_path(path, shape.part)))
    number, part, value = parts[shape.number], to.name("value"), to.name("value")
    parts[shape.number] = f"{number} & {shape.most_low}"
    values = [parts.get(name, "None") for name in shape.inner.value_fields]
    to.later(to.make(to.code, part, shape.inner.value_type, values))
    lifted = {shape.part: part, shape.into: f"{number} >> {shape.bits}"}
    values = [lifted[name] for name in shape.value_fields]
    to.later(to.make(to.code, value, shape.value_type, values))
    return value
