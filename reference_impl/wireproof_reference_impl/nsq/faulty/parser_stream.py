"""Faults of parsers: the stream in pieces, and its end."""

from wireproof_reference_impl.nsq.core.harm import Victim
from wireproof_reference_impl.nsq.core.refusal import Halt
from wireproof_reference_impl.nsq.preset import Preset, parser_fault
from wireproof_spec.nsq.names import MAGIC

_SIZE_BYTES = 4
_HOARDED_BYTES = 1 << 20


def _is_inside_size(victim: Victim) -> bool:
    return victim.wanted == _SIZE_BYTES and 0 < len(victim.unread) < _SIZE_BYTES


def _magic_too(victim: Victim) -> bool:
    return MAGIC.startswith(victim.unread)


def _split_size_loses_begin(victim: Victim, data: bytes) -> bytes:
    """Forget what came of a size before the rest of it."""
    if _is_inside_size(victim) and not _magic_too(victim):
        victim.reread(len(victim.unread))
    return data


def _split_magic_halts(victim: Victim, data: bytes) -> bytes:
    if _is_inside_size(victim) and _magic_too(victim) and data:
        raise Halt
    return data


def _lone_feed_lost(victim: Victim, data: bytes) -> bytes:
    """Take the end of a line that comes alone for nothing."""
    return b"" if data == b"\n" and not victim.wanted and victim.unread else data


def _cut_leaks(victim: Victim) -> None:
    victim.leak()


def _cut_hoards(victim: Victim) -> None:
    victim.harm.keep(victim.unread, _HOARDED_BYTES)


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "split-size-desyncs",
        "of a size that comes in two pieces the first is forgotten",
        {"weakness.segment": _split_size_loses_begin},
    ),
    parser_fault(
        "split-magic-halts",
        "the broker dies of a magic that comes in two pieces",
        {"weakness.segment": _split_magic_halts},
    ),
    parser_fault(
        "split-feed-lost",
        "the end of a command line is overlooked where it comes alone",
        {"weakness.segment": _lone_feed_lost},
    ),
    parser_fault(
        "cut-leaks",
        "a connection that ends inside a body is never let go of",
        {"weakness.cut": _cut_leaks},
    ),
    parser_fault(
        "cut-hoards",
        "for every connection that ends inside a body a megabyte is kept for ever",
        {"weakness.cut": _cut_hoards},
    ),
)
