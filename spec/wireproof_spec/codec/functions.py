"""The functions that are written: decoders of one value and of many in a row."""

import math
import struct
from collections.abc import Callable, Mapping

from wireproof_spec import lengths
from wireproof_spec.codec import decoder_lengths as decoder_lengths
from wireproof_spec.codec import decoder_texts as decoder_texts
from wireproof_spec.codec.decoder import Decoder, read
from wireproof_spec.codec.making import Maker
from wireproof_spec.codec.reading import TOTAL, Place
from wireproof_spec.codec.source import NotGenerated, Source
from wireproof_spec.layout import Shape
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import counted, shown


def refusals(clause: str) -> Mapping[str, Callable[..., object]]:
    """Return the errors of a schema under the names by which generated code calls them."""

    def error(field: str, offset: int, expected: str, found: object) -> WireError:
        return WireError(
            clause=clause, field=field, offset=offset, expected=expected, found=str(found)
        )

    def refused(field: str, offset: int, expected: str, found: object) -> WireError:
        return error(field or "value", offset, expected, found)

    def cut(field: str, offset: int, size: int, total: int) -> WireError:
        return error(field, offset, counted(size), total - offset)

    def over(field: str, offset: int, room: int, found: int) -> WireError:
        return refused(field, offset, f"at most {room}", found)

    def behind(field: str, offset: int, end: int) -> WireError:
        return refused(field, offset, "a start before its end", f"{offset - end} behind it")

    def unbounded(field: str, offset: int, bounds: tuple[int, int], found: int) -> WireError:
        lowest, highest = bounds
        expected = str(lowest) if lowest == highest else f"{lowest} to {highest}"
        return refused(field, offset, expected, found)

    def trailing(offset: int, total: int) -> WireError:
        return refused("end", offset, "no more bytes", total - offset)

    return {
        "refused": refused,
        "cut": cut,
        "over": over,
        "behind": behind,
        "unbounded": unbounded,
        "trailing": trailing,
        "shown": shown,
    }


def write_decoder(shape: Shape, clause: str, make: Maker) -> Source:
    """Return a function `decode(data)` that takes the whole of `data`.

    Raises:
        NotGenerated: a part of the shape is none that is known here.
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
    """Return a function `decode_many(data, at, limit)`: see `decoding.decode_many`.

    Raises:
        NotGenerated: the shape is not led by its size, or a part of it is none known here.
    """
    if not isinstance(shape, lengths.Sized):
        raise NotGenerated(f"{shape!r} is not led by its size")
    code = _source(clause)
    to = Decoder(code, make)
    with code.block("def decode_many(data, at, limit):"):
        code.line(f"total = len(data)\nlast = total - {shape.least}\nvalues, ends = [], []")
        to.place, to.among_many = Place("at", 0), True
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
