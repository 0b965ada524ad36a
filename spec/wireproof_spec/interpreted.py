"""construct reading and building as it stands: the oracle that generated code is held equal to.

It serves shapes for which no code is written, tells where bytes and their parts lie, and says
what is wrong with a value that generated code would not take.
"""

import io

import construct

from wireproof_spec.dissection import Dissection, Violation
from wireproof_spec.layout import Shape
from wireproof_spec.wire_error import WireError


def parse(shape: Shape, clause: str, data: bytes) -> object:
    """Decode the whole of `data`.

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
    """Encode a value.

    Raises:
        WireError: a part does not fit its field; the offset is where it would have stood.
    """
    try:
        return shape.build(value)
    except construct.ConstructError:
        dissection = Dissection()
        with dissection.blame():
            shape.build_stream(value, dissection)
        raise make_error(clause, dissection) from None


def dissect(shape: Shape, data: bytes) -> Dissection:
    """Return where the parts of some bytes lie, and what is wrong with them."""
    dissection = Dissection(data)
    with dissection.blame():
        shape.parse_stream(dissection)
    end = dissection.tell()
    if dissection.fault is None and end != len(data):
        dissection.fault = Violation("end", end, "no more bytes", str(len(data) - end))
    return dissection


def make_error(clause: str, dissection: Dissection) -> WireError:
    """Return the fault that was found as an error."""
    if dissection.fault is None:
        raise AssertionError(f"{clause}: refused, and accepted when looked at again")
    return wire_error(clause, dissection.fault)


def wire_error(clause: str, fault: Violation) -> WireError:
    """Return a fault as an error."""
    return WireError(
        clause=clause,
        field=fault.field,
        offset=fault.offset,
        expected=fault.expected,
        found=fault.found,
    )
