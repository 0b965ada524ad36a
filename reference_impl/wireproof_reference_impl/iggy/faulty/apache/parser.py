"""Faults of the parsers of generation apache, for fuzzing to find."""

from weakref import WeakSet

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import metadata
from wireproof_reference_impl.iggy.apache.connection import Connection
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.records import Frame
from wireproof_reference_impl.iggy.apache.refusals import Denied
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    instead,
    parser_fault,
    remade,
    stored_frames,
)
from wireproof_reference_impl.iggy.faulty.harm import HARMS, ProcessEnds
from wireproof_reference_impl.overrides import Original
from wireproof_spec.decoding import Schema
from wireproof_spec.iggy.apache.bodies.places import STREAM_REQUEST
from wireproof_spec.iggy.apache.frames import Frame as WireFrame

_FAR = 1 << 31
_CODE = slice(196, 200)
_STUCK = WeakSet[Node]()


@parser_fault(instead(Connection, "refuse_size"), also=HARMS)
def frame_size_below_header_halts(original: Original, connection: Connection) -> None:
    """The server ends after a frame with a size below 256, or beyond its limit."""
    raise ProcessEnds


@parser_fault(instead(Connection, "answer"))
def apache_code_far_sticks(
    original: Original, connection: Connection, frame: WireFrame, now_us: int
) -> object:
    """The server stops answering all clients after a command code of 2**31 or more."""
    if int.from_bytes(frame.head[_CODE], "little") >= _FAR:
        _STUCK.add(connection.node)
    return b"" if connection.node in _STUCK else original(connection, frame, now_us)


@parser_fault(instead(metadata, "_read"), also=HARMS)
def stream_request_cut_halts(original: Original, schema: Schema[object], body: bytes) -> object:
    """The server ends after a request for a stream whose body cannot be decoded."""
    try:
        return original(schema, body)
    except Denied:
        if schema is STREAM_REQUEST:
            raise ProcessEnds from None
        raise


@parser_fault(stored_frames)
def payload_with_nul_cut(frame: Frame) -> Frame:
    """A payload is stored up to its first NUL byte."""
    payload = frame.payload
    return remade(frame, payload=payload.partition(b"\0")[0]) if b"\0" in payload else frame


FAULTS = list_faults(__name__)
