"""Faults of the parsers of frames and fields, for fuzzing to find."""

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.effect import (
    frames,
    lengths,
    make_overriding,
    parser_fault,
    refusals,
    segments,
)
from wireproof_reference_impl.iggy.faulty.harm import (
    HARMS,
    ProcessEnds,
    ProcessHangs,
    StopsReading,
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
from wireproof_reference_impl.overrides import Original, around
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
        raise ProcessHangs
    return length


def _short_halts(connection: Connection, length: int) -> int:
    if 0 < length < _CODE_BYTES:
        raise ProcessEnds
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
        raise ProcessEnds
    return payload


def _unknown_code_leaks(connection: Connection, code: int, payload: bytes) -> bytes:
    if code not in commands.COMMANDS:
        leak(connection)
    return payload


def _name(code: int, payload: bytes) -> bytes | None:
    """Return the stream name in a command."""
    if code not in _NAMING or payload[:1] != bytes([STRING]):
        return None
    return payload[2 : 2 + payload[1]] if len(payload) > 1 else b""


def _no_text_halts(connection: Connection, code: int, payload: bytes) -> bytes:
    try:
        (_name(code, payload) or b"").decode()
    except UnicodeDecodeError:
        raise ProcessEnds from None
    return payload


def _longest_name_sticks(connection: Connection, code: int, payload: bytes) -> bytes:
    if len(_name(code, payload) or b"") == _LONGEST_NAME:
        raise ProcessHangs
    return payload


def _nul_in_name_deafens(connection: Connection, code: int, payload: bytes) -> bytes:
    if b"\0" in (_name(code, payload) or b""):
        raise StopsReading
    return payload


def _far_count_sticks(connection: Connection, code: int, payload: bytes) -> bytes:
    if code == commands.POLL_MESSAGES and int.from_bytes(payload[_COUNT], "little") >= _SIGN:
        raise ProcessHangs
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


def _cut_leaks(original: Original, connection: Connection) -> None:
    if connection.buffer and not connection.closed:
        leak(connection)
    original(connection)


def _padding_zeros(original: Original, fields: Fields, name: str) -> object:
    data = original(fields, name)
    assert isinstance(data, bytes)
    is_wrong = name == "payload" and len(data) % _UNPADDED
    return data[:-1] + b"\0" if is_wrong else data


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "length-low-bits",
        "only the low 16 bits of a frame length are read",
        lengths(_low_bits),
    ),
    parser_fault(
        "length-zero-sticks",
        "the server stops answering all clients after a frame of length 0",
        lengths(_zero_sticks),
    ),
    parser_fault(
        "length-short-halts",
        "the server ends after a frame too short for a command code",
        lengths(_short_halts),
    ),
    parser_fault(
        "length-huge-hoards",
        "for each frame length of 1 GiB or more, memory is taken and never freed",
        lengths(_huge_hoards),
    ),
    parser_fault(
        "length-sign-closes-another",
        "a frame length of 2**31 closes the connection of another client",
        lengths(_sign_drops_another),
    ),
    parser_fault(
        "code-far-halts",
        "the server ends after a command code of 2**31 or more",
        frames(_far_code_halts),
    ),
    parser_fault(
        "code-unknown-leaks",
        "a connection on which an unknown command code came is never closed",
        frames(_unknown_code_leaks),
    ),
    parser_fault(
        "name-no-text-halts",
        "the server ends after a stream name that is not UTF-8",
        frames(_no_text_halts),
    ),
    parser_fault(
        "name-longest-sticks",
        "the server stops answering all clients after a stream name of 255 bytes",
        frames(_longest_name_sticks),
    ),
    parser_fault(
        "name-nul-deafens",
        "after a stream name with a NUL byte, the connection is never answered again",
        frames(_nul_in_name_deafens),
    ),
    parser_fault(
        "count-far-sticks",
        "the server stops answering all clients after a poll for 2**31 messages or more",
        frames(_far_count_sticks),
    ),
    parser_fault(
        "ones-lost",
        "a request to send with eight bytes 0xff in a row is answered but not stored",
        frames(_ones_lost),
    ),
    parser_fault(
        "partition-desyncs",
        "after a request for an unknown partition, the next byte of the connection is lost",
        refusals(_no_partition_desyncs),
    ),
    parser_fault(
        "poll-nothing-closes-another",
        "a poll for 0 messages closes the connection of another client",
        refusals(_empty_poll_drops_another),
    ),
    parser_fault(
        "refused-hoards",
        "for each refused request, 1 MiB of memory is taken and never freed",
        refusals(_refused_hoards),
    ),
    parser_fault(
        "split-length-desyncs",
        "if a frame length arrives in two pieces, the first piece is lost",
        segments(_split_length_loses_begin),
    ),
    parser_fault(
        "cut-leaks",
        "a connection that ends in the middle of a frame is never closed by the server",
        make_overriding(*HARMS, around(Connection, "end", _cut_leaks)),
    ),
    parser_fault(
        "http-padding-zeros",
        "the last byte of a payload whose base64 has padding is read as 0",
        make_overriding(around(Fields, "base64", _padding_zeros)),
    ),
)
