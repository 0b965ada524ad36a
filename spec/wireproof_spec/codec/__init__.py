"""Generates straight-line `struct` code from shapes, equivalent to interpreted construct.

A decoder raises the same `WireError` as interpreted construct. An encoder only reports that a
value does not fit: such values are our own mistakes, and construct describes them. Values are
instances of their types, or (`as_tuples`) plain tuples of the same fields.
"""

from collections.abc import Callable
from typing import cast

from wireproof_spec.codec import encoder_lengths as encoder_lengths
from wireproof_spec.codec.encoder import write_encoder
from wireproof_spec.codec.functions import write_decoder, write_decoder_of_many
from wireproof_spec.codec.making import make_object, make_tuple, take_object, take_tuple
from wireproof_spec.codec.source import NotGenerated
from wireproof_spec.grammar.layout import Shape

__all__ = [
    "NotGenerated",
    "generate_decoder",
    "generate_decoder_of_many",
    "generate_encoder",
]


def generate_decoder(
    shape: Shape, clause: str, *, name: str, as_tuples: bool = False
) -> Callable[[bytes], object]:
    """Return a function that decodes bytes of the shape; the function raises `WireError`.

    The bytes must be exactly one value: remaining bytes are an error.

    Raises:
        NotGenerated: a part of the shape is of an unknown kind.
    """
    code = write_decoder(shape, clause, make_tuple if as_tuples else make_object)
    return code.function("decode", name)


def generate_decoder_of_many(
    shape: Shape, clause: str, *, name: str
) -> Callable[[bytes, int, int], tuple[list[object], list[int]]]:
    """Return a function that decodes consecutive values, each of which begins with its size.

    The function is called with the data, the start and the greatest size; see `decode_many`.

    Raises:
        NotGenerated: the shape does not begin with its size, or has a part of an unknown kind.
    """
    code = write_decoder_of_many(shape, clause, make_object)
    return cast(
        "Callable[[bytes, int, int], tuple[list[object], list[int]]]",
        code.function("decode_many", name),
    )


def generate_encoder(
    shape: Shape, *, name: str, as_tuples: bool = False
) -> Callable[[object], bytes]:
    """Return a function that encodes a value of the shape; the function raises `Unfit`.

    Raises:
        NotGenerated: a part of the shape is of an unknown kind.
    """
    code = write_encoder(shape, take_tuple if as_tuples else take_object)
    return cast("Callable[[object], bytes]", code.function("encode", name))
