"""Faults of messages: what is stored or delivered otherwise than it was sent."""

from collections.abc import Mapping
from time import time_ns

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import messages, records
from wireproof_reference_impl.iggy.apache.messages import Polled
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition, split_records
from wireproof_reference_impl.iggy.apache.records import (
    FRAME_SIZE,
    HEADER_SIZE,
    Batch,
    Frame,
)
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    extra,
    flipped,
    instead,
    late,
    missing,
    patched,
    polled,
    polled_frames,
    record_bytes,
    remade,
    stored,
    stored_frames,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original
from wireproof_spec.iggy.apache.bodies.messages import PollMessages
from wireproof_spec.iggy.kinds import LAST

_LARGE = 60_000
_HALF = 1 << 64
_LATE_US = 3_000_000
_SECOND_US = 1_000_000
_COUNT_AT, _LENGTH_AT, _SUM_AT, _RESERVED_AT = 48, 32, 40, 52
_FRAME_RESERVED_AT = HEADER_SIZE + 40


@missing("message.payload", stored_frames)
def payload_last_byte_lost(frame: Frame) -> Frame:
    """The last byte of a payload is lost when it is stored."""
    return remade(frame, payload=frame.payload[:-1])


@wrong_value("message.payload", stored_frames)
def payload_in_lower_case(frame: Frame) -> Frame:
    """A payload is stored in lower case."""
    return remade(frame, payload=frame.payload.lower())


@condition("message.payload", stored_frames)
def large_payload_cut(frame: Frame) -> Frame:
    """A payload of more than 60,000 bytes is cut to that length when it is stored."""
    return remade(frame, payload=frame.payload[:_LARGE])


@condition("message.payload", stored)
def later_payload_replaced(batch: Batch) -> Batch:
    """Messages of a batch are stored with the payload of its first message, from the third on."""
    first = batch.frames[0]
    frames = tuple(
        remade(frame, payload=first.payload) if frame.delta >= 2 else frame
        for frame in batch.frames
    )
    return replace(batch, frames=frames)


@wrong_value("message.payload-first", record_bytes)
def headers_before_payload(batch: Batch, data: bytes) -> bytes:
    """User headers of a polled message stand in front of its payload."""
    frames = [
        frame.data[:FRAME_SIZE] + frame.user_headers + frame.payload for frame in batch.frames
    ]
    return data[:HEADER_SIZE] + b"".join(frames)


@missing("message.layout", record_bytes)
def records_without_header(batch: Batch, data: bytes) -> bytes:
    """Polled messages stand in no batch: frames follow the head of the poll."""
    return data[HEADER_SIZE:]


@condition("message.layout", record_bytes)
def slices_without_header(batch: Batch, data: bytes) -> bytes:
    """The rest of a batch that a poll begins within has no batch header."""
    return data[HEADER_SIZE:] if batch.frames[0].delta else data


@missing("message.headers headers.kinds headers.bounds headers.unknown-kind", stored_frames)
def user_headers_lost(frame: Frame) -> Frame:
    """User headers are lost when a message is stored."""
    return remade(frame, user_headers=b"")


@condition("message.id", stored_frames)
def large_id_cut(frame: Frame) -> Frame:
    """An id of more than 64 bits is stored without its higher bits."""
    return remade(frame, number=frame.id % _HALF)


@missing("message.id", stored_frames)
def id_lost(frame: Frame) -> Frame:
    """The id of a message is stored as 0."""
    return remade(frame, number=0)


@wrong_value("message.id", stored_frames)
def id_backwards(frame: Frame) -> Frame:
    """The bytes of an id are stored in reversed order."""
    return remade(frame, number=int.from_bytes(frame.id.to_bytes(16, "little"), "big"))


@wrong_value("message.origin", stored)
def origin_of_server(batch: Batch) -> Batch:
    """The producer's time of a batch is replaced by the server's."""
    return replace(batch, origin_timestamp=batch.base_timestamp)


@missing("message.origin", stored_frames)
def timestamp_delta_lost(frame: Frame) -> Frame:
    """The producer's time of a message is that of its batch: deltas are stored as 0."""
    return remade(frame, timestamp_delta=0)


@boundary("message.origin", stored_frames)
def timestamp_delta_of_16_bits(frame: Frame) -> Frame:
    """Only the lower 16 bits of a timestamp delta are stored."""
    return remade(frame, timestamp_delta=frame.timestamp_delta % (1 << 16))


@missing("message.offset", polled_frames)
def offset_deltas_zero(frame: Frame) -> Frame:
    """The offset delta of each polled message is 0."""
    return remade(frame, delta=0)


