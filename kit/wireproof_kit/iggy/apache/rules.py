"""The rules of content of generation apache: pure functions of what a server sent.

Each yields what it shows of a clause, and allows what the cases of the clause allow.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from wireproof_kit.iggy.apache.observe import differ
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.ledger.times import FIRST_S, LAST_S
from wireproof_kit.observation import Difference
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.batch import (
    BATCH_HEADER_SIZE,
    Batch,
    MessageFrame,
    batch_checksum,
    frame_checksum,
    frame_size,
)
from wireproof_spec.iggy.apache.bodies.messages import PollMessages
from wireproof_spec.iggy.apache.bodies.results import RESULT
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.evictions import (
    INCOMPATIBLE_PROTOCOL,
    INVALID_REQUEST_BODY,
    LOGIN_REASONS,
    NO_SESSION,
)
from wireproof_spec.iggy.apache.frames import Eviction, Reply
from wireproof_spec.iggy.apache.header import REPLY_RESERVED_AT, ReplyHeader, RequestHeader
from wireproof_spec.iggy.apache.operations import REGISTER, RESULT_FRAMED, WITHOUT_PAYLOAD
from wireproof_spec.iggy.apache.polled import Polled
from wireproof_spec.iggy.apache.statuses import OK
from wireproof_spec.iggy.kinds import CONSUMER_KIND
from wireproof_spec.wire_error import WireError

LAW: Final = "iggy.apache."
_US: Final = 10**6
_RESULT_FRAMED: Final = RESULT_FRAMED - {REGISTER}
"""Whether the reply to a login has a result section is a reading."""
RIGHT_TIMES: Final = range(FIRST_S * _US, LAST_S * _US)
"""Microseconds since 1970 that a clock may show."""


@dataclass(frozen=True, slots=True)
class Content:
    """A message that was sent, with its producer's time and the partition that it names."""

    frame: MessageFrame
    origin_us: int | None
    """None if it was sent over HTTP: the server makes a frame of it."""
    partition: int | None
    together: int
    flaw: str = ""
    """The clause by which its batch must not be stored."""
    key: bytes = b""
    """The key that chooses its partition, if one does."""


def judge_reply(request: RequestHeader, reply: Reply, envelope: Envelope) -> Iterator[Finding]:
    """Judge the header of a reply, and whether a refusal has a body."""
    header = reply.header
    yield hold("frame.zero", not has_set_bytes(header, envelope), "zero:not")
    is_echoed = header.request_checksum == request.request_checksum
    yield hold("frame.echo", is_echoed, "echo:other-checksum")
    if header.status != OK:
        yield hold("reply.denied-empty", not reply.body, "body")
    elif request.operation in _RESULT_FRAMED:
        yield from judge_result(reply, request.operation)


def judge_result(reply: Reply, operation: int) -> Iterator[Finding]:
    """Judge the result section in front of the body of a reply, and whether a payload follows."""
    try:
        result = decode(RESULT, reply.body)
    except WireError as error:
        yield Finding(f"{LAW}reply.result", "no-result", str(error))
        return
    yield Finding(f"{LAW}reply.result")
    if result.rejections:
        entries = [(rejection.index, bool(rejection.result)) for rejection in result.rejections]
        is_one = entries == [(0, True)] and not result.payload
        yield hold("reply.result-rejected", is_one, "result:other", f"{entries}")
    elif operation in WITHOUT_PAYLOAD:
        yield hold("reply.no-payload", not result.payload, "result:more")


def has_set_bytes(header: ReplyHeader, envelope: Envelope) -> bool:
    """Return True if a byte of a reply that is reserved in its protocol number is not zero."""
    reserved = bytearray(header.reserved)
    for meaning in envelope.reply_meanings:
        at = meaning.offset - REPLY_RESERVED_AT
        reserved[at : at + meaning.size] = bytes(meaning.size)
    return any(
        (
            header.checksum,
            header.checksum_body,
            header.release,
            *header.reserved_front,
            *header.padding,
            *reserved,
        )
    )


def judge_addressee(
    numbers: Container[int], clients: Container[int], answer: Reply | Eviction
) -> Iterator[Finding]:
    """Judge whether a reply has the number of a request, or an eviction the id of a client.

    Logins are not recorded byte for byte, so what answers them is left out, as are answers to
    frames that cannot be read: whose client id is meant there is unsaid. An eviction of one who
    has no session has the number of the connection at commit cc269ef.
    """
    header = answer.header
    if isinstance(header, ReplyHeader):
        if header.request and header.operation != REGISTER:
            is_known = header.request in numbers
            yield hold("frame.echo", is_known, "echo:other-request", f"{header.request}")
    elif header.reason not in (*LOGIN_REASONS, NO_SESSION, INVALID_REQUEST_BODY):
        yield hold("evict.client", header.client in clients, "client:other", f"{header.client}")


def judge_eviction(eviction: Eviction) -> Iterator[Finding]:
    """Judge the shape of an eviction."""
    header = eviction.header
    yield hold("evict.shape", not eviction.body, "eviction:body")
    is_given = bool(header.reason) and not any((*header.reserved, *header.reserved_front))
    yield hold("evict.reason", is_given, "reason:none" if not header.reason else "reason:bytes")
    if header.reason != INCOMPATIBLE_PROTOCOL:
        is_set = header.server_protocol_version or header.server_protocol_version_min
        yield hold("login.window-zero", not is_set, "window:set")


