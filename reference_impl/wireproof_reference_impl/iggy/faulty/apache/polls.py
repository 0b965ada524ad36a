"""Faults of polls and of stored offsets, over TCP and HTTP."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import messages, offsets
from wireproof_reference_impl.iggy.apache.http import message_json
from wireproof_reference_impl.iggy.apache.messages import Polled
from wireproof_reference_impl.iggy.apache.partition import Partition, count_messages
from wireproof_reference_impl.iggy.apache.records import Batch, Frame
from wireproof_reference_impl.iggy.apache.refusals import Denied, not_found
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    effect,
    extra,
    instead,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Function, Original, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy.apache.bodies.messages import (
    NO_ACK,
    PollMessages,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.envelope import Envelope, PollHead
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP

Start = Callable[[int | None, Partition, PollMessages], int | None]


def starting(strategy: int) -> Callable[[Start], Effect]:
    """Return the seam at which a strategy begins; the function also gets the right start."""

    def seam(wrong: Start) -> Effect:
        def begin(original: Original, partition: Partition, request: PollMessages) -> object:
            right: int | None = original(partition, request)
            if request.strategy != strategy:
                return right
            return wrong(right, partition, request)

        return effect(around(messages, "start_of", begin))

    return seam


def change_head(change: Callable[[PollHead, Polled], PollHead]) -> Effect:
    """Return an effect that changes the head of each poll over TCP."""

    def make(original: Original, envelope: Envelope, found: Polled) -> PollHead:
        return change(original(envelope, found), found)

    return effect(around(messages, "make_head", make))


@wrong_value("poll.head", change_head)
def head_partition_from_one(head: PollHead, found: Polled) -> PollHead:
    """The partition in the head of a poll counts from 1."""
    return replace(head, partition_id=head.partition_id + 1)


@missing("poll.head poll.empty", instead(messages, "write_polled"))
def head_without_partition(original: Original, envelope: Envelope, found: Polled) -> bytes:
    """The reply to a poll begins with the newest offset: the partition is missing."""
    body: bytes = original(envelope, found)
    return body[4:]


@wrong_value("poll.current", change_head)
def current_offset_of_poll(head: PollHead, found: Polled) -> PollHead:
    """The newest offset in the head of a poll is that of the last message polled."""
    last = found.batches[-1] if found.batches else None
    return replace(head, current_offset=last.offset(last.frames[-1]) if last else 0)


@boundary("poll.current", change_head)
def current_offset_behind_newest(head: PollHead, found: Polled) -> PollHead:
    """The newest offset in the head of a poll is one too high."""
    return replace(head, current_offset=head.current_offset + 1)


@boundary("poll.count", instead(Partition, "select"))
def select_one_more(original: Original, partition: Partition, start: int, count: int) -> object:
    """A poll returns one message more than it asks for."""
    return original(partition, start, count + 1)


@wrong_value("poll.count", change_head)
def head_counts_batches(head: PollHead, found: Polled) -> PollHead:
    """The count in the head of a poll is that of its batches."""
    return replace(head, count=len(found.batches))


@condition("poll.count", change_head)
def head_count_low_from_three(head: PollHead, found: Polled) -> PollHead:
    """The count in the head of a poll of three messages and more is one too low."""
    return replace(head, count=head.count - (count_messages(found.batches) >= 3))


@missing("poll.slice", instead(Partition, "cut"))
def whole_batch_returned(
    original: Original, partition: Partition, batch: Batch, start: int, last: int
) -> object:
    """A poll that begins within a batch returns the whole batch."""
    part: Batch = original(partition, batch, start, last)
    return replace(batch, frames=tuple(frame for frame in batch.frames if _before(frame, part)))


def _before(frame: Frame, part: Batch) -> bool:
    return bool(part.frames) and frame.delta <= part.frames[-1].delta


@boundary("poll.slice", instead(Partition, "cut"))
def slice_begins_late(
    original: Original, partition: Partition, batch: Batch, start: int, last: int
) -> object:
    """A poll that begins within a batch begins one message too late."""
    later = start + (start > batch.base_offset and start < last)
    return original(partition, batch, later, last)


@boundary("poll.offset", starting(OFFSET))
def offset_off_by_one(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by offset begins one message too late, unless the offset is 0."""
    return request.value + bool(request.value)


@missing("poll.offset", starting(OFFSET))
def offset_not_read(right: int | None, partition: Partition, request: PollMessages) -> int | None:
    """A poll by offset begins with the first message."""
    return 0


@missing("poll.value-ignored", starting(FIRST))
def first_from_value(right: int | None, partition: Partition, request: PollMessages) -> int | None:
    """A poll with strategy first begins at the offset in its value."""
    return request.value


@boundary("poll.first", starting(FIRST))
def first_skips_one(right: int | None, partition: Partition, request: PollMessages) -> int | None:
    """A poll with strategy first begins with the second message."""
    return 1


@wrong_value("poll.last poll.last-count", starting(LAST))
def last_as_first(right: int | None, partition: Partition, request: PollMessages) -> int | None:
    """A poll with strategy last returns the first messages."""
    return 0