@boundary("poll.slice", polled_frames)
def offset_deltas_from_one(frame: Frame) -> Frame:
    """The offset deltas of polled messages count from 1."""
    return remade(frame, delta=frame.delta + 1)


@condition("send.order", stored)
def base_offset_off_in_second_batch(batch: Batch) -> Batch:
    """The base offset of every batch but the first is one too high."""
    return replace(batch, base_offset=batch.base_offset + bool(batch.base_offset))


@missing("message.append-time", stored)
def append_time_missing(batch: Batch) -> Batch:
    """The server's time of a batch is 0."""
    return replace(batch, base_timestamp=0)


@wrong_value("message.append-time", stored)
def append_time_in_milliseconds(batch: Batch) -> Batch:
    """The server's time of a batch is in milliseconds."""
    return replace(batch, base_timestamp=batch.base_timestamp // 1000)


@condition("message.append-time", stored)
def append_time_falls(batch: Batch) -> Batch:
    """The server's time of a batch is earlier than that of the batch before."""
    earlier = batch.base_offset * _SECOND_US
    return replace(batch, base_timestamp=batch.base_timestamp - earlier)


@missing("message.partition", stored)
def batch_partition_zero(batch: Batch) -> Batch:
    """The partition in the header of a batch is 0."""
    return replace(batch, partition_id=0)


@boundary("message.partition", polled)
def batch_partition_from_one(batch: Batch) -> Batch:
    """The partition in the header of a polled batch counts from 1."""
    return replace(batch, partition_id=batch.partition_id + 1)


def _resummed(data: bytes) -> bytes:
    """Return the bytes of a batch with the right checksum of its header as it is."""
    frames = records.read_frames(data)
    right = records.sum_batch(records.read_head(data), frames)
    return patched(data, _SUM_AT, right.to_bytes(8, "little"))


@boundary("message.counts", record_bytes)
def message_count_of_batch_high(batch: Batch, data: bytes) -> bytes:
    """The message count of a polled batch is one too high."""
    return _resummed(patched(data, _COUNT_AT, (len(batch.frames) + 1).to_bytes(4, "little")))


@missing("message.counts", record_bytes)
def batch_length_of_frames(batch: Batch, data: bytes) -> bytes:
    """The length of a polled batch does not count its header."""
    return _resummed(patched(data, _LENGTH_AT, (len(data) - HEADER_SIZE).to_bytes(8, "little")))


@condition("message.counts message.batch-checksum", record_bytes)
def slice_counts_of_whole(batch: Batch, data: bytes) -> bytes:
    """The message count of the rest of a batch is that of the whole batch."""
    count = batch.frames[-1].delta + 1
    return patched(data, _COUNT_AT, count.to_bytes(4, "little"))


def _flip_sum(frame: Frame) -> Frame:
    return frame._replace(data=flipped(frame.data, 0))


@wrong_value("message.checksum", stored_frames)
def frame_checksum_wrong(frame: Frame) -> Frame:
    """The checksum of a message is stored with a flipped bit."""
    return _flip_sum(frame)


@missing("message.checksum", polled_frames)
def frame_checksum_zero(frame: Frame) -> Frame:
    """The checksum of a polled message is 0."""
    return frame._replace(data=bytes(8) + frame.data[8:])


@condition("message.checksum", polled_frames)
def frame_checksum_without_headers(frame: Frame) -> Frame:
    """The checksum of a polled message does not cover its user headers."""
    if not frame.user_headers:
        return frame
    bare = frame.data[: FRAME_SIZE + frame.payload_length]
    right = records.frame_checksum(bare).to_bytes(8, "little")
    return frame._replace(data=right + frame.data[8:])


@condition("message.checksum", polled)
def frame_checksum_wrong_in_slices(batch: Batch) -> Batch:
    """The checksums of messages are wrong where a poll begins within their batch."""
    if not batch.frames[0].delta:
        return batch
    return replace(batch, frames=tuple(map(_flip_sum, batch.frames)))


@condition("message.checksum", polled)
def frame_checksum_wrong_in_second_partition(batch: Batch) -> Batch:
    """The checksums of polled messages are wrong in every partition but the first."""
    if not batch.partition_id:
        return batch
    return replace(batch, frames=tuple(map(_flip_sum, batch.frames)))


@condition("message.checksum message.same", instead(messages, "poll"))
def frame_checksum_wrong_for_last(original: Original, node: Node, request: PollMessages) -> object:
    """The checksums of messages are wrong in a poll with strategy last."""
    found: Polled = original(node, request)
    if request.strategy != LAST:
        return found
    batches = [
        replace(batch, frames=tuple(map(_flip_sum, batch.frames))) for batch in found.batches
    ]
    return replace(found, batches=batches)


@missing("message.batch-checksum", record_bytes)
def batch_checksum_of_producer(batch: Batch, data: bytes) -> bytes:
    """The checksum of a polled batch is that which the producer made, without the stamps."""
    unstamped = records.make_head(replace(batch, partition_id=0, base_offset=0, base_timestamp=0))
    return patched(data, _SUM_AT, unstamped.checksum.to_bytes(8, "little"))


@condition("message.batch-checksum", record_bytes)
def batch_checksum_wrong_in_slices(batch: Batch, data: bytes) -> bytes:
    """The checksum of a batch is wrong where a poll begins within it."""
    return flipped(data, _SUM_AT) if batch.frames[0].delta else data


@boundary("message.batch-checksum", record_bytes)
def batch_checksum_wrong_behind_first(batch: Batch, data: bytes) -> bytes:
    """The checksum of every polled batch but the first is wrong."""
    return flipped(data, _SUM_AT) if batch.base_offset else data


@extra("message.reserved", record_bytes)
def batch_reserved_set(batch: Batch, data: bytes) -> bytes:
    """A reserved byte in the header of a polled batch is 1."""
    return patched(data, _RESERVED_AT, b"\1")


@extra("message.reserved", record_bytes)
def frame_reserved_set(batch: Batch, data: bytes) -> bytes:
    """A reserved byte in the header of a polled message is 1."""
    return patched(data, _FRAME_RESERVED_AT, b"\1")


_SEEN: dict[bytes, int] = {}
"""How often a frame was polled."""


@condition("message.same message.id", polled_frames)
def id_changes_when_polled_again(frame: Frame) -> Frame:
    """The id of a message is another one when it is polled again."""
    _SEEN[frame.data] = _SEEN.get(frame.data, 0) + 1
    return frame if _SEEN[frame.data] == 1 else remade(frame, number=frame.id ^ 1)


@late("message.same message.payload", polled)
def payload_changes_late(batch: Batch) -> Batch:
    """Once a message has been stored for 3 s, the last byte of its payload is lost."""
    if time_ns() // 1000 - batch.base_timestamp < _LATE_US:
        return batch
    frames = tuple(remade(frame, payload=frame.payload[:-1]) for frame in batch.frames)
    return replace(batch, frames=frames)


@missing("disk.layout", instead(Partition, "log_record"))
def log_without_batch_checksum(original: Original, partition: Partition, batch: Batch) -> bytes:
    """The checksum of a batch is 0 in the log."""
    return patched(original(partition, batch), _SUM_AT, bytes(8))


@wrong_value("disk.layout", instead(Partition, "log_record"))
def log_with_origin_of_server(original: Original, partition: Partition, batch: Batch) -> object:
    """The producer's time of a batch is the server's in the log."""
    return original(partition, replace(batch, origin_timestamp=batch.base_timestamp))


def _frames_on_disk(partition: Partition) -> Mapping[int, tuple[Frame, ...]]:
    """Return the frames of each stored batch as they are on disk, by its first offset."""
    log = b"".join(record for segment in partition.files.segments() for record in segment.records)
    found = ((records.read_head(record), record) for record in split_records(log))
    return {head.base_offset: records.read_frames(each) for head, each in found}


@missing("disk.damaged", instead(Partition, "select"))
def damage_ends_partition(
    original: Original, partition: Partition, start: int, count: int
) -> object:
    """A damaged record on disk makes every poll of its partition find nothing."""
    frames = [each for batch in _frames_on_disk(partition).values() for each in batch]
    is_sound = all(records.frame_checksum(frame.data) == frame.checksum for frame in frames)
    return original(partition, start, count) if is_sound else []


@wrong_value("disk.damaged", instead(Partition, "select"))
def damage_served_as_sound(
    original: Original, partition: Partition, start: int, count: int
) -> object:
    """What is polled of a damaged record is what is on disk, with a checksum made for it."""
    on_disk = _frames_on_disk(partition)
    found: list[Batch] = original(partition, start, count)
    wanted = {batch.base_offset: {frame.delta for frame in batch.frames} for batch in found}
    return [
        replace(batch, frames=tuple(remade(frame) for frame in frames if frame.delta in deltas))
        for batch in found
        for frames, deltas in [
            (on_disk.get(batch.base_offset, batch.frames), wanted[batch.base_offset])
        ]
    ]


FAULTS = list_faults(__name__)