def judge_head(poll: PollMessages, polled: Polled) -> Iterator[Finding]:
    """Judge what stands in front of the polled batches."""
    is_member = poll.consumer.kind == CONSUMER_KIND or bool(polled.frames)
    # What stands there for a member of a group without partitions, no page says.
    if poll.partition.flag and is_member:
        due, found = poll.partition.partition_id, polled.head.partition_id
        yield compare("poll.head", "head:other", "partition_id", due, found)
    count, declared = len(polled.frames), polled.head.count
    if count > poll.count:
        yield Finding(f"{LAW}poll.count", "count:more", f"{count} in place of {poll.count}")
    else:
        yield compare("poll.count", "count:wrong", "count", count, declared)


def judge_batch(poll: PollMessages, batch: Batch) -> Iterator[Finding]:
    """Judge the fields of a polled batch, without the messages in it."""
    header = batch.header
    if poll.partition.flag:
        due = poll.partition.partition_id
        yield compare(
            "message.partition", "partition:other", "partition_id", due, header.partition_id
        )
    yield judge_time(batch)
    for judge in (judge_counts, judge_batch_checksum, judge_reserved, judge_frame_checksums):
        yield from judge(batch)


def judge_time(batch: Batch) -> Finding:
    """Judge whether the time that the server gave a batch is plausible, in microseconds."""
    time_us = batch.header.base_timestamp
    return hold("message.append-time", time_us in RIGHT_TIMES, "time:other", f"{time_us}")


def judge_batch_checksum(batch: Batch) -> Iterator[Finding]:
    """Judge the checksum of a batch."""
    right, found = batch_checksum(batch), batch.header.batch_checksum
    yield compare("message.batch-checksum", "checksum:wrong", "batch_checksum", right, found)


def judge_reserved(batch: Batch) -> Iterator[Finding]:
    """Judge the reserved bytes of a batch and of its frames."""
    is_zero = not any(batch.header.reserved) and not any(frame.reserved for frame in batch.frames)
    yield hold("message.reserved", is_zero, "reserved:not")


def judge_frame_checksums(batch: Batch) -> Iterator[Finding]:
    """Judge the checksum of each frame of a batch."""
    for frame in batch.frames:
        right = frame_checksum(frame)
        yield compare("message.checksum", "checksum:wrong", "checksum", right, frame.checksum)


def judge_counts(batch: Batch) -> Iterator[Finding]:
    """Judge whether length and count of a batch are those of its bytes."""
    length = BATCH_HEADER_SIZE + sum(map(frame_size, batch.frames))
    header, clause = batch.header, "message.counts"
    if length != header.batch_length:
        yield compare(clause, "counts:length", "batch_length", length, header.batch_length)
    else:
        count = len(batch.frames)
        yield compare(clause, "counts:count", "message_count", count, header.message_count)


def judge_order(batches: Sequence[Batch]) -> Iterator[Finding]:
    """Judge whether offsets follow one another in a batch, and rise from batch to batch."""
    for batch in batches:
        deltas = [frame.offset_delta for frame in batch.frames]
        is_run = all(after == before + 1 for before, after in pairwise(deltas))
        yield hold("message.offset", is_run, "offsets:other", f"deltas {deltas[:5]}")
    for before, after in pairwise(batch for batch in batches if batch.frames):
        first = after.header.base_offset + after.frames[0].offset_delta
        last = before.header.base_offset + before.frames[-1].offset_delta
        yield hold("send.order", first > last, "offsets:other", f"{first} behind {last}")


def judge_times(batches: Sequence[Batch]) -> Iterator[Finding]:
    """Judge whether the server's time does not fall from batch to batch."""
    for before, after in pairwise(batches):
        is_kept = before.header.base_timestamp <= after.header.base_timestamp
        yield hold("message.append-time", is_kept, "time:falls")


def judge_message(found: MessageFrame, origin_us: int, sent: Content) -> Iterator[Finding]:
    """Judge whether a polled message is the one that was sent."""
    # No text says whether a server gives an id to a message that has none.
    due_frame = sent.frame if sent.frame.id else replace(sent.frame, id=found.id)
    difference = differ(due_frame, found)
    broken = difference.field if difference else ""
    for name in ("id", "payload", "headers"):
        is_it = name == broken
        value = f"delivered:{name}" if is_it else ""
        yield Finding(f"{LAW}message.{name}", value, difference=difference if is_it else None)
    due = sent.origin_us, sent.frame.timestamp_delta
    came = origin_us, found.timestamp_delta
    is_same = due == came
    yield hold("message.origin", is_same, "origin:other", f"{came} in place of {due}")


def judge_place(partition: int, sent: Sequence[Content]) -> Iterator[Finding]:
    """Judge whether a message is polled from the partition that its request named."""
    named = [each.partition for each in sent]
    if None not in named:
        is_it = partition in named
        yield hold("send.partition", is_it, "partition:other", f"{partition}, sent to {named[0]}")


def judge_key(due: int, partition: int) -> Finding:
    """Judge whether messages with one key are polled from one partition."""
    return hold("send.key", due == partition, "partition:other", f"{due} and {partition}")


def judge_kept_time(before_us: int, after_us: int) -> Finding:
    """Judge whether two polls of one message told the same time of its batch."""
    note = f"{before_us}, then {after_us}"
    return hold("message.append-time", before_us == after_us, "time:other", note)


def judge_same(before: MessageFrame, after: MessageFrame) -> Finding:
    """Judge whether two polls of one message returned the same frame."""
    return hold("message.same", before == after, "different")


def hold(clause: str, holds: bool, value: str, note: str = "") -> Finding:
    """Return what shows that a clause is kept, or in which way it is not."""
    return Finding(f"{LAW}{clause}") if holds else Finding(f"{LAW}{clause}", value, note)


def compare(clause: str, value: str, name: str, due: int, found: int) -> Finding:
    """Return what a field shows of a clause."""
    if due == found:
        return Finding(f"{LAW}{clause}")
    return Finding(f"{LAW}{clause}", value, "", Difference(name, None, str(due), str(found)))