@boundary("poll.last poll.last-count", starting(LAST))
def last_before_newest(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll with strategy last ends one message before the newest."""
    return max(0, (right or 0) - 1)


@boundary("poll.next", starting(NEXT))
def next_repeats_stored(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll with strategy next begins with the message of the stored offset."""
    return max(0, (right or 0) - 1)


@missing("poll.next", starting(NEXT))
def next_as_first(right: int | None, partition: Partition, request: PollMessages) -> int | None:
    """A poll with strategy next begins with the first message."""
    return 0


@boundary("poll.timestamp", starting(TIMESTAMP))
def timestamp_excluded(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by timestamp begins behind the batch of exactly that time."""
    later = (batch for batch in partition.batches if batch.base_timestamp > request.value)
    return next((each.base_offset for each in later), None)


@missing("poll.timestamp", starting(TIMESTAMP))
def timestamp_not_read(
    right: int | None, partition: Partition, request: PollMessages
) -> int | None:
    """A poll by timestamp begins with the first message."""
    return 0


@missing("poll.commit", instead(messages, "commit"))
def auto_commit_ignored(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    """A poll with auto_commit 1 stores nothing."""


@wrong_value("poll.commit", instead(messages, "commit"))
def auto_commit_of_zero(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    """A poll with auto_commit 1 stores offset 0."""
    original(partition, consumer, 0)


@boundary("poll.commit", instead(messages, "commit"))
def auto_commit_of_next(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    """A poll with auto_commit 1 stores the offset before that of its last message."""
    original(partition, consumer, max(0, offset - 1))


@extra("poll.commit-none", instead(messages, "poll"))
def every_poll_commits(original: Original, node: object, request: PollMessages) -> object:
    """A poll with auto_commit 0 stores the offset of its last message."""
    return original(node, replace(request, auto_commit=1))


@missing("offset.store-get", instead(offsets, "write"))
def offset_reply_without_newest(original: Original, partition: Partition, stored: int) -> bytes:
    """The reply with a stored offset lacks the newest offset."""
    data: bytes = original(partition, stored)
    return data[:4] + data[12:]


@wrong_value("offset.store-get", instead(offsets, "write"))
def offsets_swapped(original: Original, partition: Partition, stored: int) -> bytes:
    """The stored and the newest offset are swapped in the reply."""
    data: bytes = original(partition, stored)
    return data[:4] + data[12:] + data[4:12]


@boundary("offset.store-get", instead(Partition, "store_offset"))
def stored_offset_off_by_one(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    """An offset other than 0 is stored one too low."""
    original(partition, kind, consumer, max(0, offset - 1))


def _unless(refused: Callable[[StoreConsumerOffset], bool]) -> Function:
    def read(original: Original, body: bytes) -> object:
        request: StoreConsumerOffset = original(body)
        if refused(request):
            raise not_found()
        return request

    return read


@missing("offset.ack-levels")
def no_ack_refused() -> Effect:
    """A request to store an offset with ack 0 is refused."""
    read = _unless(lambda request: request.ack == NO_ACK)
    return effect(around(offsets, "read_store", read))


@condition("offset.ack-levels", instead(offsets, "store"))
def no_ack_forgotten(original: Original, node: object, body: bytes) -> object:
    """An offset that is stored with ack 0 is forgotten."""
    return b"" if body[-1:] == bytes([NO_ACK]) else original(node, body)


def _with_ack(original: Original, body: bytes) -> object:
    try:
        return original(body)
    except Denied:
        return original(body + b"\1")


@missing("offset.ack", instead(offsets, "read_store"))
def missing_ack_taken(original: Original, body: bytes) -> object:
    """An offset is stored although the request lacks the byte ack."""
    return _with_ack(original, body)


@condition("offset.ack", instead(offsets, "read_delete"))
def missing_ack_of_deletion_taken(original: Original, body: bytes) -> object:
    """An offset is deleted although the request lacks the byte ack."""
    return _with_ack(original, body)


Object = Mapping[str, Any]


def _in_json(change: Callable[[Object, Batch, Frame], Object]) -> Effect:
    """Return an effect that changes each message of a poll over HTTP."""

    def make(original: Original, batch: Batch, frame: Frame) -> Object:
        return change(original(batch, frame), batch, frame)

    return effect(around(message_json, "message_object", make))


def _in_header(change: Callable[[Object], Object]) -> Effect:
    """Return an effect that changes the header of each message of a poll over HTTP."""
    return _in_json(lambda found, batch, frame: {**found, "header": change(found["header"])})


@wrong_value("json.same", _in_header)
def json_checksum_flipped(header: Object) -> Object:
    """The checksum of a message over HTTP is not the one over TCP."""
    return {**header, "checksum": header["checksum"] ^ 1}


@condition("json.same json.id", _in_header)
def json_id_cut(header: Object) -> Object:
    """An id over HTTP lacks its higher 64 bits."""
    return {**header, "id": header["id"] % (1 << 64)}


@wrong_value("json.id", _in_header)
def apache_json_id_as_text(header: Object) -> Object:
    """The id of a message over HTTP is a text."""
    return {**header, "id": str(header["id"])}


@missing("json.shape", _in_json)
def json_without_header(found: Object, batch: Batch, frame: Frame) -> Object:
    """The fields of a message over HTTP stand beside its payload, not in a header."""
    return {**found["header"], "payload": found["payload"]}


@wrong_value("json.base64", _in_json)
def json_payload_without_padding(found: Object, batch: Batch, frame: Frame) -> Object:
    """The base64 text of a payload over HTTP has no padding."""
    return {**found, "payload": str(found["payload"]).rstrip("=")}


@wrong_value("json.headers", _in_json)
def json_headers_null(found: Object, batch: Batch, frame: Frame) -> Object:
    """User headers over HTTP are null where a message has none."""
    return {**found, "user_headers": found["user_headers"] or None}


FAULTS = list_faults(__name__)
