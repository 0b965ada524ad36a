"""Decoder source for sizes, lengths, counts and repetitions."""

from wireproof_spec.codec.decoder import Decoder, read
from wireproof_spec.codec.expression import expression
from wireproof_spec.codec.reading import LengthCheck, Position, join_path, quote_path, term
from wireproof_spec.codec.source import NotGenerated
from wireproof_spec.grammar import layout, lengths
from wireproof_spec.grammar.layout import Shape


@read.register(lengths.Declared)
def _(shape: lengths.Declared, to: Decoder, path: str) -> str:
    place, integer = to.place, shape.integer
    length = read(integer, to, path)
    if isinstance(shape.bounds, lengths.BoundsBy):
        bounds, chosen = to.name("bounds"), to.names[shape.bounds.name]
        table = to.code.constant(dict(shape.bounds.bounds), "bounds")
        to.check(f"{bounds} = {table}.get({chosen})")
        test = f"{bounds} is not None and not {bounds}[0] <= {length} <= {bounds}[1]"
        raised = f"unbounded({quote_path(path)}, {place}, {bounds}, {length})"
        to.hold(test, raised)
    elif callable(shape.bounds):
        raise NotGenerated(repr(shape.bounds))
    elif shape.bounds is not None:
        _hold_bounds(shape.bounds, length, integer, to, path, place)
    if integer.lowest < 0:
        to.refuse(f"{length} < 0", path, place, "at least 0", length)
    stop = to.name("at")
    to.check(f"{stop} = {to.place} + {length}")
    to.hold(f"{stop} > {to.end}", f"over({quote_path(path)}, {place}, {_room(to)}, {length})")
    to.fitting[length] = LengthCheck(to.place, stop, to.end)
    return length


def _hold_bounds(
    bounds: tuple[int, int],
    length: str,
    integer: layout.Integer,
    to: Decoder,
    path: str,
    place: Position,
) -> None:
    lowest, highest = bounds
    if lowest <= integer.lowest and highest >= integer.highest:
        return
    raised = f"unbounded({quote_path(path)}, {place}, {bounds!r}, {length})"
    to.hold(f"not {lowest} <= {length} <= {highest}", raised)


def _room(to: Decoder) -> str:
    """Return the source of the number of bytes left."""
    return f"{to.end} - {term(to.place)}"


@read.register(lengths.Count)
def _(shape: lengths.Count, to: Decoder, path: str) -> str:
    place = to.place
    count = read(shape.subcon, to, path)
    if shape.integer.lowest < 0:
        to.refuse(f"{count} < 0", path, place, "at least 0", count)
    room = _room(to)
    to.hold(f"{count} > {room}", f"over({quote_path(path)}, {place}, {room}, {count})")
    return count


@read.register(lengths.Sized)
def _(shape: lengths.Sized, to: Decoder, path: str) -> str:
    start, outer, floor = to.place, to.end, to.floor
    lead = join_path(path, shape.lead.name)
    size = _read_size(shape, to, lead)
    end = Position(to.name("end"), 0)
    to.check(f"{end} = {to.place} + {size}")
    if to.enclosed and outer in to.reached:
        to.reached.add(end)
    elif to.among_many and not to.enclosed:
        to.check(f"if {end} > total or {size} > limit:\n    break")
        to.reached.add(end)
    to.end, to.floor = end, to.place.behind(shape.fewest)
    names, to.names = to.names, {}
    value = read(shape.subcon, to, path)
    to.end, to.floor, to.names = outer, floor, names
    if to.place != end:
        to.flush()
        taken = f"{to.place} - {term(start.behind(shape.width))}"
        expected = f"f'{{{taken}}}, the bytes its parts take'"
        with to.code.block(f"if {to.place} != {end}:"):
            to.code.line(f"raise refused({quote_path(lead)}, {start}, {expected}, {size})")
        to.reached.add(end)
        to.place = end
    return value


def _read_size(shape: lengths.Sized, to: Decoder, lead: str) -> str:
    place, least, integer = to.place, shape.fewest, shape.integer
    size = read(integer, to, lead)
    if least > integer.lowest:
        to.refuse(f"{size} < {least}", lead, place, f"at least {least}", size)
    if to.enclosed:
        room = _room(to)
        to.hold(f"{size} > {room}", f"over({quote_path(lead)}, {place}, {room}, {size})")
    return size


@read.register(lengths.Many)
def _(shape: lengths.Many, to: Decoder, path: str) -> str:
    count = expression(shape.count, to.names)
    to.flush()
    index = to.name("index")
    return _read_repeated(shape.subcon, to, path, f"for {index} in range({count}):", index)


@read.register(lengths.Each)
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
        value = read(each, to, join_path(path, f"[{{{index or f'len({found})'}}}]"))
        to.flush()
        to.code.line(f"{found}.append({value})")
        to.code.line(f"{start} = {to.place}")
    to.place, to.enclosed, to.names = start, enclosed, names
    return f"tuple({found})"
