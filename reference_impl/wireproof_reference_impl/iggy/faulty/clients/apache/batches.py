"""Faults of a producer of generation apache in the batches that it sends."""

from collections.abc import Mapping

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client.core import http, operations
from wireproof_reference_impl.iggy.client.core.apache import session
from wireproof_reference_impl.iggy.client.core.calls import Send
from wireproof_reference_impl.iggy.faulty.clients.apache.ways import (
    boundary,
    condition,
    extra,
    missing,
    on_batch,
    on_batch_header,
    on_frame,
    on_unsealed,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import (
    BATCH_HEADER_SIZE,
    MESSAGE_FRAME,
    Batch,
    BatchHeader,
    MessageFrame,
    seal_batch,
    seal_frame,
)
from wireproof_spec.iggy.apache.bodies.messages import SendMessages
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced, messages_key
from wireproof_spec.iggy.kinds import MESSAGES_KEY

_NOW_US = 1_790_000_000_000_000
_LOW_64 = (1 << 64) - 1
_HEADER_SIZE = 48


@extra("fields", on_batch_header)
def guesses_offset(header: BatchHeader) -> BatchHeader:
    """The first offset is set to what the producer takes for the next one."""
    return replace(header, base_offset=30)


@condition("fields", on_batch)
def stamps_time(batch: Batch) -> Batch:
    """A batch of one message has the time of the server."""
    is_one = len(batch.frames) == 1
    header = replace(batch.header, base_timestamp=_NOW_US if is_one else 0)
    return seal_batch(Batch(header, batch.frames))


@missing("checksums", on_batch)
def batch_checksum_zero(batch: Batch) -> Batch:
    """The checksum of a batch is left zero."""
    return Batch(replace(batch.header, batch_checksum=0), batch.frames)


@wrong_value("checksums", on_batch)
def batch_checksum_of_bodies(batch: Batch) -> Batch:
    """The checksum of a batch covers its messages whole."""
    data = b"".join(encode(MESSAGE_FRAME, frame) for frame in batch.frames)
    return Batch(replace(batch.header, batch_checksum=xxh3_64(data)), batch.frames)


@condition("checksums", on_frame)
def frame_checksum_without_headers(frame: MessageFrame, index: int) -> MessageFrame:
    """The checksum of a message does not cover its user headers."""
    data = encode(MESSAGE_FRAME, frame)[8 : _HEADER_SIZE + len(frame.payload)]
    return replace(frame, checksum=xxh3_64(data))


@boundary("checksums", on_frame)
def frame_checksum_of_first(frame: MessageFrame, index: int) -> MessageFrame:
    """Of a batch, only the first message has a checksum."""
    return replace(frame, checksum=0) if index else frame


@missing("deltas", on_frame)
def deltas_zero(frame: MessageFrame, index: int) -> MessageFrame:
    """The offset deltas of messages are left zero."""
    return seal_frame(replace(frame, offset_delta=0))


@boundary("deltas", on_frame)
def deltas_from_one(frame: MessageFrame, index: int) -> MessageFrame:
    """The offset deltas of messages count from one."""
    return seal_frame(replace(frame, offset_delta=index + 1))


@wrong_value("counts", on_batch)
def length_of_messages(batch: Batch) -> Batch:
    """The length of a batch is that of its messages."""
    length = batch.header.batch_length - BATCH_HEADER_SIZE
    return seal_batch(Batch(replace(batch.header, batch_length=length), batch.frames))


@boundary("counts", around(session, "send_body"))
def counts_one(original: Original, *given: object) -> SendMessages:
    """The count in front of a batch is one, however many messages follow."""
    body: SendMessages = original(*given)
    return replace(body, metadata=replace(body.metadata, messages_count=1))


@extra("reserved-batch", on_batch_header)
def batch_not_cleared(header: BatchHeader) -> BatchHeader:
    """The reserved bytes of a batch are not cleared."""
    return replace(header, reserved=b"\xcd" * len(header.reserved))


@condition("reserved-batch", on_unsealed)
def frame_marked(frame: MessageFrame) -> MessageFrame:
    """A reserved bit of a message with user headers is set."""
    return replace(frame, reserved=1 if frame.user_headers else 0)


@missing("origin", on_batch_header)
def origin_zero(header: BatchHeader) -> BatchHeader:
    """The time of a batch is left zero."""
    return replace(header, origin_timestamp=0)


@boundary("origin", on_batch_header)
def origin_in_seconds(header: BatchHeader) -> BatchHeader:
    """The time of a batch is in seconds."""
    return replace(header, origin_timestamp=header.origin_timestamp // 1_000_000)


@missing("ids", on_unsealed)
def ids_zero(frame: MessageFrame) -> MessageFrame:
    """A message without an id is sent with the id zero."""
    return replace(frame, id=0 if frame.payload == b"wireproof" else frame.id)


@condition("ids", on_unsealed)
def ids_of_lengths(frame: MessageFrame) -> MessageFrame:
    """Messages of the same length have the same id."""
    return replace(frame, id=len(frame.payload))


@wrong_value("sent", on_unsealed)
def payload_trimmed(frame: MessageFrame) -> MessageFrame:
    """The first byte of a payload is lost."""
    return replace(frame, payload=frame.payload[1:])


@boundary("sent", on_unsealed)
def ids_of_64_bits(frame: MessageFrame) -> MessageFrame:
    """Of an id, 64 bits are sent."""
    return replace(frame, id=frame.id & _LOW_64)


@missing("sent", on_unsealed)
def headers_dropped(frame: MessageFrame) -> MessageFrame:
    """Messages are sent without their user headers."""
    return replace(frame, user_headers=b"")


@wrong_value("place", around(session, "send_body"))
def sends_to_other_stream(original: Original, *given: object) -> SendMessages:
    """Messages are sent to another stream."""
    body: SendMessages = original(*given)
    return replace(body, metadata=replace(body.metadata, stream=numeric(2)))


@wrong_value("partitioning", around(operations, "send"))
def always_balanced(original: Original, wanted: Send) -> object:
    """The server is always left to choose the partition."""
    return original(replace(wanted, partitioning=make_balanced()))


@boundary("partitioning", around(operations, "send"))
def key_cut(original: Original, wanted: Send) -> object:
    """At most 8 bytes of a key are sent."""
    how = wanted.partitioning
    if how.kind == MESSAGES_KEY:
        wanted = replace(wanted, partitioning=messages_key(how.value[:8]))
    return original(wanted)


def _in_json(name: str, change: Mapping[str, object] | None) -> Override:
    """Replace a member of each message that is sent over HTTP."""

    def call(original: Original, message: object) -> object:
        return {**original(message), name: change}

    return around(http, "apache_object", call)


@missing("json-layout")
def json_headers_null() -> Change:
    """Over HTTP messages are sent without their user headers."""
    return _in_json("user_headers", None)


@wrong_value("json-layout")
def json_headers_object() -> Change:
    """Over HTTP the user headers of a message are sent as an object."""
    return _in_json("user_headers", {})


FAULTS = list_faults(__name__)
