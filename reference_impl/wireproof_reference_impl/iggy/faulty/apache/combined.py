"""Faults that show only where circumstances of a message meet."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import admission, messages, offsets
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Batch, Frame
from wireproof_reference_impl.iggy.faulty.apache.polls import starting
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    effect,
    instead,
    remade,
    stored_frames,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.bodies.messages import (
    CONSUMER_OFFSET,
    ConsumerOffset,
    PollMessages,
    SendMetadata,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.bodies.results import Confirmations
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named
from wireproof_spec.iggy.kinds import (
    AUTO_COMMIT,
    BALANCED,
    FIRST,
    LAST,
    MESSAGES_KEY,
    NEXT,
    TIMESTAMP,
)

_LONG = 100
_SHORT = 20
_SENT: list[SendMetadata] = []
"""The metadata of the send that is served."""
_POLLED: list[PollMessages] = []
"""The poll that is served."""


def _note_send(original: Original, node: Node, metadata: SendMetadata) -> object:
    _SENT[:] = [metadata]
    return original(node, metadata)


def _note_poll(original: Original, node: Node, request: PollMessages) -> object:
    _POLLED[:] = [request]
    return original(node, request)


def checking(name: str, is_skipped: Callable[[SendMetadata], bool]) -> Effect:
    """Return the effect that a check of admission is left out for some sends."""

    def check(original: Original, *args: object) -> None:
        if not is_skipped(_SENT[-1]):
            original(*args)

    return effect(around(messages, "target", _note_send), around(admission, name, check))


def storing(change: Callable[[SendMetadata, Batch], Batch]) -> Effect:
    """Return an effect that changes a batch before it is stored; it also gets the metadata."""

    def admit(original: Original, data: bytes, count: int) -> Batch:
        return change(_SENT[-1], original(data, count))

    return effect(around(messages, "target", _note_send), around(admission, "admit", admit))


def polling(change: Callable[[PollMessages, Frame], Frame]) -> Effect:
    """Return an effect that changes each message of a poll; it also gets the poll."""

    def write(original: Original, batch: Batch) -> object:
        frames = tuple(change(_POLLED[-1], frame) for frame in batch.frames)
        return original(replace(batch, frames=frames))

    return effect(around(messages, "poll", _note_poll), around(messages, "write_record", write))


def _has_key(metadata: SendMetadata) -> bool:
    return metadata.partitioning.kind == MESSAGES_KEY


def _is_balanced(metadata: SendMetadata) -> bool:
    return metadata.partitioning.kind == BALANCED


def _is_by_name(metadata: SendMetadata) -> bool:
    return metadata.topic.name is not None


def _is_named(consumer: Consumer) -> bool:
    return isinstance(consumer.id, Identifier) and consumer.id.name is not None


@condition("send.frame-checksum")
def frame_checksum_unchecked_with_key() -> Effect:
    """The checksum of a frame is not checked where a key chooses the partition."""
    return checking("check_frame_checksum", _has_key)


@condition("send.batch-checksum")
def batch_checksum_unchecked_if_balanced() -> Effect:
    """The checksum of a batch is not checked where the server chooses the partition."""
    return checking("check_batch_checksum", _is_balanced)


@condition("send.reserved")
def reserved_unchecked_by_name() -> Effect:
    """The reserved bytes of a batch are not checked where the topic is named by its name."""
    return checking("check_reserved", _is_by_name)


@condition("send.reserved-frame", instead(admission, "check_frame_reserved"))
def reserved_of_empty_frame_unchecked(original: Original, frame: Frame) -> None:
    """The reserved bytes of a frame without payload are not checked."""
    if frame.payload_length:
        original(frame)


@condition("message.headers", stored_frames)
def wide_values_turned_behind_first(frame: Frame) -> Frame:
    """User headers of more than 100 bytes are turned round, but for the first of a batch."""
    is_one = frame.delta and len(frame.user_headers) > _LONG
    return remade(frame, user_headers=frame.user_headers[::-1]) if is_one else frame


@condition("message.headers")
def headers_lost_for_named_consumer() -> Effect:
    """A consumer with a name polls no user headers."""
    return polling(
        lambda poll, frame: remade(frame, user_headers=b"") if _is_named(poll.consumer) else frame
    )


@condition("message.payload")
def payload_cut_for_next_with_commit() -> Effect:
    """A poll for the next messages that commits lacks the last byte of payloads."""

    def cut(poll: PollMessages, frame: Frame) -> Frame:
        is_one = poll.strategy == NEXT and poll.auto_commit == AUTO_COMMIT
        return remade(frame, payload=frame.payload[:-1]) if is_one else frame

    return polling(cut)


def _without_high_bit(frame: Frame) -> Frame:
    return remade(frame, number=frame.id & ~(1 << 127))


@condition("message.id")
def high_bit_of_id_lost_with_key() -> Effect:
    """The highest bit of an id is lost where a key chooses the partition."""
    return storing(
        lambda metadata, batch: (
            replace(batch, frames=tuple(map(_without_high_bit, batch.frames)))
            if _has_key(metadata)
            else batch
        )
    )


@condition("message.origin", stored_frames)
def delta_lost_from_third(frame: Frame) -> Frame:
    """The time of the third message of a batch, and of later ones, is that of the batch."""
    return remade(frame, timestamp_delta=0) if frame.delta > 1 else frame


@condition("message.append-time", instead(messages, "confirm"))
def past_time_kept_as_append_time(
    original: Original,
    partition: Partition,
    node: Node,
    metadata: SendMetadata,
    batch: Batch,
    now_us: int,
) -> object:
    """A batch with a key is stamped with the producer's time."""
    found = original(partition, node, metadata, batch, now_us)
    if _has_key(metadata):
        stamped = partition.batches[-1]
        partition.batches[-1] = replace(stamped, base_timestamp=batch.origin_timestamp)
    return found


