"""Decodes bytes to frozen values and encodes values; `WireError` reports what does not fit.

The work is done by code generated from the shape (`wireproof_spec.codec`) when a schema is first
used. Interpreted construct, against which tests compare that code, does everything else.
construct's `.compile()` accepts truncated data and is never used.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar, cast

from wireproof_spec.grammar import interpreted
from wireproof_spec.grammar.dissection import Span, Violation
from wireproof_spec.grammar.layout import Shape
from wireproof_spec.grammar.lengths import Sized
from wireproof_spec.wire_error import Unfit
from wireproof_spec.wording import show_value

__all__ = ["Schema", "Span", "decode", "decode_many", "encode", "extent", "spans"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Schema(Generic[T_co]):
    """A wire layout and the value type it decodes to; `clause` is the id of the clause for it."""

    name: str
    clause: str
    value_type: type[T_co]
    shape: Shape = field(repr=False)
    decoder: Callable[[bytes], T_co] = field(init=False, repr=False, compare=False)
    """What `decode` calls; writes itself when it is first called."""
    encoder: Callable[[Any], bytes] = field(init=False, repr=False, compare=False)
    """What `encode` calls; it says `Unfit` without a reason."""

    decoder_of_many: Callable[[bytes, int, int], tuple[list[T_co], list[int]]] = field(
        init=False, repr=False, compare=False
    )
    """What `decode_many` calls."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decoder", partial(_decode_first, self))
        object.__setattr__(self, "encoder", partial(_encode_first, self))
        object.__setattr__(self, "decoder_of_many", partial(_decode_many_first, self))


def decode(schema: Schema[T], data: bytes) -> T:
    """Decode all of `data` by a schema and return the value; remaining bytes are an error.

    Raises:
        WireError: carries clause, field, offset, expected, found.
    """
    return schema.decoder(data)


def decode_many(
    schema: Schema[T], data: bytes, at: int = 0, *, limit: int = sys.maxsize
) -> tuple[list[T], list[int]]:
    """Decode consecutive values from `at` on; return them and where each ends.

    Only for shapes that begin with their own size; `limit` is the largest size accepted. Stops
    without an error before the first value that is incomplete or invalid: `extent` and `decode`
    tell which it is.
    """
    if not isinstance(schema.shape, Sized):
        raise TypeError(f"{schema.name} is not led by its size")
    return schema.decoder_of_many(data, at, limit)


def encode(schema: Schema[T], value: T) -> bytes:
    """Encode a value by a schema and return the bytes; sizes, lengths and counts are derived.

    Raises:
        WireError: a part does not fit its field; the offset is where it would have been written.
    """
    try:
        return schema.encoder(value)
    except Unfit:
        return interpreted.build(schema.shape, schema.clause, value)


def spans(schema: Schema[T], data: bytes) -> tuple[Span, ...]:
    """Return the span of each field without parts of its own, in byte order; never raises.

    If `data` does not decode, the last span has the name of the rejected field and covers the rest
    of the bytes.
    """
    dissection = interpreted.dissect(schema.shape, data)
    fault = dissection.fault
    if fault is None:
        return tuple(dissection.spans)
    kept = [span for span in dissection.spans if span.offset + span.length <= fault.offset]
    rest = data[fault.offset :]
    return (*kept, Span(fault.offset, len(rest), fault.field, show_value(rest)))


def extent(schema: Schema[T], head: bytes, *, limit: int | None = None) -> int | None:
    """Return the size in bytes of the value that begins with `head`; None if `head` is too short.

    Only for shapes that begin with their own size; `limit` is the largest size accepted.

    Raises:
        WireError: the declared size is smaller than any such value, or exceeds the limit.
    """
    sized = schema.shape
    if not isinstance(sized, Sized):
        raise TypeError(f"{schema.name} is not led by its size")
    if len(head) < sized.width:
        return None
    size = sized.read_declared(head)
    if size < sized.fewest:
        raise interpreted.make_error(
            schema.clause, interpreted.dissect(sized.lead, head[: sized.width])
        )
    if limit is not None and size > limit:
        fault = Violation(sized.lead.name, 0, f"at most {limit}", str(size))
        raise interpreted.wire_error(schema.clause, fault)
    return sized.width + size


# The generator is imported when code is first needed: most of what imports schemas needs none.


def _decode_first(schema: Schema[T], data: bytes) -> T:
    from wireproof_spec.codec import NotGenerated, generate_decoder

    shape, clause = schema.shape, schema.clause
    decoder: Callable[[bytes], object]
    try:
        decoder = generate_decoder(shape, clause, name=schema.name)
    except NotGenerated:
        decoder = partial(interpreted.parse, shape, clause)
    object.__setattr__(schema, "decoder", decoder)
    return cast(T, decoder(data))


def _decode_many_first(
    schema: Schema[T], data: bytes, at: int, limit: int
) -> tuple[list[T], list[int]]:
    from wireproof_spec.codec import NotGenerated, generate_decoder_of_many

    decoder: Callable[[bytes, int, int], tuple[list[object], list[int]]]
    try:
        decoder = generate_decoder_of_many(schema.shape, schema.clause, name=schema.name)
    except NotGenerated:
        decoder = _decode_none
    object.__setattr__(schema, "decoder_of_many", decoder)
    return cast("tuple[list[T], list[int]]", decoder(data, at, limit))


def _decode_none(data: bytes, at: int, limit: int) -> tuple[list[object], list[int]]:
    return [], []


def _encode_first(schema: Schema[T], value: T) -> bytes:
    from wireproof_spec.codec import NotGenerated, generate_encoder

    encoder: Callable[[object], bytes]
    try:
        encoder = generate_encoder(schema.shape, name=schema.name)
    except NotGenerated:
        encoder = partial(interpreted.build, schema.shape, schema.clause)
    object.__setattr__(schema, "encoder", encoder)
    return encoder(value)
