"""Faults of frames over TCP: order, lengths, unknown commands and trailing bytes."""

import struct

from wireproof_reference_impl.iggy.core.commands import published
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.session import Action, CommandContext
from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    Effect,
    boundary,
    condition,
    extra,
    frames,
    handler,
    missing,
    segments,
    wrong_value,
)
from wireproof_reference_impl.iggy.faulty.harm import HARMS, StopsReading
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.iggy.wire.status import (
    INVALID_STREAM_NAME,
    INVALID_TOPIC_NAME,
    Refusal,
)
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import NUMERIC, STRING

_PING = struct.pack("<II", CODE_BYTES, commands.PING)
_PARTITIONS = slice(4, 8)
_LIKELY = f"{ANSWERS} poll.group frame.trailing headers.limits send.all-or-nothing"


def _backwards(connection: Connection, data: bytes) -> bytes:
    """Return the requests that came in one piece in the reverse order."""
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


def _too_short_is_a_ping(connection: Connection, data: bytes) -> bytes:
    """Replace a frame that is too short for a command code by a ping."""
    if connection.buffer or len(data) < LENGTH_BYTES:
        return data
    return _PING if int.from_bytes(data[:LENGTH_BYTES], "little") < CODE_BYTES else data


def _unknown_done(connection: Connection, code: int, payload: bytes) -> bytes | None:
    return payload if code in commands.COMMANDS else None


def _any_identifier(connection: Connection, code: int, payload: bytes) -> bytes | None:
    """Skip a request for a stream by an unknown kind of identifier."""
    is_known = payload[:1] in (bytes([NUMERIC]), bytes([STRING]))
    return payload if code != commands.GET_STREAM or is_known else None


def _last_byte_filled(connection: Connection, code: int, payload: bytes) -> bytes:
    return payload + b"\0" if code == commands.POLL_MESSAGES else payload


def _poll_alone(fields: Fields) -> Action:
    action = published.COMMANDS[commands.POLL_MESSAGES](fields)
    if fields.left:
        raise StopsReading
    return action


def _topic_with_one_more(fields: Fields) -> Action:
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


FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "requests-backwards",
        "requests that arrive in one piece are executed in the reverse order",
        segments(_backwards),
        breaks="frame.pipelined",
        may_break=_LIKELY,
    ),
    boundary(
        "length-too-short-is-ping",
        "a frame too short for a command code is answered like a ping",
        segments(_too_short_is_a_ping),
        breaks="frame.length-refused",
        may_break=_LIKELY,
    ),
    extra(
        "unknown-command-done",
        "a command with an unknown code is answered with status 0 (ok)",
        frames(_unknown_done),
        breaks="frame.command",
    ),
    condition(
        "identifier-of-any-kind",
        "a request for a stream by an unknown kind of identifier is answered with ok",
        frames(_any_identifier),
        breaks="frame.identifier-refused",
        may_break=_LIKELY,
    ),
    boundary(
        "poll-one-byte-short",
        "a poll request that lacks its last byte is accepted",
        frames(_last_byte_filled),
        breaks="frame.truncated",
        may_break=_LIKELY,
    ),
    missing(
        "poll-trailing-deafens",
        "after a poll request with extra bytes, the connection is never answered again",
        handler(commands.POLL_MESSAGES, _poll_alone),
        breaks="frame.trailing",
        may_break=_LIKELY,
    ),
    wrong_value(
        "topic-with-one-more",
        "the answer about a topic counts one partition more than the topic has",
        handler(commands.GET_TOPIC, _topic_with_one_more),
        breaks="frame.resources",
        may_break=_LIKELY,
    ),
    condition(
        "bad-name-deafens",
        "after an invalid stream or topic name, the connection is never answered again",
        Effect({"framing.unreadable": _bad_name_deafens}, HARMS),
        breaks="status.invalid",
        may_break=_LIKELY,
    ),
)
