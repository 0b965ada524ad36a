"""Faults of parsers, which fuzzing is to find: frames, and the fields in them."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.effect import (
    frames,
    lengths,
    overriding,
    parser_fault,
    refusals,
    segments,
)
from wireproof_reference_impl.iggy.faulty.harm import (
    HARMS,
    Deaf,
    Halt,
    Stuck,
    drop_another,
    keep_memory,
    leak,
    skip,
)
from wireproof_reference_impl.iggy.http.reading import Fields
from wireproof_reference_impl.iggy.wire.status import (
    INVALID_MESSAGES_COUNT,
    PARTITION_NOT_FOUND,
    Refusal,
)
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import Preset
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


def _low_bits(connection: Connection, length: int) -> int:
    return length & _LOW_BITS


def _zero_sticks(connection: Connection, length: int) -> int:
    if not length:
        raise Stuck
    return length


def _short_halts(connection: Connection, length: int) -> int:
    if 0 < length < _CODE_BYTES:
        raise Halt
    return length


def _huge_hoards(connection: Connection, length: int) -> int:
    if length >= _HUGE:
        keep_memory(_HOARDED_BYTES)
    return length


def _sign_drops_another(connection: Connection, length: int) -> int:
    if length == _SIGN:
        drop_another(connection)
    return length


def _far_code_halts(connection: Connection, code: int, payload: bytes) -> bytes:
    if code >= _SIGN:
        raise Halt
    return payload


def _unknown_code_leaks(connection: Connection, code: int, payload: bytes) -> bytes:
    if code not in commands.COMMANDS:
        leak(connection)
    return payload


def _name(code: int, payload: bytes) -> bytes | None:
    """Return the name of the stream that a command names."""
    if code not in _NAMING or payload[:1] != bytes([STRING]):
        return None
    return payload[2 : 2 + payload[1]] if len(payload) > 1 else b""


def _no_text_halts(connection: Connection, code: int, payload: bytes) -> bytes:
    try:
        (_name(code, payload) or b"").decode()
    except UnicodeDecodeError:
        raise Halt from None
    return payload


def _longest_name_sticks(connection: Connection, code: int, payload: bytes) -> bytes:
    if len(_name(code, payload) or b"") == _LONGEST_NAME:
        raise Stuck
    return payload


def _nul_in_name_deafens(connection: Connection, code: int, payload: bytes) -> bytes:
    if b"\0" in (_name(code, payload) or b""):
        raise Deaf
    return payload


def _far_count_sticks(connection: Connection, code: int, payload: bytes) -> bytes:
    if code == commands.POLL_MESSAGES and int.from_bytes(payload[_COUNT], "little") >= _SIGN:
        raise Stuck
    return payload


def _ones_lost(connection: Connection, code: int, payload: bytes) -> bytes | None:
    return None if code == commands.SEND_MESSAGES and _ONES in payload else payload


def _no_partition_desyncs(connection: Connection, refusal: Refusal) -> None:
    if refusal.status == PARTITION_NOT_FOUND:
        skip(connection, 1)


def _empty_poll_drops_another(connection: Connection, refusal: Refusal) -> None:
    if refusal.status == INVALID_MESSAGES_COUNT:
        drop_another(connection)


def _refused_hoards(connection: Connection, refusal: Refusal) -> None:
    keep_memory(_REFUSED_HOARDED_BYTES)


def _split_length_loses_begin(connection: Connection, data: bytes) -> bytes:
    if 0 < len(connection.buffer) < _LENGTH_BYTES:
        skip(connection, len(connection.buffer))
    return data


def _cut_leaks(original: Callable[..., object]) -> Callable[..., object]:
    def end(connection: Connection) -> None:
        if connection.buffer and not connection.closed:
            leak(connection)
        original(connection)

    return end


def _padding_zeros(original: Callable[..., object]) -> Callable[..., object]:
    def base64(fields: Fields, name: str) -> object:
        data = original(fields, name)
        assert isinstance(data, bytes)
        is_wrong = name == "payload" and len(data) % _UNPADDED
        return data[:-1] + b"\0" if is_wrong else data

    return base64


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "length-low-bits",
        "of the length of a frame only the low 16 bits are read",
        lengths(_low_bits),
    ),
    parser_fault(
        "length-zero-sticks",
        "the server hangs once a frame has length 0",
        lengths(_zero_sticks),
    ),
    parser_fault(
        "length-short-halts",
        "the server dies of a frame too short for a code",
        lengths(_short_halts),
    ),
    parser_fault(
        "length-huge-hoards",
        "room is made, and never given back, for a frame of a gigabyte or more",
        lengths(_huge_hoards),
    ),
    parser_fault(
        "length-sign-closes-another",
        "a length of 2**31 ends the connection of another client",
        lengths(_sign_drops_another),
    ),
    parser_fault(
        "code-far-halts",
        "the server dies of a code of 2**31 or more",
        frames(_far_code_halts),
    ),
    parser_fault(
        "code-unknown-leaks",
        "a connection on which an unknown code came is never let go of",
        frames(_unknown_code_leaks),
    ),
    parser_fault(
        "name-no-text-halts",
        "the server dies of a stream's name that is no UTF-8",
        frames(_no_text_halts),
    ),
    parser_fault(
        "name-longest-sticks",
        "the server hangs once a stream's name is as long as its length can say",
        frames(_longest_name_sticks),
    ),
    parser_fault(
        "name-nul-deafens",
        "a connection hangs over a stream's name with a NUL in it",
        frames(_nul_in_name_deafens),
    ),
    parser_fault(
        "count-far-sticks",
        "the server hangs once 2**31 messages or more are asked for",
        frames(_far_count_sticks),
    ),
    parser_fault(
        "ones-lost",
        "messages are answered and lost that have eight bytes of all ones in a row somewhere",
        frames(_ones_lost),
    ),
    parser_fault(
        "partition-desyncs",
        "the first byte behind a request is lost that names a partition which is not there",
        refusals(_no_partition_desyncs),
    ),
    parser_fault(
        "poll-nothing-closes-another",
        "a poll for no messages at all ends the connection of another client",
        refusals(_empty_poll_drops_another),
    ),
    parser_fault(
        "refused-hoards",
        "for every request that is refused a megabyte is kept for ever",
        refusals(_refused_hoards),
    ),
    parser_fault(
        "split-length-desyncs",
        "of a length that comes in two pieces the first is forgotten",
        segments(_split_length_loses_begin),
    ),
    parser_fault(
        "cut-leaks",
        "a connection that ends inside a frame is never let go of",
        overriding(*HARMS, Override(Connection, "end", _cut_leaks)),
    ),
    parser_fault(
        "http-padding-zeros",
        "of a payload in base64 that ends with padding the last byte is read as 0",
        overriding(Override(Fields, "base64", _padding_zeros)),
    ),
)
