"""Faults of frames over TCP: order, lengths, unknown commands and trailing bytes."""

import struct
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.core.commands import published
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.session import Action, CommandContext
from wireproof_reference_impl.iggy.faulty.effect import frames, handler, segments
from wireproof_reference_impl.iggy.faulty.harm import HARMS, StopsReading
from wireproof_reference_impl.iggy.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.iggy.wire.status import (
    INVALID_STREAM_NAME,
    INVALID_TOPIC_NAME,
    Refusal,
)
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import NUMERIC, STRING

_PING = struct.pack("<II", CODE_BYTES, commands.PING)
_PARTITIONS = slice(4, 8)


@wrong_value("frame.pipelined", segments)
def requests_backwards(connection: Connection, data: bytes) -> bytes:
    """Requests that arrive in one piece are executed in the reverse order."""
    if connection.buffer:
        return data
    frames: list[bytes] = []
    left = data
    while left:
        end = LENGTH_BYTES + int.from_bytes(left[:LENGTH_BYTES], "little")
        if end > len(left):
            return data
        frames.append(left[:end])
        left = left[end:]
    return b"".join(reversed(frames))


@boundary("frame.length-refused", segments)
def length_too_short_is_ping(connection: Connection, data: bytes) -> bytes:
    """A frame too short for a command code is answered like a ping."""
    if connection.buffer or len(data) < LENGTH_BYTES:
        return data
    return _PING if int.from_bytes(data[:LENGTH_BYTES], "little") < CODE_BYTES else data


@extra("frame.command", frames)
def unknown_command_done(connection: Connection, code: int, payload: bytes) -> bytes | None:
    """A command with an unknown code is answered with status 0 (ok)."""
    return payload if code in commands.COMMANDS else None


@condition("frame.identifier-refused", frames)
def identifier_of_any_kind(connection: Connection, code: int, payload: bytes) -> bytes | None:
    """A request for a stream by an unknown kind of identifier is answered with ok."""
    is_known = payload[:1] in (bytes([NUMERIC]), bytes([STRING]))
    return payload if code != commands.GET_STREAM or is_known else None


@boundary("frame.truncated", frames)
def poll_one_byte_short(connection: Connection, code: int, payload: bytes) -> bytes:
    """A poll request that lacks its last byte is accepted."""
    return payload + b"\0" if code == commands.POLL_MESSAGES else payload


@missing("frame.trailing", partial(handler, commands.POLL_MESSAGES))
def poll_trailing_deafens(fields: Fields) -> Action:
    """After a poll request with extra bytes, the connection is never answered again."""
    action = published.COMMANDS[commands.POLL_MESSAGES](fields)
    if fields.left:
        raise StopsReading
    return action


@wrong_value("frame.resources", partial(handler, commands.GET_TOPIC))
def topic_with_one_more(fields: Fields) -> Action:
    """The answer about a topic counts one partition more than the topic has."""
    action = published.COMMANDS[commands.GET_TOPIC](fields)

    def act(session: CommandContext) -> bytes:
        body = action(session)
        count = int.from_bytes(body[_PARTITIONS], "little") + 1
        return body[: _PARTITIONS.start] + struct.pack("<I", count) + body[_PARTITIONS.stop :]

    return act


def _bad_name_deafens(refusal: Refusal) -> Refusal | None:
    if refusal.status in (INVALID_STREAM_NAME, INVALID_TOPIC_NAME):
        raise StopsReading
    return None


@condition("status.invalid")
def bad_name_deafens() -> Change:
    """After an invalid stream or topic name, the connection is never answered again."""
    return Effect({"framing.unreadable": _bad_name_deafens}, HARMS)


FAULTS = list_faults(__name__)
