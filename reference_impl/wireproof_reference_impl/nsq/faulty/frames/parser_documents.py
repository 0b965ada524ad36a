"""Faults of parsers: JSON sent by clients."""

import re
from collections.abc import Callable

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
from wireproof_reference_impl.nsq.preset import Preset, parser_fault
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import Split, split_header
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Override, around, replace_function
from wireproof_spec.nsq.error_codes import E_INVALID_JSON_HEADER

_DEEP = 250
_LONG_VALUE = 4096
_FAR_NUMBER = re.compile(rb":\s*-?[0-9]{10,}")
_ESCAPED_NUL = b"\\u0000"


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


def _deep_halts(connection: Connection, data: bytes) -> bytes:
    if _count_depth(data) > _DEEP:
        raise ProcessEnds
    return data


def _far_number_sticks(connection: Connection, data: bytes) -> bytes:
    if _FAR_NUMBER.search(data):
        raise ProcessHangs
    return data


def _open_string_deafens(connection: Connection, data: bytes) -> bytes:
    if data.count(b'"') % 2:
        raise StopsReading
    return data


def _name_twice_leaks(connection: Connection, data: bytes) -> bytes:
    names = re.findall(rb'"([^"\\]*)"\s*:', data)
    if len(set(names)) < len(names):
        leak(connection)
    return data


def _cut_at_escaped_nul(header: bytes, topic: TopicKind) -> bytes:
    return header.partition(_ESCAPED_NUL)[0]


def _long_value_deafens(data: bytes) -> Split | None:
    split = split_header(data)
    if split is not None and re.search(rb'"[^"]{%d}' % _LONG_VALUE, split.header):
        raise StopsReading
    return split


def _refusal_desyncs(connection: Connection, refusal: Refusal) -> None:
    if refusal.code == E_INVALID_JSON_HEADER:
        skip(connection, 1)


def _refusal_loses_next(connection: Connection, refusal: Refusal) -> None:
    if refusal.code == E_INVALID_JSON_HEADER:
        lose_next(connection.node)


def _change_identify(change: Callable[[Connection, bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides that pass the body of each IDENTIFY through a fault first."""

    def read_body(original: Callable[..., Bytes], connection: Connection) -> Bytes:
        return change(connection, (yield from original(connection)))

    return (*HARMS, around(identify, "read_body", read_body))


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "identify-deep-halts",
        "an IDENTIFY nested more than 250 levels deep crashes the broker",
        overrides=_change_identify(_deep_halts),
    ),
    parser_fault(
        "identify-number-sticks",
        "a number of ten digits or more in an IDENTIFY hangs the broker",
        overrides=_change_identify(_far_number_sticks),
    ),
    parser_fault(
        "identify-open-string-deafens",
        "an IDENTIFY with an unterminated string hangs its connection",
        overrides=_change_identify(_open_string_deafens),
    ),
    parser_fault(
        "identify-twice-leaks",
        "a connection whose IDENTIFY has a duplicate name is never closed",
        overrides=_change_identify(_name_twice_leaks),
    ),
    parser_fault(
        "header-escaped-nul-cuts",
        "a stored header is truncated at an escaped NUL",
        overrides=(storing_header(_cut_at_escaped_nul),),
    ),
    parser_fault(
        "header-long-value-deafens",
        "a string of 4096 bytes or more in a header hangs the connection",
        overrides=(*HARMS, replace_function(frame_reading, "split_header", _long_value_deafens)),
    ),
    parser_fault(
        "header-refused-desyncs",
        "the first byte after a publish with a refused header is lost",
        overrides=(*HARMS, watch_refusals(_refusal_desyncs)),
    ),
    parser_fault(
        "header-refused-loses-next",
        "after a refused header, the next message from any client is answered OK and lost",
        overrides=(*HARMS, watch_refusals(_refusal_loses_next)),
    ),
)
