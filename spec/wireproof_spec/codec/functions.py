"""The generated functions: decoders of one value and of many consecutive values."""

import math
import struct

from wireproof_spec import lengths

# Importing what registers shapes makes them known.
from wireproof_spec.codec import decoder_lengths as decoder_lengths
from wireproof_spec.codec import decoder_texts as decoder_texts
from wireproof_spec.codec.decoder import Decoder, read
from wireproof_spec.codec.making import Maker
from wireproof_spec.codec.reading import TOTAL, Position
from wireproof_spec.codec.refusing import refusals
from wireproof_spec.codec.source import NotGenerated, Source
from wireproof_spec.layout import Shape
from wireproof_spec.wire_error import WireError


def write_decoder(shape: Shape, clause: str, make: Maker) -> Source:
    """Return the source of `decode(data)`, which must consume all of `data`.

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
    """Return the source of `decode_many(data, at, limit)`: see `decoding.decode_many`.

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
