"""Faults of requests over TCP: requests in pieces, lengths, identifiers and error responses."""

import struct
from collections.abc import Callable
from time import monotonic
from weakref import WeakKeyDictionary, WeakSet

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.faulty.effect import frames, lengths, make_overriding, segments
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import NUMERIC, STRING

_HEAD_BYTES = LENGTH_BYTES + CODE_BYTES
_HUGE = 1 << 30
_LONGEST_SHORT = CODE_BYTES - 1
_CONSUMER_BYTES = 5
_ABSENT = bytes([STRING, 3]) + b"???"
_FIRST = bytes([NUMERIC, 4, 1, 0, 0, 0])
_FAR_STATUS = 4000

_HURT_S = 1.0
_HURT = WeakKeyDictionary[Server, float]()
"""Until when a server closes each new connection as soon as it is used."""
_DOOMED = WeakSet[Connection]()

Identifiers = Callable[[bytes, bytes], tuple[bytes, bytes]]


def _has_part_of_head(connection: Connection) -> bool:
    return 0 < len(connection.buffer) < _HEAD_BYTES


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


@missing("frame.request", segments)
def request_rest_lost(connection: Connection, data: bytes) -> bytes:
    """The rest of a request is lost if its length or code arrives in pieces."""
    return b"" if _has_part_of_head(connection) else data


@wrong_value("frame.request", segments)
def request_in_pieces_closes(connection: Connection, data: bytes) -> bytes:
    """A request whose length or code arrives in pieces closes the connection."""
    if not _has_part_of_head(connection):
        return data
    connection.drop()
    return b""


@boundary("frame.request", segments)
def request_last_byte_lost(connection: Connection, data: bytes) -> bytes:
    """The last byte of a request is lost if it arrives alone."""
    return b"" if connection.buffer and len(data) == 1 else data


@missing("frame.length", _length_hurts)
def length_huge_hurts(length: int) -> bool:
    """For a second after a frame of 1 GiB or more, new connections are closed."""
    return length >= _HUGE


@boundary("frame.length frame.length-refused", _length_hurts)
def length_three_hurts(length: int) -> bool:
    """For a second after a frame of length 3, new connections are closed."""
    return length == _LONGEST_SHORT


@condition("frame.length", around(Connection, "end"), also=_HURTS)
def abandoned_frame_hurts(original: Original, connection: Connection) -> None:
    """For a second after a client has left inside a frame, new connections are closed."""
    if connection.buffer and not connection.closed:
        _hurt(connection.server)
    original(connection)


@missing("frame.identifier poll.request", _polls_of)
def poll_stream_name_unknown(stream: bytes, topic: bytes) -> tuple[bytes, bytes]:
    """A poll that identifies the stream by name does not find the stream."""
    return (_ABSENT if _is_name(stream) else stream), topic


@wrong_value("frame.identifier poll.request", _polls_of)
def poll_topic_name_as_first(stream: bytes, topic: bytes) -> tuple[bytes, bytes]:
    """A poll that identifies the topic by name reads the topic with number 1."""
    return stream, (_FIRST if _is_name(topic) else topic)


@condition("frame.identifier poll.request", _polls_of)
def poll_two_names_unknown(stream: bytes, topic: bytes) -> tuple[bytes, bytes]:
    """A poll that identifies both stream and topic by name does not find the topic."""
    both = _is_name(stream) and _is_name(topic)
    return stream, (_ABSENT if both else topic)


@wrong_value("frame.response", around(framing, "response"))
def refusal_announces_a_byte(original: Original, status: int, body: bytes) -> object:
    """An error response announces a payload of one byte, which never arrives."""
    return struct.pack("<II", status, 1) if status else original(status, body)


@condition("frame.response", around(framing, "response"))
def refusal_with_body_far(original: Original, status: int, body: bytes) -> object:
    """An error response whose status is 4000 or more has a payload."""
    return original(status, b"refused" if status >= _FAR_STATUS else body)


FAULTS = list_faults(__name__)
