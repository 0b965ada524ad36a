"""Faults of parsers: words of command lines, and message ids."""

from collections.abc import Callable, Sequence
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.harm import (
    HARMS,
    ProcessEnds,
    ProcessHangs,
    drop_another,
    keep_memory,
    leak,
    lose_next,
)
from wireproof_reference_impl.nsq.faulty.shared_overrides import watch_refusals
from wireproof_reference_impl.nsq.faulty.ways import parser_fault
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.error_codes import E_BAD_CHANNEL, E_BAD_TOPIC, E_INVALID
from wireproof_spec.nsq.names import (
    FIN,
    MPUB,
    MPUB_EXT,
    MPUB_TRACE,
    PUB,
    PUB_EXT,
    PUB_TRACE,
    RDY,
    REQ,
    SUB,
    SUB_ADVANCED,
    SUB_ORDER,
    SUB_ORDERED,
    TOUCH,
)

Words = Sequence[bytes]

_HOARDED_BYTES = 1 << 20
_LONG_WORD = 256
_MANY_DIGITS = 100
_ACKNOWLEDGING = (FIN, REQ, TOUCH)
_PARTITION_AT = {
    **dict.fromkeys((PUB, PUB_TRACE, PUB_EXT, MPUB, MPUB_TRACE, MPUB_EXT), 2),
    **dict.fromkeys((SUB, SUB_ORDER, SUB_ORDERED, SUB_ADVANCED), 3),
}


def _text(words: Words) -> Words:
    """Return the words that are valid text."""
    return [] if words[0] in _ACKNOWLEDGING else words[1:]


def _number(words: Words, command: bytes, at: int) -> int | None:
    """Return a decimal number in a command line."""
    if words[0] != command or len(words) <= at:
        return None
    digits = words[at].removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 4000:
        return None
    return int(words[at])


def _closes_another(
    connection: Connection, refusal: Refusal, *, code: str, subscribed: bool
) -> None:
    if refusal.code == code:
        refusal.fatal = False
        drop_another(connection, subscribed=subscribed)


def _lines(change: Callable[[Connection, Words], Words]) -> tuple[Override, ...]:
    """Return overrides that pass the words of each command through a fault first."""

    def run_command(original: Original, connection: Connection, words: Words) -> None:
        original(connection, change(connection, words))

    return (*HARMS, around(Connection, "run_command", run_command))


def _change_refusals(change: Callable[[Connection, Refusal], None]) -> tuple[Override, ...]:
    return (*HARMS, watch_refusals(change))


@parser_fault(_lines)
def word_nul_halts(connection: Connection, words: Words) -> Words:
    """A NUL byte in a word of a command line crashes the broker."""
    if any(b"\0" in word for word in _text(words)):
        raise ProcessEnds
    return words


@parser_fault(_lines)
def word_long_halts(connection: Connection, words: Words) -> Words:
    """A word of 256 bytes or more in a command line crashes the broker."""
    if any(len(word) >= _LONG_WORD for word in _text(words)):
        raise ProcessEnds
    return words


@parser_fault(_lines)
def word_digits_stick(connection: Connection, words: Words) -> Words:
    """A number of a hundred digits or more in a command line hangs the broker."""
    if any(len(word) >= _MANY_DIGITS and word.isdigit() for word in _text(words)):
        raise ProcessHangs
    return words


@parser_fault(_lines)
def partition_sticks(connection: Connection, words: Words) -> Words:
    """A publish or SUB with a partition of 2**63 or more hangs the broker."""
    at = _PARTITION_AT.get(words[0], len(words))
    if (_number(words, words[0], at) or 0) >= 1 << 63:
        raise ProcessHangs
    return words


@parser_fault(_lines)
def rdy_overflow_halts(connection: Connection, words: Words) -> Words:
    """An RDY count of 2**31 or more crashes the broker."""
    if (_number(words, RDY, 1) or 0) >= 1 << 31:
        raise ProcessEnds
    return words


@parser_fault(_lines)
def rdy_negative_closes_another(connection: Connection, words: Words) -> Words:
    """A negative RDY count also closes the connection of another subscriber."""
    if (_number(words, RDY, 1) or 0) < 0:
        drop_another(connection, subscribed=True)
    return words


@parser_fault(_lines)
def req_overflow_halts(connection: Connection, words: Words) -> Words:
    """An REQ delay of 2**31 ms or more crashes the broker."""
    if (_number(words, REQ, 2) or 0) >= 1 << 31:
        raise ProcessEnds
    return words


@parser_fault(_lines)
def id_negative_halts(connection: Connection, words: Words) -> Words:
    """A message id whose first bit is set crashes the broker."""
    if words[0] in _ACKNOWLEDGING and words[1][0] >= 0x80:
        raise ProcessEnds
    return words


@parser_fault(_lines)
def id_zero_hoards(connection: Connection, words: Words) -> Words:
    """Every message id of zeros leaks a megabyte of memory."""
    if words[0] in _ACKNOWLEDGING and not any(words[1][:8]):
        keep_memory(words[1], _HOARDED_BYTES)
    return words


@parser_fault(_change_refusals)
def unknown_hoards(connection: Connection, refusal: Refusal) -> None:
    """Every unknown command leaks a megabyte of memory."""
    if refusal.code == E_INVALID and (refusal.text or "").startswith("invalid command"):
        keep_memory(connection.command, _HOARDED_BYTES)


@parser_fault(_change_refusals)
def unknown_leaks(connection: Connection, refusal: Refusal) -> None:
    """A connection that received an unknown command is never closed."""
    if refusal.code == E_INVALID and (refusal.text or "").startswith("invalid command"):
        refusal.fatal = False
        leak(connection)


@parser_fault()
def bad_channel_closes_another() -> Change:
    """A SUB with an invalid channel name closes another subscriber's connection instead of its
    own.
    """
    return _change_refusals(partial(_closes_another, code=E_BAD_CHANNEL, subscribed=True))


@parser_fault()
def bad_topic_closes_another() -> Change:
    """An invalid topic name closes another publisher's connection instead of its own."""
    return _change_refusals(partial(_closes_another, code=E_BAD_TOPIC, subscribed=False))


@parser_fault(_change_refusals)
def bad_topic_loses_next(connection: Connection, refusal: Refusal) -> None:
    """The message after a publish with an invalid topic name is answered OK and lost."""
    if refusal.code == E_BAD_TOPIC and connection.command != SUB:
        lose_next(connection.node)


FAULTS = list_faults(__name__)
