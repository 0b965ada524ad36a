"""Faults of sending: limits, partitioning, order and which messages are stored."""

import struct
from collections.abc import Callable
from functools import partial

import mmh3

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.choices import number
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.messages import send
from wireproof_reference_impl.iggy.core.session import Action, CommandContext
from wireproof_reference_impl.iggy.faulty.effect import frames, handler
from wireproof_reference_impl.iggy.faulty.ways import (
    boundary,
    condition,
    extra,
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
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, RAW
from wireproof_spec.iggy.kinds import MESSAGES_KEY
from wireproof_spec.iggy.limits import MAX_HEADER_VALUES_SIZE, MAX_PAYLOADS_SIZE

_ID_BYTES = 16

Block = Callable[[bytes], bytes]
Key = Callable[[int, bytes], bytes]


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


@wrong_value("send.key-hash", setting("store.choose"))
def key_hash_from_one(topic: Topic, partitioning: Partitioning) -> int:
    """A message key selects partition hash modulo count plus one."""
    if partitioning.kind != MESSAGES_KEY:
        return chosen_partition(topic, partitioning)
    hashed = mmh3.hash128(partitioning.value, seed=0, x64arch=True, signed=False)
    return hashed % len(topic.partitions) + 1


@missing("send.all-or-nothing", partial(handler, commands.SEND_MESSAGES))
def send_half(fields: Fields) -> Action:
    """If a message of a request is malformed, the messages before it are still stored."""
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


@boundary("send.limits")
def send_limit_one_less() -> Change:
    """The size limit for the payloads of one request is one byte too low."""
    return {"store.limits": SendLimits(MAX_PAYLOADS_SIZE - 1, MAX_HEADER_VALUES_SIZE)}


@wrong_value("send.order", setting("poll.delivered"))
def poll_backwards(messages: list[Message]) -> list[Message]:
    """A poll returns its messages in the reverse order."""
    return messages[::-1]


@extra("message.repeated-id", setting("poll.delivered"))
def same_ids_twice(messages: list[Message]) -> list[Message]:
    """A poll returns messages that share an id twice."""
    ids = [message.id for message in messages]
    return [message for message in messages for _ in range(min(2, ids.count(message.id)))]


@condition("message.generated-id", partial(number, "log.new_id"))
def new_ids_alike(random: int) -> int:
    """The server generates the same id for every message sent without one."""
    return 1


@missing("headers.unknown-kind", blocks)
def header_kind_unknown_taken(block: bytes) -> bytes:
    """A header of an unknown kind is accepted as `raw`."""
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


@extra("headers.repeated-key")
def header_key_repeated_renamed() -> Change:
    """A header that repeats a key is accepted under another key."""
    return blocks(_repeated_renamed())


FAULTS = list_faults(__name__)
