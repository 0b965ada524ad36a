"""Sending and polling messages."""

import zlib
from collections.abc import Callable, Mapping

from msgspec import Struct

from wireproof_reference_impl.iggy.apache import admission, groups, records
from wireproof_reference_impl.iggy.apache.node import Node, partition_of
from wireproof_reference_impl.iggy.apache.partition import Partition, count_messages
from wireproof_reference_impl.iggy.apache.records import Batch
from wireproof_reference_impl.iggy.apache.refusals import Denied, Unsound, not_found
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache.bodies.messages import (
    POLL_MESSAGES,
    SEND_BYTES,
    PollMessages,
    SendMetadata,
)
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, Confirmation, Confirmations
from wireproof_spec.iggy.apache.envelope import Envelope, PollHead
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP
from wireproof_spec.wire_error import WireError

NO_PARTITION = (1 << 32) - 1
"""The partition in a poll of a group member that has none."""


class Polled(Struct, frozen=True):
    """What a poll found: the partition, its newest offset, and batches cut to the messages."""

    partition_id: int
    current_offset: int
    batches: list[Batch]


def send(node: Node, body: bytes, now_us: int) -> bytes:
    """Store the batch of a request, all or nothing, and return the body of the reply.

    Raises:
        Denied: the metadata cannot be read, the target does not exist, or the batch is unsound.
        Unanswered: the server tells no producer of an unsound batch.
    """
    try:
        request = decode(SEND_BYTES, body)
    except WireError:
        raise not_found() from None
    partition = target(node, request.metadata)
    try:
        batch = admission.admit(request.batch, request.metadata.messages_count)
    except Unsound as unsound:
        raise refuse(unsound) from None
    return encode(CONFIRMATIONS, confirm(partition, node, request.metadata, batch, now_us))


def refuse(unsound: Unsound) -> Exception:
    """Return what a send of an unsound batch is answered with."""
    return not_found()


def target(node: Node, metadata: SendMetadata) -> Partition:
    """Return the partition in which the messages of a request are stored.

    Raises:
        Denied: stream, topic or partition do not exist.
    """
    try:
        topic = node.topic(metadata.stream, metadata.topic)
        return partition_of(topic, topic.choose(metadata.partitioning))
    except Denied:
        raise not_found() from None


def confirm(
    partition: Partition, node: Node, metadata: SendMetadata, batch: Batch, now_us: int
) -> Confirmations:
    """Store a sound batch, and return where its messages are."""
    topic = node.topic(metadata.stream, metadata.topic)
    stored = partition.append(batch, now_us)
    place = Confirmation(topic.stream, topic.id, partition.id, stored.base_offset)
    return Confirmations((place,))


def read_poll(body: bytes) -> PollMessages:
    """Decode the body of a poll; bytes behind it are ignored.

    Raises:
        WireError: the body is no poll.
    """
    try:
        return decode(POLL_MESSAGES, body)
    except WireError as error:
        if error.field != "end":
            raise
        return decode(POLL_MESSAGES, body[: error.offset])


def answer_poll(node: Node, body: bytes) -> bytes:
    """Return the body of the reply to a poll.

    As in the measured server, a poll that cannot be read finds nothing.

    Raises:
        Denied: the target does not exist, or a message is damaged.
    """
    try:
        request = read_poll(body)
    except WireError:
        return unreadable_poll(node.envelope)
    return write_polled(node.envelope, poll(node, request))


def unreadable_poll(envelope: Envelope) -> bytes:
    """Return the body of the reply to a poll that cannot be read."""
    return write_polled(envelope, Polled(0, 0, []))


def poll(node: Node, request: PollMessages) -> Polled:
    """Return the messages that a poll finds; with auto commit their last offset is stored.

    Raises:
        Denied: the target does not exist, or a message is damaged.
    """
    resolved = groups.resolve(node, request)
    if resolved is None:
        return Polled(NO_PARTITION, 0, [])
    request = resolved
    partition = node.partition(request.stream, request.topic, request.partition)
    start = start_of(partition, request)
    found = [] if start is None else partition.select(start, request.count)
    if found and request.auto_commit:
        commit(partition, request.consumer, found[-1].offset(found[-1].frames[-1]))
    return Polled(partition.id, partition.newest, found)


def start_of(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset at which a poll begins, or None if it finds nothing."""
    return STARTS[request.strategy](partition, request)


def commit(partition: Partition, consumer: Consumer, offset: int) -> None:
    """Store the offset of the last polled message, unless a greater one is stored."""
    number = consumer_number(consumer.id)
    stored = partition.stored_offset(consumer.kind, number)
    if stored is None or stored < offset:
        partition.store_offset(consumer.kind, number, offset)


def write_polled(envelope: Envelope, found: Polled) -> bytes:
    """Return the body of the reply to a poll."""
    head = make_head(envelope, found)
    return encode(envelope.poll_head, head) + b"".join(map(write_record, found.batches))


def make_head(envelope: Envelope, found: Polled) -> PollHead:
    """Return the head of the reply to a poll."""
    count = count_messages(found.batches)
    return envelope.make_poll_head(found.partition_id, found.current_offset, count)


def write_record(batch: Batch) -> bytes:
    """Return the bytes of a polled batch."""
    return records.write_batch(batch)


def consumer_number(who: Identifier | int) -> int:
    """Return the number of a consumer; one with a name has the CRC-32 of it."""
    if isinstance(who, int):
        return who
    return zlib.crc32(who.value) if who.number is None else who.number


def at_offset(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset of the request."""
    return request.value


def at_timestamp(partition: Partition, request: PollMessages) -> int | None:
    """Return the first offset of the first batch of this time or a later one, or None."""
    later = (each for each in partition.batches if each.base_timestamp >= request.value)
    batch = next(later, None)
    return None if batch is None else batch.base_offset


def at_first(partition: Partition, request: PollMessages) -> int | None:
    """Return 0, the offset of the first message."""
    return 0


def at_last(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset from which exactly the requested number of messages follows."""
    return max(0, partition.next_offset - request.count)


def at_next(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset behind the stored one, or that of the first message."""
    number = consumer_number(request.consumer.id)
    stored = partition.stored_offset(request.consumer.kind, number)
    return 0 if stored is None else stored + 1


Start = Callable[[Partition, PollMessages], int | None]

STARTS: Mapping[int, Start] = {
    OFFSET: at_offset,
    TIMESTAMP: at_timestamp,
    FIRST: at_first,
    LAST: at_last,
    NEXT: at_next,
}
"""Where each strategy begins."""