@condition("poll.commit", instead(messages, "commit"))
def named_consumer_not_committed(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    """A poll of a consumer with a name does not commit."""
    if not _is_named(consumer):
        original(partition, consumer, offset)


@condition("poll.next", starting(NEXT))
def next_with_commit_begins_late(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll for the next messages that commits passes one message behind a stored offset."""
    is_one = right and request.auto_commit and right + 1 < partition.next_offset
    return right + 1 if right and is_one else right


@condition("poll.next", instead(messages, "poll"))
def next_of_named_finds_nothing(original: Original, node: Node, request: PollMessages) -> object:
    """A consumer with a name finds nothing next once it has stored an offset."""
    found: messages.Polled = original(node, request)
    start = found.batches[0].offset(found.batches[0].frames[0]) if found.batches else 0
    is_one = request.strategy == NEXT and start and _is_named(request.consumer)
    return replace(found, batches=[]) if is_one else found


@condition("poll.first", instead(messages, "poll"))
def second_batch_passed_by_first(original: Original, node: Node, request: PollMessages) -> object:
    """A poll with strategy first that commits leaves out the second batch that it finds."""
    found: messages.Polled = original(node, request)
    is_one = request.strategy == FIRST and request.auto_commit
    return replace(found, batches=found.batches[:1] + found.batches[2:]) if is_one else found


@condition("poll.timestamp", starting(TIMESTAMP))
def timestamp_with_commit_begins_late(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by timestamp that commits passes the batch of the time itself."""
    later = (each for each in partition.batches if each.base_timestamp > request.value)
    batch = next(later, None)
    return batch.base_offset if batch and request.auto_commit else right


@condition("poll.last", starting(LAST))
def last_with_commit_ends_early(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll with strategy last that commits ends in front of the newest message."""
    return max(0, right - 1) if right and request.auto_commit else right


@condition("send.partition", instead(messages, "target"))
def named_topic_to_first_partition(
    original: Original, node: Node, metadata: SendMetadata
) -> object:
    """Messages to a topic that is named by its name are stored in its first partition."""
    found: Partition = original(node, metadata)
    if not _is_by_name(metadata):
        return found
    return node.topic(metadata.stream, metadata.topic).partitions[0]


@condition("offset.store-get", instead(offsets, "read_store"))
def offset_of_named_consumer_zero(original: Original, body: bytes) -> object:
    """The offset that a consumer with a name stores is 0, whatever it stores."""
    found: StoreConsumerOffset = original(body)
    return replace(found, offset=0) if _is_named(found.consumer) else found


@wrong_value("offset.store-get", instead(offsets, "write"))
def told_partition_zero(original: Original, partition: Partition, stored: int) -> object:
    """The partition in the reply for a stored offset is 0."""
    return encode(CONSUMER_OFFSET, ConsumerOffset(0, partition.newest, stored))


@boundary("poll.timestamp", starting(TIMESTAMP))
def timestamp_one_early(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by timestamp begins with a batch that is one microsecond earlier."""
    later = (batch for batch in partition.batches if batch.base_timestamp >= request.value - 1)
    return next((each.base_offset for each in later), None)


@condition("send.order", instead(messages, "confirm"))
def balanced_batch_stored_twice(
    original: Original,
    partition: Partition,
    node: Node,
    metadata: SendMetadata,
    batch: Batch,
    now_us: int,
) -> object:
    """A batch of a balanced request is stored twice."""
    found = original(partition, node, metadata, batch, now_us)
    if _is_balanced(metadata):
        partition.append(batch, now_us)
    return found


@condition("send.confirm", instead(messages, "confirm"))
def offset_confirmed_one_more_in_other_partitions(
    original: Original, partition: Partition, *given: object
) -> object:
    """In other partitions than the first, the confirmed offset is one too high."""
    found: Confirmations = original(partition, *given)
    more = bool(partition.id)
    return Confirmations(
        tuple(
            replace(confirmation, base_offset=confirmation.base_offset + more)
            for confirmation in found.confirmations
        )
    )


@condition("offset.partitions")
def long_names_share_offset() -> Effect:
    """Consumers whose names have the same first 20 bytes have one offset."""

    def number(original: Original, who: Identifier | int) -> object:
        if isinstance(who, int) or who.number is not None:
            return original(who)
        return original(make_named(who.value[:_SHORT].decode()))

    return effect(
        around(messages, "consumer_number", number), around(offsets, "consumer_number", number)
    )


FAULTS = list_faults(__name__)
