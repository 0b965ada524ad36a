"""The generated functions: decoders of one value and of many consecutive values."""

import math
import struct
from collections.abc import Callable, Mapping

from wireproof_spec.codec import decoder_lengths as decoder_lengths
from wireproof_spec.codec import decoder_texts as decoder_texts
from wireproof_spec.codec.decoder import Decoder, read
from wireproof_spec.codec.making import Maker
from wireproof_spec.codec.reading import TOTAL, Position
from wireproof_spec.codec.source import NotGenerated, Source
from wireproof_spec.grammar import lengths
from wireproof_spec.grammar.layout import Shape
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import count_bytes, show_value


def refusals(clause: str) -> Mapping[str, Callable[..., object]]:
    """Return the functions by which generated decoders make their errors, by name in the code."""

    def error(field: str, offset: int, expected: str, found: object) -> WireError:
        return WireError(
            clause=clause, field=field, offset=offset, expected=expected, found=str(found)
        )

    def refuse(field: str, offset: int, expected: str, found: object) -> WireError:
        return error(field or "value", offset, expected, found)

    def cut(field: str, offset: int, size: int, total: int) -> WireError:
        return error(field, offset, count_bytes(size), total - offset)

    def over(field: str, offset: int, room: int, found: int) -> WireError:
        return refuse(field, offset, f"at most {room}", found)

    def behind(field: str, offset: int, end: int) -> WireError:
        return refuse(field, offset, "a start before its end", f"{offset - end} behind it")

    def refuse_unbounded(
        field: str, offset: int, bounds: tuple[int, int], found: int
    ) -> WireError:
        lowest, highest = bounds
        expected = str(lowest) if lowest == highest else f"{lowest} to {highest}"
        return refuse(field, offset, expected, found)

    def refuse_trailing(offset: int, total: int) -> WireError:
        return refuse("end", offset, "no more bytes", total - offset)

    return {
        "refused": refuse,
        "cut": cut,
        "over": over,
        "behind": behind,
        "unbounded": refuse_unbounded,
        "trailing": refuse_trailing,
        "shown": show_value,
    }


def write_decoder(shape: Shape, clause: str, make: Maker) -> Source:
    """Return the source of a function `decode(data)` that must consume all of `data`.

    Raises:
        NotGenerated: a part of the shape is of an unknown kind.
    """
    code = _source(clause)
    to = Decoder(code, make)
    with to.block("def decode(data):"):
        code.line("total = len(data)")
        value = read(shape, to, "")
        to.flush()
        if to.place != TOTAL:
            with code.block(f"if {to.place} != total:"):
                code.line(f"raise trailing({to.place}, total)")
        code.line(f"return {value}")
    return code


def write_decoder_of_many(shape: Shape, clause: str, make: Maker) -> Source:
    """Return the source of a function `decode_many(data, at, limit)`: see `decoding.decode_many`.

    Raises:
        NotGenerated: the shape does not begin with its size, or has a part of an unknown kind.
    """
    if not isinstance(shape, lengths.Sized):
        raise NotGenerated(f"{shape!r} is not led by its size")
    code = _source(clause)
    to = Decoder(code, make)
    with code.block("def decode_many(data, at, limit):"):
        code.line(f"total = len(data)\nlast = total - {shape.least}\nvalues, ends = [], []")
        to.place, to.among_many = Position("at", 0), True
        with code.block("try:"), to.block("while at <= last:"):
            value = read(shape, to, "")
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
