"""Faults of requests over TCP: requests in pieces, lengths, identifiers and error responses."""

import struct
from collections.abc import Callable
from time import monotonic
from weakref import WeakKeyDictionary, WeakSet

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    BINARY,
    JSON,
    Effect,
    boundary,
    condition,
    frames,
    lengths,
    make_overriding,
    missing,
    segments,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Preset
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import NUMERIC, STRING

_HEAD_BYTES = LENGTH_BYTES + CODE_BYTES
_HUGE = 1 << 30
_LONGEST_SHORT = CODE_BYTES - 1
_CONSUMER_BYTES = 5
_ABSENT = bytes([STRING, 3]) + b"???"
_FIRST = bytes([NUMERIC, 4, 1, 0, 0, 0])
_FAR_STATUS = 4000
_OF_NAMES = "status.unknown frame.identifier-refused frame.truncated frame.malformed"
_READ = f"{ANSWERS} {BINARY} frame.response"

_HURT_S = 1.0
_HURT = WeakKeyDictionary[Server, float]()
"""Until when a server closes each new connection as soon as it is used."""
_DOOMED = WeakSet[Connection]()

Identifiers = Callable[[bytes, bytes], tuple[bytes, bytes]]


def _has_part_of_head(connection: Connection) -> bool:
    return 0 < len(connection.buffer) < _HEAD_BYTES


def _rest_lost(connection: Connection, data: bytes) -> bytes:
    return b"" if _has_part_of_head(connection) else data


def _rest_closes(connection: Connection, data: bytes) -> bytes:
    if not _has_part_of_head(connection):
        return data
    connection.drop()
    return b""


def _last_byte_lost(connection: Connection, data: bytes) -> bytes:
    return b"" if connection.buffer and len(data) == 1 else data


def _doom_next(
    original: Original, connection: Connection, server: Server, **named: object
) -> None:
    original(connection, server, **named)
    if monotonic() < _HURT.get(server, 0.0):
        _DOOMED.add(connection)


def _receive(original: Original, connection: Connection, data: bytes, now_us: int) -> None:
    if connection in _DOOMED:
        connection.drop()
    else:
        original(connection, data, now_us)


_HURTS = (around(Connection, "__init__", _doom_next), around(Connection, "receive", _receive))
"""What a fault needs that closes new connections for a second."""


def _hurt(server: Server) -> None:
    _HURT[server] = monotonic() + _HURT_S


def _length_hurts(is_bad: Callable[[int], bool]) -> Effect:
    def note(connection: Connection, length: int) -> int:
        if is_bad(length):
            _hurt(connection.server)
        return length

    return make_overriding(*_HURTS, *lengths(note).overrides)


def _abandoned_hurts(original: Original, connection: Connection) -> None:
    if connection.buffer and not connection.closed:
        _hurt(connection.server)
    original(connection)


def _polls_of(change: Identifiers) -> Effect:
    """Return an effect that changes the identifiers of stream and topic in each poll."""

    def frame(connection: Connection, code: int, payload: bytes) -> bytes:
        if code != commands.POLL_MESSAGES or len(payload) <= _CONSUMER_BYTES + 1:
            return payload
        middle = _CONSUMER_BYTES + 2 + payload[_CONSUMER_BYTES + 1]
        if len(payload) <= middle + 1:
            return payload
        end = middle + 2 + payload[middle + 1]
        stream, topic = change(payload[_CONSUMER_BYTES:middle], payload[middle:end])
        return payload[:_CONSUMER_BYTES] + stream + topic + payload[end:]

    return frames(frame)


def _is_name(identifier: bytes) -> bool:
    return identifier[:1] == bytes([STRING])


def _stream_name_unknown(stream: bytes, topic: bytes) -> tuple[bytes, bytes]:
    return (_ABSENT if _is_name(stream) else stream), topic


def _topic_name_as_first(stream: bytes, topic: bytes) -> tuple[bytes, bytes]:
    return stream, (_FIRST if _is_name(topic) else topic)


def _two_names_unknown(stream: bytes, topic: bytes) -> tuple[bytes, bytes]:
    both = _is_name(stream) and _is_name(topic)
    return stream, (_ABSENT if both else topic)


def _refusal_of_one_byte(original: Original, status: int, body: bytes) -> object:
    return struct.pack("<II", status, 1) if status else original(status, body)


def _far_refusal_with_body(original: Original, status: int, body: bytes) -> object:
    return original(status, b"refused" if status >= _FAR_STATUS else body)


FAULTS: tuple[Preset, ...] = (
    missing(
        "request-rest-lost",
        "the rest of a request is lost if its length or code arrives in pieces",
        segments(_rest_lost),
        breaks="frame.request",
        may_break=_READ,
    ),
    wrong_value(
        "request-in-pieces-closes",
        "a request whose length or code arrives in pieces closes the connection",
        segments(_rest_closes),
        breaks="frame.request",
        may_break=_READ,
    ),
    boundary(
        "request-last-byte-lost",
        "the last byte of a request is lost if it arrives alone",
        segments(_last_byte_lost),
        breaks="frame.request",
        may_break=_READ,
    ),
    missing(
        "length-huge-hurts",
        "for a second after a frame of 1 GiB or more, new connections are closed",
        _length_hurts(lambda length: length >= _HUGE),
        breaks="frame.length",
        may_break=f"{ANSWERS} {BINARY} {JSON}",
    ),
    boundary(
        "length-three-hurts",
        "for a second after a frame of length 3, new connections are closed",
        _length_hurts(lambda length: length == _LONGEST_SHORT),
        breaks="frame.length frame.length-refused",
        may_break=f"{ANSWERS} {BINARY} {JSON}",
    ),
    condition(
        "abandoned-frame-hurts",
        "for a second after a client has left inside a frame, new connections are closed",
        make_overriding(*_HURTS, around(Connection, "end", _abandoned_hurts)),
        breaks="frame.length",
        may_break=f"{ANSWERS} {BINARY} {JSON}",
    ),
    missing(
        "poll-stream-name-unknown",
        "a poll that identifies the stream by name does not find the stream",
        _polls_of(_stream_name_unknown),
        breaks="frame.identifier poll.request",
        may_break=_OF_NAMES,
    ),
    wrong_value(
        "poll-topic-name-as-first",
        "a poll that identifies the topic by name reads the topic with number 1",
        _polls_of(_topic_name_as_first),
        breaks="frame.identifier poll.request",
        may_break=_OF_NAMES,
    ),
    condition(
        "poll-two-names-unknown",
        "a poll that identifies both stream and topic by name does not find the topic",
        _polls_of(_two_names_unknown),
        breaks="frame.identifier poll.request",
        may_break=_OF_NAMES,
    ),
    wrong_value(
        "refusal-announces-a-byte",
        "an error response announces a payload of one byte, which never arrives",
        make_overriding(around(framing, "response", _refusal_of_one_byte)),
        breaks="frame.response",
        may_break=f"{ANSWERS} {BINARY} poll.group frame.trailing send.all-or-nothing",
    ),
    condition(
        "refusal-with-body-far",
        "an error response whose status is 4000 or more has a payload",
        make_overriding(around(framing, "response", _far_refusal_with_body)),
        breaks="frame.response",
        may_break=f"{ANSWERS} {BINARY}",
    ),
)
