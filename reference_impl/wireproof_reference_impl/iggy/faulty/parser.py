"""Faults of the parsers of frames and fields, for fuzzing to find."""

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.effect import (
    frames,
    lengths,
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
from wireproof_reference_impl.iggy.faulty.ways import parser_fault
from wireproof_reference_impl.iggy.http.reading import Fields
from wireproof_reference_impl.iggy.wire.status import (
    INVALID_MESSAGES_COUNT,
    PARTITION_NOT_FOUND,
    Refusal,
)
from wireproof_reference_impl.overrides import Original, around
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


def _name(code: int, payload: bytes) -> bytes | None:
    """Return the stream name in a command."""
    if code not in _NAMING or payload[:1] != bytes([STRING]):
        return None
    return payload[2 : 2 + payload[1]] if len(payload) > 1 else b""


@parser_fault(lengths)
def length_low_bits(connection: Connection, length: int) -> int:
    """Only the low 16 bits of a frame length are read."""
    return length & _LOW_BITS


@parser_fault(lengths)
def length_zero_sticks(connection: Connection, length: int) -> int:
    """The server stops answering all clients after a frame of length 0."""
    if not length:
        raise ProcessHangs
    return length


@parser_fault(lengths)
def length_short_halts(connection: Connection, length: int) -> int:
    """The server ends after a frame too short for a command code."""
    if 0 < length < _CODE_BYTES:
        raise ProcessEnds
    return length


@parser_fault(lengths)
def length_huge_hoards(connection: Connection, length: int) -> int:
    """For each frame length of 1 GiB or more, memory is taken and never freed."""
    if length >= _HUGE:
        keep_memory(_HOARDED_BYTES)
    return length


@parser_fault(lengths)
def length_sign_closes_another(connection: Connection, length: int) -> int:
    """A frame length of 2**31 closes the connection of another client."""
    if length == _SIGN:
        drop_another(connection)
    return length


@parser_fault(frames)
def code_far_halts(connection: Connection, code: int, payload: bytes) -> bytes:
    """The server ends after a command code of 2**31 or more."""
    if code >= _SIGN:
        raise ProcessEnds
    return payload


@parser_fault(frames)
def code_unknown_leaks(connection: Connection, code: int, payload: bytes) -> bytes:
    """A connection on which an unknown command code came is never closed."""
    if code not in commands.COMMANDS:
        leak(connection)
    return payload


@parser_fault(frames)
def name_no_text_halts(connection: Connection, code: int, payload: bytes) -> bytes:
    """The server ends after a stream name that is not UTF-8."""
    try:
        (_name(code, payload) or b"").decode()
    except UnicodeDecodeError:
        raise ProcessEnds from None
    return payload


@parser_fault(frames)
def name_longest_sticks(connection: Connection, code: int, payload: bytes) -> bytes:
    """The server stops answering all clients after a stream name of 255 bytes."""
    if len(_name(code, payload) or b"") == _LONGEST_NAME:
        raise ProcessHangs
    return payload


@parser_fault(frames)
def name_nul_deafens(connection: Connection, code: int, payload: bytes) -> bytes:
    """After a stream name with a NUL byte, the connection is never answered again."""
    if b"\0" in (_name(code, payload) or b""):
        raise StopsReading
    return payload


@parser_fault(frames)
def count_far_sticks(connection: Connection, code: int, payload: bytes) -> bytes:
    """The server stops answering all clients after a poll for 2**31 messages or more."""
    if code == commands.POLL_MESSAGES and int.from_bytes(payload[_COUNT], "little") >= _SIGN:
        raise ProcessHangs
    return payload


@parser_fault(frames)
def ones_lost(connection: Connection, code: int, payload: bytes) -> bytes | None:
    """A request to send with eight bytes 0xff in a row is answered but not stored."""
    return None if code == commands.SEND_MESSAGES and _ONES in payload else payload


@parser_fault(refusals)
def partition_desyncs(connection: Connection, refusal: Refusal) -> None:
    """After a request for an unknown partition, the next byte of the connection is lost."""
    if refusal.status == PARTITION_NOT_FOUND:
        skip(connection, 1)


@parser_fault(refusals)
def poll_nothing_closes_another(connection: Connection, refusal: Refusal) -> None:
    """A poll for 0 messages closes the connection of another client."""
    if refusal.status == INVALID_MESSAGES_COUNT:
        drop_another(connection)


@parser_fault(refusals)
def refused_hoards(connection: Connection, refusal: Refusal) -> None:
    """For each refused request, 1 MiB of memory is taken and never freed."""
    keep_memory(_REFUSED_HOARDED_BYTES)


@parser_fault(segments)
def split_length_desyncs(connection: Connection, data: bytes) -> bytes:
    """If a frame length arrives in two pieces, the first piece is lost."""
    if 0 < len(connection.buffer) < _LENGTH_BYTES:
        skip(connection, len(connection.buffer))
    return data


@parser_fault(around(Connection, "end"), also=HARMS)
def cut_leaks(original: Original, connection: Connection) -> None:
    """A connection that ends in the middle of a frame is never closed by the server."""
    if connection.buffer and not connection.closed:
        leak(connection)
    original(connection)


@parser_fault(around(Fields, "base64"))
def http_padding_zeros(original: Original, fields: Fields, name: str) -> object:
    """The last byte of a payload whose base64 has padding is read as 0."""
    data = original(fields, name)
    assert isinstance(data, bytes)
    is_wrong = name == "payload" and len(data) % _UNPADDED
    return data[:-1] + b"\0" if is_wrong else data


FAULTS = list_faults(__name__)
