"""Faults of admission: what is stored that must not be, what is refused, and where it goes."""

import zlib

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import admission, messages, records
from wireproof_reference_impl.iggy.apache.node import Node, partition_of
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Batch, Frame, Head
from wireproof_reference_impl.iggy.apache.refusals import Unsound, not_found
from wireproof_reference_impl.iggy.apache.topics import Topic
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    instead,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original
from wireproof_spec.iggy.apache.bodies.messages import SendMetadata
from wireproof_spec.iggy.apache.bodies.results import Confirmations
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.kinds import MESSAGES_KEY, PARTITION_ID

Frames = tuple[Frame, ...]

_LARGE = 60_000


def _first_only(original: Original, frame: Frame) -> None:
    if frame.delta == 0:
        original(frame)


@missing("send.frame-checksum", instead(admission, "check_frame_checksum"))
def frame_checksum_unchecked(original: Original, frame: Frame) -> None:
    """A batch is stored although the checksum of a frame is wrong."""


@condition("send.frame-checksum", instead(admission, "check_frame_checksum"))
def first_frame_checked_only(original: Original, frame: Frame) -> None:
    """Only the checksum of the first frame of a batch is checked."""
    _first_only(original, frame)


@boundary("send.frame-checksum", instead(admission, "check_frame_checksum"))
def frame_checksum_zero_taken(original: Original, frame: Frame) -> None:
    """A frame whose checksum is 0 is stored."""
    if frame.checksum:
        original(frame)


@condition("send.frame-checksum", instead(admission, "check_frame_checksum"))
def frame_with_headers_unchecked(original: Original, frame: Frame) -> None:
    """The checksum of a frame with user headers is not checked."""
    if not frame.user_headers:
        original(frame)


@missing("send.batch-checksum", instead(admission, "check_batch_checksum"))
def batch_checksum_unchecked(original: Original, head: Head, frames: Frames) -> None:
    """A batch is stored although its own checksum is wrong."""


@boundary("send.batch-checksum", instead(admission, "check_batch_checksum"))
def batch_checksum_zero_taken(original: Original, head: Head, frames: Frames) -> None:
    """A batch whose own checksum is 0 is stored."""
    if head.checksum:
        original(head, frames)


@condition("send.batch-checksum", instead(admission, "check_batch_checksum"))
def large_batch_unchecked(original: Original, head: Head, frames: Frames) -> None:
    """The checksum of a batch of several messages is not checked."""
    if len(frames) == 1:
        original(head, frames)


@missing("send.reserved", instead(admission, "check_reserved"))
def reserved_bytes_unchecked(original: Original, head: Head) -> None:
    """A batch is stored although a reserved byte of its header is not zero."""


@boundary("send.reserved", instead(admission, "check_reserved"))
def last_reserved_byte_unchecked(original: Original, head: Head) -> None:
    """A batch is stored although the last reserved byte of its header is not zero."""
    original(head._replace(reserved=head.reserved[:-1]))


@missing("send.reserved-frame", instead(admission, "check_frame_reserved"))
def frame_reserved_unchecked(original: Original, frame: Frame) -> None:
    """A batch is stored although the reserved bytes of a frame are not zero."""


@condition("send.reserved-frame", instead(admission, "check_frame_reserved"))
def first_frame_reserved_only(original: Original, frame: Frame) -> None:
    """Only the reserved bytes of the first frame of a batch are checked."""
    _first_only(original, frame)


@missing("send.tiling", instead(admission, "check_count"))
def counts_unchecked(original: Original, head: Head, frames: Frames, count: int) -> None:
    """A batch is stored although its counts do not fit its frames."""


def _whole_frames(data: bytes) -> bytes:
    """Return a batch up to the last frame that is whole, with checksums as they were."""
    for end in range(len(data), records.HEADER_SIZE, -1):
        try:
            records.read_frames(data[:end])
        except Unsound:
            continue
        return data[:end]
    return data[: records.HEADER_SIZE]


@missing("send.cut", instead(admission, "admit"))
def cut_batch_stored_in_part(original: Original, data: bytes, count: int) -> object:
    """The whole frames of a batch that is cut short are stored."""
    try:
        return original(data, count)
    except Unsound:
        whole = _whole_frames(data)
        frames = records.read_frames(whole)
        if len(whole) == len(data) or not frames:
            raise
        return Batch(0, 0, 0, records.read_head(data).origin_timestamp, frames)


