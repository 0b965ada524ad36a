"""The decoding door: bytes in, frozen values out, `WireError` when they do not fit.

Interpreted construct behind a few functions. construct's `.compile()` accepts truncated data and
is never used; generated code may one day take the place of what is behind the door, held equal
to it.
"""

import functools
import io
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

import construct

from wireproof_spec.dissection import Dissection, Fault, Span, shown
from wireproof_spec.layout import Shape
from wireproof_spec.lengths import Sized
from wireproof_spec.wire_error import WireError

__all__ = ["Schema", "Span", "decode", "encode", "extent", "spans"]

T = TypeVar("T")

SHORT = 24
"""Bytes; what is no longer is parsed once, for values are frozen."""


@dataclass(frozen=True, slots=True)
class Schema(Generic[T]):
    """A wire shape and the value type it decodes to; `clause` is the law it stands for."""

    name: str
    clause: str
    value_type: type[T]
    shape: Shape = field(repr=False)


def decode(schema: Schema[T], data: bytes) -> T:
    """Decode the whole of `data`; bytes left over are an error.

    Raises:
        WireError: carries clause, field, offset, expected, found.
    """
    value = _parsed_once(schema, data) if len(data) <= SHORT else _parsed(schema, data)
    return cast(T, value)


def encode(schema: Schema[T], value: T) -> bytes:
    """Encode a value; sizes, lengths and counts are derived from it.

    Raises:
        WireError: a part does not fit its field; the offset is where it would have stood.
    """
    try:
        return schema.shape.build(value)
    except construct.ConstructError:
        dissection = Dissection()
        with dissection.blaming():
            schema.shape.build_stream(value, dissection)
        raise _error(schema, dissection) from None


def spans(schema: Schema[T], data: bytes) -> tuple[Span, ...]:
    """Return the leaf fields of `data` in byte order; never raises.

    Where `data` does not decode, the last span bears the name of the field that was refused and
    covers everything from it on.
    """
    dissection = _dissect(schema.shape, data)
    fault = dissection.fault
    if fault is None:
        return tuple(dissection.spans)
    kept = [span for span in dissection.spans if span.offset + span.length <= fault.offset]
    rest = data[fault.offset :]
    return (*kept, Span(fault.offset, len(rest), fault.field, shown(rest)))


def extent(schema: Schema[T], head: bytes, *, limit: int | None = None) -> int | None:
    """Return how many bytes the value that begins with `head` takes; None: too little is seen.

    Only for shapes led by their own size; `limit` is the greatest size that may be declared.

    Raises:
        WireError: the declared size is less than any such value takes, or over the limit.
    """
    sized = schema.shape
    if not isinstance(sized, Sized):
        raise TypeError(f"{schema.name} is not led by its size")
    if len(head) < sized.width:
        return None
    head = head[: sized.width]
    try:
        size = cast(int, _lead(sized.lead, head))
    except construct.ConstructError:
        raise _error(schema, _dissect(sized.lead, head)) from None
    if limit is not None and size > limit:
        fault = Fault(sized.lead.name, 0, f"at most {limit}", str(size))
        raise _wire_error(schema, fault)
    return sized.width + size


def _parsed(schema: Schema[T], data: bytes) -> object:
    stream = io.BytesIO(data)
    try:
        value = schema.shape.parse_stream(stream)
    except construct.ConstructError:
        raise _error(schema, _dissect(schema.shape, data)) from None
    if stream.tell() != len(data):
        raise _error(schema, _dissect(schema.shape, data))
    return value


@functools.lru_cache(maxsize=4096)
def _parsed_once(schema: Schema[object], data: bytes) -> object:
    """Parse what comes again and again: most frames of a broker are the same few answers."""
    return _parsed(schema, data)


@functools.lru_cache(maxsize=4096)
def _lead(shape: Shape, head: bytes) -> object:
    return shape.parse(head)


def _dissect(shape: Shape, data: bytes) -> Dissection:
    dissection = Dissection(data)
    with dissection.blaming():
        shape.parse_stream(dissection)
    end = dissection.tell()
    if dissection.fault is None and end != len(data):
        dissection.fault = Fault("end", end, "no more bytes", str(len(data) - end))
    return dissection


def _error(schema: Schema[T], dissection: Dissection) -> WireError:
    if dissection.fault is None:
        raise AssertionError(f"{schema.name} was refused, and accepted when looked at again")
    return _wire_error(schema, dissection.fault)


def _wire_error(schema: Schema[T], fault: Fault) -> WireError:
    return WireError(
        clause=schema.clause,
        field=fault.field,
        offset=fault.offset,
        expected=fault.expected,
        found=fault.found,
    )
