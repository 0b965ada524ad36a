"""Interpreted construct: the oracle against which generated code is tested.

It is used for shapes without generated code, to find where the parts of bytes lie, and to describe
what is wrong with a value that generated code rejects.
"""

import io

import construct

from wireproof_spec.grammar.dissection import Dissection, Violation
from wireproof_spec.grammar.layout import Shape
from wireproof_spec.wire_error import WireError


def parse(shape: Shape, clause: str, data: bytes) -> object:
    """Decode all of `data` by a shape that construct interprets, and return the value.

    Raises:
        WireError: carries clause, field, offset, expected, found.
    """
    stream = io.BytesIO(data)
    try:
        value: object = shape.parse_stream(stream)
    except construct.ConstructError:
        raise make_error(clause, dissect(shape, data)) from None
    if stream.tell() != len(data):
        raise make_error(clause, dissect(shape, data))
    return value


def build(shape: Shape, clause: str, value: object) -> bytes:
    """Encode a value by a shape that construct interprets, and return the bytes.

    Raises:
        WireError: a part does not fit its field; the offset is where it would have been written.
    """
    try:
        return shape.build(value)
    except construct.ConstructError:
        dissection = Dissection()
        with dissection.blame():
            shape.build_stream(value, dissection)
        raise make_error(clause, dissection) from None


def dissect(shape: Shape, data: bytes) -> Dissection:
    """Decode bytes by a shape; return the positions of their parts and the first violation."""
    dissection = Dissection(data)
    with dissection.blame():
        shape.parse_stream(dissection)
    end = dissection.tell()
    if dissection.fault is None and end != len(data):
        dissection.fault = Violation("end", end, "no more bytes", str(len(data) - end))
    return dissection


def make_error(clause: str, dissection: Dissection) -> WireError:
    """Return the first violation of a dissection as a WireError of a clause."""
    if dissection.fault is None:
        raise AssertionError(f"{clause}: refused, and accepted when looked at again")
    return wire_error(clause, dissection.fault)


def wire_error(clause: str, fault: Violation) -> WireError:
    """Return a violation as a WireError of a clause."""
    return WireError(
        clause=clause,
        field=fault.field,
        offset=fault.offset,
        expected=fault.expected,
        found=fault.found,
    )
