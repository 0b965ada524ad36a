"""Shapes as the source of a decoder, shape by shape."""

# construct's interface for subclasses has underscored names.
# pyright: reportPrivateUsage=false

import math
import struct
from collections.abc import Mapping
from functools import singledispatch
from itertools import groupby
from typing import cast

from wireproof_spec import layout, lengths, texts
from wireproof_spec.codec.expression import expression
from wireproof_spec.codec.making import Maker
from wireproof_spec.codec.reading import TOTAL, Place, Reading, joined, quoted
from wireproof_spec.codec.refusing import refusals
from wireproof_spec.codec.source import NotGenerated, Source
from wireproof_spec.dissection import shown
from wireproof_spec.layout import Shape
from wireproof_spec.wire_error import WireError


class Decoder(Reading):
    """A decoder being written, and how it makes its values."""

    def __init__(self, code: Source, make: Maker) -> None:
        super().__init__(code)
        self.make = make
        self.names: dict[str, str] = {}
        """The variables of the parts of the record that is being read."""
        self.enclosed = False
        """Whether a record or a repetition encloses what is being read."""
        self.among_many = False
        """Whether a value that is not whole ends a loop instead of being refused."""

    def refuse(self, test: str, path: str, place: Place, expected: str, found: str) -> None:
        """Refuse a part when the test holds; `expected` is text, `found` source."""
        self.hold(test, f"refused({quoted(path)}, {place}, {expected!r}, {found})")


def write_decoder(shape: Shape, clause: str, make: Maker) -> Source:
    """Return a function `decode(data)` that takes the whole of `data`.

    Raises:
        NotGenerated: a part of the shape is none that is known here.
    """
    code = _source(clause)
    to = Decoder(code, make)
    with to.block("def decode(data):"):
        code.line("total = len(data)")
        value = _read(shape, to, "")
        to.flush()
        if to.place != TOTAL:
            with code.block(f"if {to.place} != total:"):
                code.line(f"raise trailing({to.place}, total)")
        code.line(f"return {value}")
    return code


def write_decoder_of_many(shape: Shape, clause: str, make: Maker) -> Source:
    """Return a function `decode_many(data, at, limit)`: see `decoding.decode_many`.

    Raises:
        NotGenerated: the shape is not led by its size, or a part of it is none known here.
    """
    if not isinstance(shape, lengths.Sized):
        raise NotGenerated(f"{shape!r} is not led by its size")
    code = _source(clause)
    to = Decoder(code, make)
    with code.block("def decode_many(data, at, limit):"):
        code.line("total = len(data)\nvalues, ends = [], []")
        to.place, to.among_many = Place("at", 0), True
        with code.block("try:"), to.block(f"while total - at >= {shape.least}:"):
            value = _read(shape, to, "")
            to.flush()
            code.line(f"values.append({value})\nends.append({to.place})\nat = {to.place}")
        code.line("except WireError:\n    pass")
        code.line("return values, ends")
    return code


def _source(clause: str) -> Source:
    code = Source()
    code.constants |= refusals(clause)
    code.constants |= {"struct_error": struct.error, "isfinite": math.isfinite}
    code.constants |= {"WireError": WireError}
    return code


@singledispatch
def _read(shape: object, to: Decoder, path: str) -> str:
    """Write how a shape is read; return the variable or the source of its value."""
    raise NotGenerated(repr(shape))


@_read.register
def _(shape: layout.Integer, to: Decoder, path: str) -> str:
    value = to.name("number")
    to.fixed(shape.fmtstr[0], shape.fmtstr[1], shape.length, (value,), path)
    return value


@_read.register
def _(shape: layout.WideInteger, to: Decoder, path: str) -> str:
    if shape.length != 16:
        raise NotGenerated(f"an integer of {shape.length} bytes")
    low, high, value = to.name("low"), to.name("high"), to.name("number")
    to.fixed("<", "QQ", shape.length, (low, high), path)
    to.later(f"{value} = {high} << 64 | {low}")
    return value


@_read.register
def _(shape: layout.Float, to: Decoder, path: str) -> str:
    value, place = to.name("real"), to.place
    to.fixed("<", "f", shape.length, (value,), path)
    to.refuse(f"not isfinite({value})", path, place, "a finite number", f"shown({value})")
    return value


