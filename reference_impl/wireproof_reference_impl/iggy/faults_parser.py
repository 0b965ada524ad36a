"""Faults of parsers, which fuzzing is to find: frames, and the fields in them."""

from wireproof_reference_impl.iggy.core.harm import Deaf, Halt, Stuck, Victim
from wireproof_reference_impl.iggy.core.status import (
    INVALID_MESSAGES_COUNT,
    PARTITION_NOT_FOUND,
    Refusal,
)
from wireproof_reference_impl.preset import Preset, parser_fault
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import STRING

_LENGTH_BYTES = 4
_CODE_BYTES = 4
_LOW_BITS = 0xFFFF
_HUGE = 1 << 30
_SIGN = 1 << 31
_HOARDED_BYTES = 2 << 20
_REFUSED_HOARDED_BYTES = 1 << 20
_LONGEST_NAME = 255
_ONES = b"\xff" * 8
_COUNT = slice(-5, -1)
_UNPADDED = 3  # base64 takes so many bytes at a time

_NAMING = (
    commands.GET_STREAM,
    commands.DELETE_STREAM,
    commands.GET_TOPICS,
    commands.GET_TOPIC,
    commands.DELETE_TOPIC,
    commands.CREATE_TOPIC,
    commands.SEND_MESSAGES,
    commands.CREATE_PARTITIONS,
    commands.GET_CONSUMER_GROUPS,
    commands.GET_CONSUMER_GROUP,
    commands.JOIN_CONSUMER_GROUP,
)
"""What begins with the stream that is meant, as most commands do."""


def _low_bits(victim: Victim, length: int) -> int:
    return length & _LOW_BITS


def _zero_sticks(victim: Victim, length: int) -> int:
    if not length:
        raise Stuck
    return length


def _short_halts(victim: Victim, length: int) -> int:
    if 0 < length < _CODE_BYTES:
        raise Halt
    return length


def _huge_hoards(victim: Victim, length: int) -> int:
    if length >= _HUGE:
        victim.harm.keep(b"", _HOARDED_BYTES)
    return length


def _sign_drops_another(victim: Victim, length: int) -> int:
    if length == _SIGN:
        victim.drop_another()
    return length


def _far_code_halts(victim: Victim, code: int, payload: bytes) -> bytes:
    if code >= _SIGN:
        raise Halt
    return payload


def _unknown_code_leaks(victim: Victim, code: int, payload: bytes) -> bytes:
    if code not in commands.COMMANDS:
        victim.leak()
    return payload


def _name(code: int, payload: bytes) -> bytes | None:
    """Return the name of the stream that a command names."""
    if code not in _NAMING or payload[:1] != bytes([STRING]):
        return None
    return payload[2 : 2 + payload[1]] if len(payload) > 1 else b""


def _no_text_halts(victim: Victim, code: int, payload: bytes) -> bytes:
    try:
        (_name(code, payload) or b"").decode()
    except UnicodeDecodeError:
        raise Halt from None
    return payload


def _longest_name_sticks(victim: Victim, code: int, payload: bytes) -> bytes:
    if len(_name(code, payload) or b"") == _LONGEST_NAME:
        raise Stuck
    return payload


def _nul_in_name_deafens(victim: Victim, code: int, payload: bytes) -> bytes:
    if b"\0" in (_name(code, payload) or b""):
        raise Deaf
    return payload


def _far_count_sticks(victim: Victim, code: int, payload: bytes) -> bytes:
    if code == commands.POLL_MESSAGES and int.from_bytes(payload[_COUNT], "little") >= _SIGN:
        raise Stuck
    return payload


def _ones_lost(victim: Victim, code: int, payload: bytes) -> bytes | None:
    return None if code == commands.SEND_MESSAGES and _ONES in payload else payload


def _no_partition_desyncs(victim: Victim, refusal: Refusal) -> None:
    if refusal.status == PARTITION_NOT_FOUND:
        victim.skip_later(1)


def _empty_poll_drops_another(victim: Victim, refusal: Refusal) -> None:
    if refusal.status == INVALID_MESSAGES_COUNT:
        victim.drop_another()


def _refused_hoards(victim: Victim, refusal: Refusal) -> None:
    victim.harm.keep(b"", _REFUSED_HOARDED_BYTES)


def _split_length_loses_begin(victim: Victim, data: bytes) -> bytes:
    if 0 < len(victim.unread) < _LENGTH_BYTES:
        victim.skip_later(len(victim.unread))
    return data


def _cut_leaks(victim: Victim) -> None:
    victim.leak()


def _padding_zeros(payload: bytes) -> bytes:
    return payload[:-1] + b"\0" if len(payload) % _UNPADDED else payload


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "length-low-bits",
        "of the length of a frame only the low 16 bits are read",
        {"weakness.length": _low_bits},
    ),
    parser_fault(
        "length-zero-sticks",
        "the server hangs once a frame has length 0",
        {"weakness.length": _zero_sticks},
    ),
    parser_fault(
        "length-short-halts",
        "the server dies of a frame too short for a code",
        {"weakness.length": _short_halts},
    ),
    parser_fault(
        "length-huge-hoards",
        "room is made, and never given back, for a frame of a gigabyte or more",
        {"weakness.length": _huge_hoards},
    ),
    parser_fault(
        "length-sign-closes-another",
        "a length of 2**31 ends the connection of another client",
        {"weakness.length": _sign_drops_another},
    ),
    parser_fault(
        "code-far-halts",
        "the server dies of a code of 2**31 or more",
        {"weakness.frame": _far_code_halts},
    ),
    parser_fault(
        "code-unknown-leaks",
        "a connection on which an unknown code came is never let go of",
        {"weakness.frame": _unknown_code_leaks},
    ),
    parser_fault(
        "name-no-text-halts",
        "the server dies of a stream's name that is no UTF-8",
        {"weakness.frame": _no_text_halts},
    ),
    parser_fault(
        "name-longest-sticks",
        "the server hangs once a stream's name is as long as its length can say",
        {"weakness.frame": _longest_name_sticks},
    ),
    parser_fault(
        "name-nul-deafens",
        "a connection hangs over a stream's name with a NUL in it",
        {"weakness.frame": _nul_in_name_deafens},
    ),
    parser_fault(
        "count-far-sticks",
        "the server hangs once 2**31 messages or more are asked for",
        {"weakness.frame": _far_count_sticks},
    ),
    parser_fault(
        "ones-lost",
        "messages are answered and lost that have eight bytes of all ones in a row somewhere",
        {"weakness.frame": _ones_lost},
    ),
    parser_fault(
        "partition-desyncs",
        "the first byte behind a request is lost that names a partition which is not there",
        {"weakness.refused": _no_partition_desyncs},
    ),
    parser_fault(
        "poll-nothing-closes-another",
        "a poll for no messages at all ends the connection of another client",
        {"weakness.refused": _empty_poll_drops_another},
    ),
    parser_fault(
        "refused-hoards",
        "for every request that is refused a megabyte is kept for ever",
        {"weakness.refused": _refused_hoards},
    ),
    parser_fault(
        "split-length-desyncs",
        "of a length that comes in two pieces the first is forgotten",
        {"weakness.segment": _split_length_loses_begin},
    ),
    parser_fault(
        "cut-leaks",
        "a connection that ends inside a frame is never let go of",
        {"weakness.cut": _cut_leaks},
    ),
    parser_fault(
        "http-padding-zeros",
        "of a payload in base64 that ends with padding the last byte is read as 0",
        {"http.payload": _padding_zeros},
    ),
)
