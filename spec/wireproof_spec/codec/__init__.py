"""Shapes turned into straight-line `struct` code, which does what interpreted construct does.

A decoder raises the very `WireError` that interpreted construct would lead to. An encoder only
says that a value does not fit: such values are our own mistakes, and construct tells of them.
Values are instances of their types, or (`as_tuples`) plain tuples of the same fields.
"""

from collections.abc import Callable
from typing import cast

from wireproof_spec.codec.encoder import write_encoder
from wireproof_spec.codec.functions import write_decoder, write_decoder_of_many
from wireproof_spec.codec.making import make_object, make_tuple, take_object, take_tuple
from wireproof_spec.codec.source import NotGenerated
from wireproof_spec.layout import Shape

__all__ = [
    "NotGenerated",
    "generate_decoder",
    "generate_decoder_of_many",
    "generate_encoder",
]


def generate_decoder(
    shape: Shape, clause: str, *, name: str, as_tuples: bool = False
) -> Callable[[bytes], object]:
    """Return a decoder of the whole of some bytes, which raises `WireError`.

    Raises:
        NotGenerated: a part of the shape is none that is known here.
    """
    code = write_decoder(shape, clause, make_tuple if as_tuples else make_object)
    return cast("Callable[[bytes], object]", code.function("decode", name))


def generate_decoder_of_many(
    shape: Shape, clause: str, *, name: str
) -> Callable[[bytes, int, int], tuple[list[object], list[int]]]:
    """Return a decoder of values that stand one behind the other, each led by its size.

    Raises:
        NotGenerated: the shape is not led by its size, or a part of it is none known here.
    """
    code = write_decoder_of_many(shape, clause, make_object)
    return cast(
        "Callable[[bytes, int, int], tuple[list[object], list[int]]]",
        code.function("decode_many", name),
    )


def generate_encoder(
    shape: Shape, *, name: str, as_tuples: bool = False
) -> Callable[[object], bytes]:
    """Return an encoder, which raises `Unfit`.

    Raises:
        NotGenerated: a part of the shape is none that is known here.
    """
    code = write_encoder(shape, take_tuple if as_tuples else take_object)
    return cast("Callable[[object], bytes]", code.function("encode", name))