@_read.register
def _(shape: layout.Ranged, to: Decoder, path: str) -> str:
    place, integer = to.place, shape.integer
    value = _read(integer, to, path)
    tests = [f"{value} < {shape.lowest}"] * (shape.lowest > integer.lowest)
    tests += [f"{value} > {shape.highest}"] * (shape.highest < integer.highest)
    if tests:
        expected = f"{shape.lowest} to {shape.highest}"
        to.refuse(" or ".join(tests), path, place, expected, value)
    return value


@_read.register
def _(shape: layout.OneOf, to: Decoder, path: str) -> str:
    place = to.place
    value = _read(shape.subcon, to, path)
    listed = ", ".join(map(str, shape.values))
    to.refuse(f"{value} not in {shape.values!r}", path, place, f"one of {listed}", value)
    return value


@_read.register
def _(shape: layout.Literal, to: Decoder, path: str) -> str:
    value, place, size = to.name("literal"), to.place, len(shape.value)
    to.fixed("", f"{size}s", size, (value,), path)
    test = f"{value} != {shape.value!r}"
    to.refuse(test, path, place, shown(shape.value), f"shown({value})")
    return value


@_read.register
def _(shape: layout.Bytes, to: Decoder, path: str) -> str:
    if shape.length is layout.room:
        return _read_rest(to, path)
    value = to.name("octets")
    if isinstance(shape.length, int):
        to.fixed("", f"{shape.length}s", shape.length, (value,), path)
        return value
    length = expression(shape.length, to.names)
    if length not in to.fitting:
        raise NotGenerated(f"{path} of a length that is not declared")
    to.flush()
    fits, start, stop = to.known_to_fit(length), to.place, to.name("at")
    to.code.line(f"{stop} = {start} + {length}")
    if not fits:
        with to.code.block(f"if {stop} > total:"):
            to.code.line(f"raise cut({quoted(path)}, {start}, {length}, total)")
    to.code.line(f"{value} = data[{start}:{stop}]")
    to.place = Place(stop, 0)
    return value


def _read_rest(to: Decoder, path: str) -> str:
    to.flush()
    start, end, value = to.place, to.end, to.name("octets")
    before = start.base == to.floor.base and start.more <= to.floor.more
    if end not in to.reached:
        with to.code.block(f"if {end} > total:"):
            to.code.line(f"raise cut({quoted(path)}, {start}, {end} - {_term(start)}, total)")
    if not before and end != TOTAL:
        with to.code.block(f"if {start} > {end}:"):
            to.code.line(f"raise behind({quoted(path)}, {start}, {end})")
    to.code.line(f"{value} = data[{start}:{end}]")
    to.place = end
    to.reached.add(end)
    return value


def _term(place: Place) -> str:
    return f"({place})" if place.base and place.more else str(place)


@_read.register
def _(shape: texts.Utf8, to: Decoder, path: str) -> str:
    place = to.place
    octets, value = _read(shape.subcon, to, path), to.name("text")
    found = f"shown({octets}[error.start:])"
    to.flush()
    with to.code.block("try:"):
        to.code.line(f"{value} = {octets}.decode()")
    with to.code.block("except UnicodeDecodeError as error:"):
        refused = f"refused({quoted(path)}, {place}, 'UTF-8', {found})"
        to.code.line(f"raise {refused} from None")
    return value


@_read.register
def _(shape: texts.Text, to: Decoder, path: str) -> str:
    to.flush()
    place, match, value = to.place, to.name("match"), to.name("word")
    pattern = to.code.constant(shape.pattern.match, "pattern")
    to.code.line(f"{match} = {pattern}(data, {place})")
    with to.code.block(f"if {match} is None:"):
        found = f"shown(data[{place}:{place.behind(8)}])"
        to.code.line(f"raise refused({quoted(path)}, {place}, {shape.kind!r}, {found})")
    to.code.line(f"{value} = {match}[0]")
    to.move(f"{match}.end()")
    return value


@_read.register
def _(shape: texts.Decimal, to: Decoder, path: str) -> str:
    return f"int({_read(shape.digits, to, path)})"


@_read.register
def _(shape: texts.Words, to: Decoder, path: str) -> str:
    to.flush()
    words = to.name("words")
    to.code.line(f"{words} = []")
    to.move(str(to.place))
    start = to.place
    with to.block(f"while data[{start}:{start.behind(1)}] == b' ':"):
        to.place = start.behind(1)
        word = _read(shape.subcon, to, joined(path, f"[{{len({words})}}]"))
        to.flush()
        to.code.line(f"{words}.append({word})")
        to.code.line(f"{start} = {to.place}")
    to.place = start
    return f"tuple({words})"


