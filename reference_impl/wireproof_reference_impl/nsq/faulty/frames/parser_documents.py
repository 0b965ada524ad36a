"""Faults of parsers: JSON sent by clients."""

import re
from collections.abc import Callable

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.core.commands import identify
from wireproof_reference_impl.nsq.core.commands.sized import Bytes
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.faulty.harm import (
    HARMS,
    ProcessEnds,
    ProcessHangs,
    StopsReading,
    leak,
    lose_next,
    skip,
)
from wireproof_reference_impl.nsq.faulty.shared_overrides import storing_header, watch_refusals
from wireproof_reference_impl.nsq.faulty.ways import parser_fault
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import Split, split_header
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Override, around, replace_function
from wireproof_spec.nsq.error_codes import E_INVALID_JSON_HEADER

_DEEP = 250
_LONG_VALUE = 4096
_FAR_NUMBER = re.compile(rb":\s*-?[0-9]{10,}")
_ESCAPED_NUL = b"\\u0000"


def _change_identify(change: Callable[[Connection, bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides that pass the body of each IDENTIFY through a fault first."""

    def read_body(original: Callable[..., Bytes], connection: Connection) -> Bytes:
        return change(connection, (yield from original(connection)))

    return (*HARMS, around(identify, "read_body", read_body))


def _count_depth(data: bytes) -> int:
    """Return the maximum nesting depth of a document, ignoring strings."""
    depth = most = 0
    for byte in data:
        if byte in b"[{":
            depth += 1
            most = max(most, depth)
        elif byte in b"]}":
            depth -= 1
    return most


@parser_fault(_change_identify)
def identify_deep_halts(connection: Connection, data: bytes) -> bytes:
    """An IDENTIFY nested more than 250 levels deep crashes the broker."""
    if _count_depth(data) > _DEEP:
        raise ProcessEnds
    return data


@parser_fault(_change_identify)
def identify_number_sticks(connection: Connection, data: bytes) -> bytes:
    """A number of ten digits or more in an IDENTIFY hangs the broker."""
    if _FAR_NUMBER.search(data):
        raise ProcessHangs
    return data


@parser_fault(_change_identify)
def identify_open_string_deafens(connection: Connection, data: bytes) -> bytes:
    """An IDENTIFY with an unterminated string hangs its connection."""
    if data.count(b'"') % 2:
        raise StopsReading
    return data


@parser_fault(_change_identify)
def identify_twice_leaks(connection: Connection, data: bytes) -> bytes:
    """A connection whose IDENTIFY has a duplicate name is never closed."""
    names = re.findall(rb'"([^"\\]*)"\s*:', data)
    if len(set(names)) < len(names):
        leak(connection)
    return data


@parser_fault(storing_header)
def header_escaped_nul_cuts(header: bytes, topic: TopicKind) -> bytes:
    """A stored header is truncated at an escaped NUL."""
    return header.partition(_ESCAPED_NUL)[0]


@parser_fault(replace_function(frame_reading, "split_header"), also=HARMS)
def header_long_value_deafens(data: bytes) -> Split | None:
    """A string of 4096 bytes or more in a header hangs the connection."""
    split = split_header(data)
    if split is not None and re.search(rb'"[^"]{%d}' % _LONG_VALUE, split.header):
        raise StopsReading
    return split


@parser_fault(watch_refusals, also=HARMS)
def header_refused_desyncs(connection: Connection, refusal: Refusal) -> None:
    """The first byte after a publish with a refused header is lost."""
    if refusal.code == E_INVALID_JSON_HEADER:
        skip(connection, 1)


@parser_fault(watch_refusals, also=HARMS)
def header_refused_loses_next(connection: Connection, refusal: Refusal) -> None:
    """After a refused header, the next message from any client is answered OK and lost."""
    if refusal.code == E_INVALID_JSON_HEADER:
        lose_next(connection.node)


FAULTS = list_faults(__name__)
