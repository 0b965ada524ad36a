"""Faults of parsers: a stream in pieces, and its end."""

from collections.abc import Callable

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.harm import (
    HARMS,
    ProcessEnds,
    keep_memory,
    leak,
    peek_unread,
    reread,
)
from wireproof_reference_impl.nsq.faulty.ways import parser_fault
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.names import MAGIC

_SIZE_BYTES = 4
_HOARDED_BYTES = 1 << 20


def _count_awaited(connection: Connection) -> int:
    """Return how many bytes the present command waits for; 0 between commands."""
    return 0 if connection.reading is None else connection.needed


def _is_inside_size(connection: Connection) -> bool:
    return (
        _count_awaited(connection) == _SIZE_BYTES
        and 0 < len(peek_unread(connection)) < _SIZE_BYTES
    )


def _magic_too(connection: Connection) -> bool:
    return MAGIC.startswith(peek_unread(connection))


def _segments(change: Callable[[Connection, bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides that change how each piece of the stream is read."""

    def read(original: Original, connection: Connection, data: bytes) -> None:
        original(connection, change(connection, data))

    return (around(Connection, "read", read), *HARMS)


def _cut(change: Callable[[Connection], None]) -> tuple[Override, ...]:
    """Return overrides that do something more when a stream ends inside a command."""

    def cut_off(original: Original, connection: Connection) -> None:
        if connection.reading is not None:
            change(connection)
        original(connection)

    return (*HARMS, around(Connection, "cut_off", cut_off))


@parser_fault(_segments)
def split_size_desyncs(connection: Connection, data: bytes) -> bytes:
    """The first piece of a size that arrives in two pieces is dropped."""
    if _is_inside_size(connection) and not _magic_too(connection):
        reread(connection, b"")
    return data


@parser_fault(_segments)
def split_magic_halts(connection: Connection, data: bytes) -> bytes:
    """A magic that arrives in two pieces crashes the broker."""
    if _is_inside_size(connection) and _magic_too(connection) and data:
        raise ProcessEnds
    return data


@parser_fault(_segments)
def split_feed_lost(connection: Connection, data: bytes) -> bytes:
    """The end of a command line is not recognised if it arrives alone."""
    return (
        b""
        if data == b"\n" and not _count_awaited(connection) and peek_unread(connection)
        else data
    )


@parser_fault(_cut)
def cut_leaks(connection: Connection) -> None:
    """A connection that its client ends inside a body is never closed."""
    leak(connection)


@parser_fault(_cut)
def cut_hoards(connection: Connection) -> None:
    """Every connection that ends inside a body leaks a megabyte of memory."""
    keep_memory(peek_unread(connection), _HOARDED_BYTES)


FAULTS = list_faults(__name__)