@_read.register
def _(shape: texts.CarriageReturn, to: Decoder, path: str) -> str:
    to.flush()
    value, place = to.name("flag"), to.place
    to.code.line(f"{value} = data[{place}:{place.behind(1)}] == b'\\r'")
    to.move(f"{place} + {value}")
    return value


@_read.register
def _(shape: layout.Field, to: Decoder, path: str) -> str:
    return _read(shape.subcon, to, joined(path, shape.name))


@_read.register
def _(shape: layout.Record, to: Decoder, path: str) -> str:
    parts = _read_parts(shape, to, path)
    value = to.name("value")
    values = [parts.get(name, "None") for name in shape.value_fields]
    to.later(to.make(to.code, value, shape.value_type, values))
    return value


def _read_parts(shape: layout.Record, to: Decoder, path: str) -> Mapping[str, str]:
    """Read the parts of a record; return the source of their values."""
    outer, enclosed = to.names, to.enclosed
    to.names, to.enclosed = {}, True
    for condition, group in groupby(shape.parts, key=_condition):
        parts = list(group)
        if condition is None:
            for part in parts:
                to.names[part.name] = _read(part, to, path)
        else:
            _read_when({part.name: cast(layout.When, part.subcon) for part in parts}, to, path)
    found = to.names
    to.names, to.enclosed = outer, enclosed
    return found


def _condition(part: layout.Field) -> str | None:
    shape: Shape = part.subcon
    return repr(shape.condition) if isinstance(shape, layout.When) else None


def _read_when(parts: Mapping[str, layout.When], to: Decoder, path: str) -> None:
    """Read neighbours that are there on one condition."""
    first = next(iter(parts.values()))
    test, ahead = expression(first.condition, to.names), _first_integer(first.subcon)
    to.flush((ahead.fmtstr[0], ahead.fmtstr[1], ahead.length) if ahead else None)
    before, at = to.place, to.name("at")
    names: list[str] = []
    with to.apart(), to.block(f"if {test}:"):
        for name, shape in parts.items():
            to.names[name] = _read(shape.subcon, to, joined(path, name))
        to.flush()
        for name in parts:
            to.names[name] = _named(to, to.names[name])
            names.append(to.names[name])
        to.code.line(f"{at} = {to.place}")
    with to.block("else:"):
        to.code.line(f"{' = '.join(names)} = None")
        to.code.line(f"{at} = {before}")
    to.place = Place(at, 0)


def _first_integer(shape: Shape) -> layout.Integer | None:
    """Return the number with which a shape begins."""
    match shape:
        case layout.Integer():
            return shape
        case lengths.Declared() | lengths.Count() | layout.Ranged() | layout.OneOf():
            return shape.integer
        case layout.Record():
            return _first_integer(shape.parts[0].subcon) if shape.parts else None
        case _:
            return None


def _named(to: Decoder, value: str) -> str:
    """Return a variable of a value."""
    if value.isidentifier():
        return value
    name = to.name("value")
    to.code.line(f"{name} = {value}")
    return name


@_read.register
def _(shape: layout.Translated, to: Decoder, path: str) -> str:
    whole, value = _read(shape.subcon, to, path), to.name("value")
    after = to.code.constant(shape.after, "after")
    to.later(f"{value} = {after}({whole})")
    return value


@_read.register
def _(shape: layout.Lifted, to: Decoder, path: str) -> str:
    parts = dict(_read_parts(shape.inner, to, joined(path, shape.part)))
    number, part, value = parts[shape.number], to.name("value"), to.name("value")
    parts[shape.number] = f"{number} & {shape.most_low}"
    values = [parts.get(name, "None") for name in shape.inner.value_fields]
    to.later(to.make(to.code, part, shape.inner.value_type, values))
    lifted = {shape.part: part, shape.into: f"{number} >> {shape.bits}"}
    values = [lifted[name] for name in shape.value_fields]
    to.later(to.make(to.code, value, shape.value_type, values))
    return value


@_read.register
def _(shape: lengths.Declared, to: Decoder, path: str) -> str:
    place, integer = to.place, shape.integer
    length = _read(integer, to, path)
    if isinstance(shape.bounds, lengths.BoundsBy):
        bounds, chosen = to.name("bounds"), to.names[shape.bounds.name]
        table = to.code.constant(dict(shape.bounds.bounds), "bounds")
        to.check(f"{bounds} = {table}.get({chosen})")
        test = f"{bounds} is not None and not {bounds}[0] <= {length} <= {bounds}[1]"
        raised = f"unbounded({quoted(path)}, {place}, {bounds}, {length})"
        to.hold(test, raised)
    elif callable(shape.bounds):
        raise NotGenerated(repr(shape.bounds))
    elif shape.bounds is not None:
        _hold_bounds(shape.bounds, length, integer, to, path, place)
    _hold_room(length, integer, to, path, place)
    to.fitting[length] = (to.place, to.end)
    return length


