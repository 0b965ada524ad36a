"""Encoder source for sizes, lengths, counts and repetitions."""

from dataclasses import replace

from wireproof_spec.codec.encoder import (
    BoundPart,
    Encoder,
    Rest,
    pack,
    prepare,
    write,
    write_repeated,
)
from wireproof_spec.codec.source import NotGenerated
from wireproof_spec.codec.writing import EncoderPath, size_of, write_tests
from wireproof_spec.grammar import lengths


@write.register(lengths.Declared)
def _(
    shape: lengths.Declared, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    written, octets = prepare(part.shapes[shape.of], to, part.names[shape.of], written)
    size, integer = octets.size, shape.integer
    if isinstance(shape.bounds, lengths.BoundsBy):
        bounds, table = to.code.name("bounds"), dict(shape.bounds.bounds)
        written = write_tests(to.code, written)
        chosen = part.names[shape.bounds.name]
        to.code.line(f"{bounds} = {to.code.constant(table, 'bounds')}.get({chosen})")
        test = f"{bounds} is not None and not {bounds}[0] <= {size} <= {bounds}[1]"
        written = written.and_test(test)
    elif callable(shape.bounds):
        raise NotGenerated(repr(shape.bounds))
    elif shape.bounds is not None:
        lowest, highest = shape.bounds
        if lowest > integer.lowest or highest < integer.highest:
            written = written.and_test(f"not {lowest} <= {size} <= {highest}")
    then(written.and_piece(pack(integer, size)))


@write.register(lengths.Count)
def _(
    shape: lengths.Count, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    counted = part.names[shape.of]
    written = written.and_test(f"not isinstance({counted}, tuple)")
    then(written.and_piece(pack(shape.integer, f"len({counted})")))


@write.register(lengths.Sized)
def _(
    shape: lengths.Sized, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest
) -> None:
    integer = shape.integer
    at, measured = len(written.pieces), to.measured
    to.measured = True

    def end(written: EncoderPath) -> None:
        to.measured = measured
        size = pack(integer, size_of(written.pieces[at + 1 :]))
        pieces = (*written.pieces[:at], size, *written.pieces[at + 1 :])
        then(replace(written, pieces=pieces))

    write(shape.subcon, to, part, written.and_piece(pack(integer, "0")), end)


@write.register(lengths.Many)
def _(shape: lengths.Many, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    write_repeated(shape.subcon, to, part, written, then)


@write.register(lengths.Each)
def _(shape: lengths.Each, to: Encoder, part: BoundPart, written: EncoderPath, then: Rest) -> None:
    if shape.fewest:
        tests = (f"not isinstance({part.value}, tuple)", f"len({part.value}) < {shape.fewest}")
        written = written.and_test(*tests)
    write_repeated(shape.subcon, to, part, written, then)
