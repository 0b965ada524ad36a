"""Faults that are wrong in one corner alone, beside those that are wrong everywhere."""

from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import admission, login, replies, requests
from wireproof_reference_impl.iggy.apache.messages import Polled
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import (
    FRAME_SIZE,
    HEADER_SIZE,
    Batch,
    Head,
)
from wireproof_reference_impl.iggy.apache.refusals import Denied, Evicted
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_reference_impl.iggy.apache.topics import Topic
from wireproof_reference_impl.iggy.faulty.apache.polls import change_head, starting
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    evicting,
    instead,
    missing,
    patched,
    polled,
    record_bytes,
    remade,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original
from wireproof_spec.iggy.apache import evictions
from wireproof_spec.iggy.apache.bodies.messages import PollMessages
from wireproof_spec.iggy.apache.envelope import Envelope, PollHead, unpack_version
from wireproof_spec.iggy.apache.header import EvictionHeader
from wireproof_spec.iggy.apache.operations import CREATE_STREAM, GET_TOPIC
from wireproof_spec.iggy.apache.statuses import INVALID_FORMAT
from wireproof_spec.iggy.bodies.identifier import STRING
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.kinds import FIRST, LAST, OFFSET, PARTITION_ID, TIMESTAMP

_GAP = 1000
_NAMED = bytes([STRING])
_HIGH_PATCH = 1000
_LONG = 100
_RESERVED_AT = 52


@condition("evict.shape", instead(replies, "write_eviction"))
def version_eviction_with_body(original: Original, header: EvictionHeader) -> bytes:
    """An eviction for an incompatible version has a body of one byte."""
    if header.reason != evictions.INCOMPATIBLE_PROTOCOL:
        return cast(bytes, original(header))
    return cast(bytes, original(replace(header, size=HEADER_SIZE + 1))) + b"!"


@wrong_value("evict.client", evicting)
def eviction_of_next_client(header: EvictionHeader) -> EvictionHeader:
    """The client id of an eviction is one too high."""
    return replace(header, client=header.client + 1)


@condition("evict.client", evicting)
def wrong_password_without_client(header: EvictionHeader) -> EvictionHeader:
    """The client id of an eviction for wrong credentials is 0."""
    is_one = header.reason == evictions.INVALID_CREDENTIALS
    return replace(header, client=0 if is_one else header.client)


@condition("login.window-zero", evicting)
def window_for_wrong_password(header: EvictionHeader) -> EvictionHeader:
    """An eviction for wrong credentials has a highest version."""
    is_one = header.reason == evictions.INVALID_CREDENTIALS
    return replace(header, server_protocol_version=1) if is_one else header


@condition("login.gate-patch", instead(login, "check_version"))
def high_patch_refused(original: Original, envelope: Envelope, version: int) -> None:
    """A login with a patch number above 1000 is refused."""
    is_high = unpack_version(version)[2] > _HIGH_PATCH
    original(envelope, 0 if is_high else version)


@boundary("login.context", instead(login, "read_login"))
def long_context_refused(original: Original, envelope: Envelope, body: bytes) -> object:
    """A login with a context of more than 100 bytes is refused."""
    found = original(envelope, body)
    if len(found.context) > _LONG:
        raise Evicted(evictions.MALFORMED_LOGIN)
    return found


@condition("message.payload-first", record_bytes)
def headers_first_in_slices(batch: Batch, data: bytes) -> bytes:
    """User headers stand in front of the payload where a poll begins within a batch."""
    if not batch.frames[0].delta:
        return data
    frames = [
        frame.data[:FRAME_SIZE] + frame.user_headers + frame.payload for frame in batch.frames
    ]
    return data[:HEADER_SIZE] + b"".join(frames)


@condition("message.reserved", record_bytes)
def reserved_set_in_slices(batch: Batch, data: bytes) -> bytes:
    """A reserved byte of a batch is 1 where a poll begins within it."""
    return patched(data, _RESERVED_AT, b"\1") if batch.frames[0].delta else data