def _hold_bounds(
    bounds: tuple[int, int],
    length: str,
    integer: layout.Integer,
    to: Decoder,
    path: str,
    place: Place,
) -> None:
    lowest, highest = bounds
    if lowest <= integer.lowest and highest >= integer.highest:
        return
    raised = f"unbounded({quoted(path)}, {place}, {bounds!r}, {length})"
    to.hold(f"not {lowest} <= {length} <= {highest}", raised)


def _hold_room(length: str, integer: layout.Integer, to: Decoder, path: str, place: Place) -> None:
    """Refuse a number that is more than the bytes left behind it, or negative."""
    if integer.lowest < 0:
        to.refuse(f"{length} < 0", path, place, "at least 0", length)
    room = f"{to.end} - {_term(to.place)}"
    raised = f"over({quoted(path)}, {place}, {room}, {length})"
    to.hold(f"{length} > {room}", raised)


@_read.register
def _(shape: lengths.Count, to: Decoder, path: str) -> str:
    place = to.place
    count = _read(shape.subcon, to, path)
    _hold_room(count, shape.integer, to, path, place)
    return count


@_read.register
def _(shape: lengths.Sized, to: Decoder, path: str) -> str:
    start, outer, floor = to.place, to.end, to.floor
    lead = joined(path, shape.lead.name)
    size = _read_size(shape, to, lead)
    end = Place(to.name("end"), 0)
    to.check(f"{end} = {to.place} + {size}")
    if to.enclosed and outer in to.reached:
        to.reached.add(end)
    elif to.among_many and not to.enclosed:
        to.check(f"if {end} > total or {size} > limit:\n    break")
        to.reached.add(end)
    to.end, to.floor = end, to.place.behind(shape.fewest)
    names, to.names = to.names, {}
    value = _read(shape.subcon, to, path)
    to.end, to.floor, to.names = outer, floor, names
    if to.place != end:
        to.flush()
        taken = f"{to.place} - {_term(start.behind(shape.width))}"
        expected = f"f'{{{taken}}}, the bytes its parts take'"
        with to.code.block(f"if {to.place} != {end}:"):
            to.code.line(f"raise refused({quoted(lead)}, {start}, {expected}, {size})")
        to.reached.add(end)
        to.place = end
    return value


def _read_size(shape: lengths.Sized, to: Decoder, lead: str) -> str:
    place, least, integer = to.place, shape.fewest, shape.integer
    size = _read(integer, to, lead)
    if least > integer.lowest:
        to.refuse(f"{size} < {least}", lead, place, f"at least {least}", size)
    if to.enclosed:
        room = f"{to.end} - {_term(to.place)}"
        raised = f"over({quoted(lead)}, {place}, {room}, {size})"
        to.hold(f"{size} > {room}", raised)
    return size


@_read.register
def _(shape: lengths.Many, to: Decoder, path: str) -> str:
    count = expression(shape.count, to.names)
    to.flush()
    index = to.name("index")
    return _read_repeated(shape.subcon, to, path, f"for {index} in range({count}):", index)


@_read.register
def _(shape: lengths.Each, to: Decoder, path: str) -> str:
    to.flush()
    start, found = to.place, to.name("values")
    value = _read_repeated(shape.subcon, to, path, f"while {{at}} < {to.end}:", "", found)
    if shape.fewest:
        expected = f"at least {shape.fewest}"
        test = f"len({found}) < {shape.fewest}"
        to.refuse(test, path, start, expected, f"len({found})")
    return value


def _read_repeated(
    each: Shape, to: Decoder, path: str, head: str, index: str, found: str = ""
) -> str:
    found = found or to.name("values")
    to.code.line(f"{found} = []")
    to.move(str(to.place))
    start, enclosed, names = to.place, to.enclosed, to.names
    to.enclosed, to.names = True, {}
    with to.apart(), to.block(head.format(at=start)):
        value = _read(each, to, joined(path, f"[{{{index or f'len({found})'}}}]"))
        to.flush()
        to.code.line(f"{found}.append({value})")
        to.code.line(f"{start} = {to.place}")
    to.place, to.enclosed, to.names = start, enclosed, names
    return f"tuple({found})"