@boundary("send.cut", instead(admission, "admit"))
def batch_cut_by_one_byte_filled(original: Original, data: bytes, count: int) -> object:
    """A batch that lacks its last byte is stored with a zero in its place."""
    if len(data) + 1 != records.read_head(data).length:
        return original(data, count)
    frames = records.read_frames(data + b"\0")
    return Batch(0, 0, 0, records.read_head(data).origin_timestamp, frames)


@condition("send.all-or-nothing", instead(admission, "admit"))
def sound_frames_stored(original: Original, data: bytes, count: int) -> object:
    """Of a batch with a wrong frame the frames before it are stored."""
    try:
        return original(data, count)
    except Unsound:
        frames = records.read_frames(data)
        wrong = [frame for frame in frames if frame.checksum != records.frame_checksum(frame.data)]
        sound = frames[: frames.index(wrong[0])] if wrong else ()
        if not sound:
            raise
        return Batch(0, 0, 0, records.read_head(data).origin_timestamp, sound)


@boundary("send.accept", instead(admission, "check_count"))
def batch_of_two_refused(original: Original, head: Head, frames: Frames, count: int) -> None:
    """A batch of exactly two messages is refused."""
    original(head, frames, count)
    if len(frames) == 2:
        raise Unsound("two messages")


@condition("send.accept", instead(admission, "check_frame_reserved"))
def large_payload_refused(original: Original, frame: Frame) -> None:
    """A batch with a payload of 60,000 bytes or more is refused."""
    original(frame)
    if frame.payload_length >= _LARGE:
        raise Unsound("a large payload")


@condition("send.metadata-length", instead(messages, "target"))
def named_target_refused(original: Original, node: Node, metadata: SendMetadata) -> object:
    """A send is refused if it names the stream by its name."""
    if metadata.stream.name is not None:
        raise not_found()
    return original(node, metadata)


@boundary("send.metadata-length", instead(messages, "target"))
def short_partitioning_refused(original: Original, node: Node, metadata: SendMetadata) -> object:
    """A send is refused if the value of its partitioning has not four bytes."""
    if len(metadata.partitioning.value) != 4:
        raise not_found()
    return original(node, metadata)


@wrong_value("send.partition", instead(Topic, "choose"))
def send_to_first_partition(original: Original, topic: Topic, how: Partitioning) -> object:
    """Messages are stored in the first partition, whatever partition the request names."""
    return 0 if how.kind == PARTITION_ID else original(topic, how)


@boundary("send.partition", instead(Topic, "choose"))
def send_to_partition_before(original: Original, topic: Topic, how: Partitioning) -> object:
    """Messages are stored in the partition before the one that the request names."""
    number: int = original(topic, how)
    return max(0, number - 1) if how.kind == PARTITION_ID else number


@missing("send.key", instead(Topic, "choose"))
def key_as_balanced(original: Original, topic: Topic, how: Partitioning) -> object:
    """Requests with the same key go to the partitions in turns."""
    if how.kind != MESSAGES_KEY:
        return original(topic, how)
    topic.turn += 1
    return topic.turn % len(topic.partitions)


@condition("send.key", instead(messages, "target"))
def key_with_count_of_messages(original: Original, node: Node, metadata: SendMetadata) -> object:
    """The partition for a key depends on how many messages it has had."""
    found: Partition = original(node, metadata)
    how = metadata.partitioning
    if how.kind != MESSAGES_KEY:
        return found
    topic = node.topic(metadata.stream, metadata.topic)
    sent = sum(partition.next_offset for partition in topic.partitions)
    return partition_of(topic, (zlib.crc32(how.value) + sent) % len(topic.partitions))


@wrong_value("send.key-hash", instead(Topic, "choose"))
def key_by_crc32(original: Original, topic: Topic, how: Partitioning) -> object:
    """The partition for a key is its CRC-32 modulo the number of partitions."""
    if how.kind != MESSAGES_KEY:
        return original(topic, how)
    return zlib.crc32(how.value) % len(topic.partitions)


@missing("send.balanced", instead(Topic, "choose"))
def balanced_always_to_first(original: Original, topic: Topic, how: Partitioning) -> object:
    """Requests with balanced partitioning all go to the first partition."""
    number = original(topic, how)
    return number if how.value else 0


@wrong_value("send.confirm", instead(messages, "confirm"))
def confirmed_offset_off_by_one(original: Original, *args: object) -> object:
    """The confirmation of a send has the offset behind that of the first message."""
    found: Confirmations = original(*args)
    each = found.confirmations[0]
    return Confirmations((replace(each, base_offset=each.base_offset + 1),))


FAULTS = list_faults(__name__)