@condition("message.partition", polled)
def partition_lost_in_slices(batch: Batch) -> Batch:
    """The partition of a batch is 0 where a poll begins within it."""
    return replace(batch, partition_id=0) if batch.frames[0].delta else batch


@condition("poll.head", change_head)
def head_partition_zero(head: PollHead, found: Polled) -> PollHead:
    """The partition in the head of a poll is always 0."""
    return replace(head, partition_id=0)


@condition("poll.current", change_head)
def current_zero_without_messages(head: PollHead, found: Polled) -> PollHead:
    """The newest offset is 0 in a poll that finds no message."""
    return head if found.batches else replace(head, current_offset=0)


def _batch_start(partition: Partition, offset: int) -> int:
    starts = [batch.base_offset for batch in partition.batches if batch.base_offset <= offset]
    return starts[-1] if starts and offset < partition.next_offset else offset


@condition("poll.offset poll.slice", starting(OFFSET))
def offset_rounded_to_batch(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by offset begins with the first message of the batch that has the offset."""
    return _batch_start(partition, request.value)


@condition("poll.first", starting(FIRST))
def first_of_one_is_last(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll of one message with strategy first returns the last one."""
    return partition.newest if request.count == 1 else right


@condition("poll.last", starting(LAST))
def last_of_more_finds_nothing(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll with strategy last for more messages than there are finds nothing."""
    return None if request.count > partition.next_offset else right


@wrong_value("poll.timestamp", starting(TIMESTAMP))
def timestamp_of_producer(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by timestamp compares the producer's times."""
    later = (batch for batch in partition.batches if batch.origin_timestamp >= request.value)
    return next((each.base_offset for each in later), None)


@condition("send.partition", instead(Topic, "choose"))
def last_partition_skipped(original: Original, topic: Topic, how: Partitioning) -> int:
    """Messages for the last of several partitions are stored in the first one."""
    number: int = original(topic, how)
    is_last = how.kind == PARTITION_ID and number == len(topic.partitions) - 1
    return 0 if is_last else number


@condition("send.reserved", instead(admission, "check_reserved"))
def reserved_of_single_unchecked(original: Original, head: Head) -> None:
    """The reserved bytes of a batch of one message are not checked."""
    if head.messages > 1:
        original(head)


@condition("message.same", polled)
def slices_rebased(batch: Batch) -> Batch:
    """The rest of a batch in which a poll begins has a base offset and deltas of its own."""
    first = batch.frames[0].delta if batch.frames else 0
    if not first:
        return batch
    frames = tuple(remade(frame, delta=frame.delta - first) for frame in batch.frames)
    return replace(batch, base_offset=batch.base_offset + first, frames=frames)


@condition("request.gaps", instead(requests, "change"))
def gap_of_a_thousand_denied(original: Original, node: Node, call: Call) -> object:
    """A metadata operation is denied if its number is a thousand or more above the last one."""
    last = node.registered[call.client].request
    if last and call.request.header.request >= last + _GAP:
        return replies.of_denied(node, call, INVALID_FORMAT)
    return original(node, call)


@missing("request.unstamped", instead(requests, "check_stamp"))
def stream_without_stamp_denied(original: Original, call: Call) -> None:
    """A request that creates a stream is denied if it has no request checksum."""
    header = call.request.header
    if header.operation == CREATE_STREAM and not header.request_checksum:
        raise Denied(INVALID_FORMAT)
    original(call)


@condition("reply.reads-bare", instead(requests, "read"))
def named_topic_with_result_section(original: Original, node: Node, call: Call) -> bytes:
    """The reply to a request for a topic by name has a result section."""
    body: bytes = original(node, call)
    is_one = call.request.header.code == GET_TOPIC and call.request.body[:1] == _NAMED
    return bytes(4) + body if is_one else body


FAULTS = list_faults(__name__)
