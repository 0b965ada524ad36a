"""Faults of sending: limits, partitioning, order and which messages are stored."""

import struct
from collections.abc import Callable

import mmh3

from wireproof_reference_impl.iggy.choices import number
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.messages import send
from wireproof_reference_impl.iggy.core.session import Action, CommandContext
from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    BINARY,
    JSON,
    Effect,
    boundary,
    condition,
    extra,
    frames,
    handler,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.streams.partitioning import chosen_partition
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire.checks import SendLimits
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.identifier import read_identifier
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.requests import Partitioning, SendMessages
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, RAW
from wireproof_spec.iggy.kinds import MESSAGES_KEY
from wireproof_spec.iggy.limits import MAX_HEADER_VALUES_SIZE, MAX_PAYLOADS_SIZE

_ID_BYTES = 16

Block = Callable[[bytes], bytes]
Key = Callable[[int, bytes], bytes]


def _first_for_zero(topic: Topic, partitioning: Partitioning) -> int:
    """Return the partition of a request; that of a key is hash modulo count, plus 1."""
    if partitioning.kind != MESSAGES_KEY:
        return chosen_partition(topic, partitioning)
    hashed = mmh3.hash128(partitioning.value, seed=0, x64arch=True, signed=False)
    return hashed % len(topic.partitions) + 1


def _what_can_be_read(fields: Fields) -> Action:
    """Store the messages before a malformed one, then refuse the request."""
    place, partitioning = reading.place(fields), reading.read_partitioning(fields)
    found: list[Sent] = []
    refusals: list[Refusal] = []
    while fields.left and not refusals:
        try:
            found.append(reading.message(fields))
        except Refusal as refusal:
            refusals.append(refusal)

    def act(session: CommandContext) -> bytes:
        if found:
            send(session.server, SendMessages(place, partitioning, found), session.now_us)
        for refusal in refusals:
            raise refusal
        return b""

    return act


def _backwards(messages: list[Message]) -> list[Message]:
    return messages[::-1]


def _same_ids_twice(messages: list[Message]) -> list[Message]:
    """Return each message that shares its id with another twice."""
    ids = [each.id for each in messages]
    return [each for each in messages for _ in range(min(2, ids.count(each.id)))]


def blocks(change: Block) -> Effect:
    """Return an effect that changes each message's header block in send requests."""

    def frame(connection: Connection, code: int, payload: bytes) -> bytes:
        if code != commands.SEND_MESSAGES:
            return payload
        try:
            return _with_blocks(payload, change)
        except Refusal:
            return payload

    return frames(frame)


def _with_blocks(payload: bytes, change: Block) -> bytes:
    fields = Fields(payload)
    for _ in ("stream", "topic"):
        read_identifier(fields)
    reading.read_partitioning(fields)
    parts = [payload[: len(payload) - fields.left]]
    while fields.left:
        number = fields.take(_ID_BYTES)
        block = change(fields.take(fields.u32()))
        body = fields.take(fields.u32())
        counts = struct.pack("<I", len(block)), struct.pack("<I", len(body))
        parts += [number, counts[0], block, counts[1], body]
    return b"".join(parts)


def _headers(
    block: bytes, kind: Callable[[int], int], key: Callable[[int, bytes], bytes]
) -> bytes:
    """Return a block of headers with changed kinds and keys; `key` is also given the position."""
    fields, parts, place = Fields(block), list[bytes](), 0
    while fields.left:
        name, code = key(place, fields.take(fields.u32())), kind(fields.u8())
        value = fields.take(fields.u32())
        parts += [struct.pack("<I", len(name)), name, struct.pack("<BI", code, len(value)), value]
        place += 1
    return b"".join(parts)


def _unknown_as_raw(block: bytes) -> bytes:
    return _headers(
        block, lambda kind: kind if kind in HEADER_KINDS else RAW, lambda place, key: key
    )


def _repeated_renamed() -> Block:
    def change(block: bytes) -> bytes:
        seen: list[bytes] = []

        def rename(place: int, key: bytes) -> bytes:
            name = key + b"%d" % place if key in seen else key
            seen.append(key)
            return name

        return _headers(block, lambda kind: kind, rename)

    return change


FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "key-hash-from-one",
        "a message key selects partition hash modulo count plus one",
        {"store.choose": _first_for_zero},
        breaks="send.key-hash",
    ),
    missing(
        "send-half",
        "if a message of a request is malformed, the messages before it are still stored",
        handler(commands.SEND_MESSAGES, _what_can_be_read),
        breaks="send.all-or-nothing",
        may_break=f"{BINARY} {ANSWERS} frame.malformed",
    ),
    boundary(
        "send-limit-one-less",
        "the size limit for the payloads of one request is one byte too low",
        {"store.limits": SendLimits(MAX_PAYLOADS_SIZE - 1, MAX_HEADER_VALUES_SIZE)},
        breaks="send.limits",
    ),
    wrong_value(
        "poll-backwards",
        "a poll returns its messages in the reverse order",
        {"poll.delivered": _backwards},
        breaks="send.order",
        may_break=f"{BINARY} {JSON} poll.stored-offset poll.empty",
    ),
    extra(
        "same-ids-twice",
        "a poll returns messages that share an id twice",
        {"poll.delivered": _same_ids_twice},
        breaks="message.repeated-id",
        may_break=f"{BINARY} {JSON}",
    ),
    condition(
        "new-ids-alike",
        "the server generates the same id for every message sent without one",
        number("log.new_id", lambda random: 1),
        breaks="message.generated-id",
        may_break=f"{BINARY} {JSON}",
    ),
    missing(
        "header-kind-unknown-taken",
        "a header of an unknown kind is accepted as `raw`",
        blocks(_unknown_as_raw),
        breaks="headers.unknown-kind",
        may_break=f"{ANSWERS} frame.malformed send.all-or-nothing",
    ),
    extra(
        "header-key-repeated-renamed",
        "a header that repeats a key is accepted under another key",
        blocks(_repeated_renamed()),
        breaks="headers.repeated-key",
        may_break=f"{ANSWERS} frame.malformed",
    ),
)
