"""MPUB, MPUB_TRACE and MPUB_EXT: a batch is stored completely or not at all."""

from collections.abc import Generator, Sequence
from typing import cast

from wireproof_reference_impl.nsq.core.commands import publish, publish_ext, sized
from wireproof_reference_impl.nsq.core.commands.publish import TRACE_ID_BYTES
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import EndOfStream, Refusal
from wireproof_spec.nsq.error_codes import E_BAD_BODY, E_BAD_MESSAGE
from wireproof_spec.nsq.limits import max_mpub_count
from wireproof_spec.nsq.names import OK

Messages = Generator[int, bytes, list[bytes]]


def mpub(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run MPUB: store messages without headers."""
    partition, messages = yield from _batch(connection, words, least=1)
    publish.store(connection, partition, [NewMessage(data) for data in messages])
    connection.respond(OK)


def mpub_trace(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run MPUB_TRACE: store messages with trace ids, and answer with the batch's position."""
    partition, messages = yield from _batch(connection, words, least=TRACE_ID_BYTES + 1)
    entries = [
        NewMessage(data[TRACE_ID_BYTES:], int.from_bytes(data[:TRACE_ID_BYTES]))
        for data in messages
    ]
    stored = publish.store(connection, partition, entries)._replace(trace_id=0)
    connection.respond(connection.node.behaviour.publish.trace_response(stored))


def mpub_ext(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run MPUB_EXT: store messages with headers; trace ids are stored but not answered."""
    partition, messages = yield from _batch(connection, words, least=1)
    entries = [_ext_entry(connection, partition, data) for data in messages]
    publish.store(connection, partition, entries)
    connection.respond(OK)


def _ext_entry(connection: Connection, partition: Partition, data: bytes) -> NewMessage:
    split = publish_ext.split_body(connection, data)
    if not split.header:
        return NewMessage(split.body)
    header = publish_ext.read_header(connection, partition, split.header)
    return publish_ext.entry(partition, header, split)


def _batch(
    connection: Connection, words: Sequence[bytes], *, least: int
) -> Generator[int, bytes, tuple[Partition, list[bytes]]]:
    to = publish.address(connection, words)
    limit = connection.node.limits.body
    size = yield from sized.number(
        otherwise=lambda: Refusal(E_BAD_BODY, "failed to read body size")
    )
    sized.check_size(
        size,
        limit=limit,
        invalid=lambda: Refusal(E_BAD_BODY, f"invalid body size {size}"),
        too_big=lambda: Refusal(E_BAD_BODY, f"body too big {size} > {limit}"),
    )
    partition = yield from publish.locate(connection, to, size)
    messages = _messages(connection.node.limits, least=least)
    if connection.node.behaviour.publish.batch_by_size:
        return partition, _within(messages, (yield from read_body(size)))
    return partition, (yield from messages)


def read_body(size: int) -> sized.Bytes:
    """Read all bytes of a batch; a stream that ends before them is refused."""
    return sized.exactly(size, otherwise=_cut)


def read_batch(limits: Limits, data: bytes) -> list[bytes]:
    """Return the messages of a batch body that is completely in memory (or raise Refusal)."""
    return _within(_messages(limits, least=1), data)


def _messages(limits: Limits, *, least: int) -> Messages:
    count = yield from sized.number(
        otherwise=lambda: Refusal(E_BAD_BODY, "MPUB failed to read message count")
    )
    if not 0 < count <= max_mpub_count(limits.body):
        raise Refusal(E_BAD_BODY, f"MPUB invalid message count {count}")
    messages: list[bytes] = []
    total = 0
    for index in range(count):
        size = yield from _message_size(index, limit=limits.message, least=least)
        total += size
        if total > limits.body:
            raise Refusal(E_BAD_BODY, f"body too big {total} > {limits.body}")
        messages.append((yield from sized.exactly(size, otherwise=_cut)))
    return messages


def _message_size(index: int, *, limit: int, least: int) -> sized.Number:
    where = f"message({index}) body size"
    size = yield from sized.number(
        otherwise=lambda: Refusal(E_BAD_MESSAGE, f"MPUB failed to read {where}")
    )
    if size <= 0:
        raise Refusal(E_BAD_MESSAGE, f"MPUB invalid {where} {size}")
    if size > limit:
        raise Refusal(E_BAD_MESSAGE, f"MPUB message too big {size} > {limit}")
    if size < least:
        raise Refusal(E_BAD_MESSAGE, f"MPUB invalid {where} {size} for tracing")
    return size


def _within(messages: Messages, data: bytes) -> list[bytes]:
    """Run a reader on a body that is completely in memory; it must use all bytes."""
    place, needed = 0, next(messages)
    while place + needed <= len(data):
        part = data[place : place + needed]
        place += needed
        try:
            needed = messages.send(part)
        except StopIteration as end:
            if place < len(data):
                text = f"MPUB invalid body size {len(data)}"
                raise Refusal(E_BAD_BODY, text) from None
            return cast(list[bytes], end.value)
    messages.throw(EndOfStream(data[place:]))
    return []


def _cut() -> Refusal:
    return Refusal(E_BAD_MESSAGE, "MPUB failed to read message body")
