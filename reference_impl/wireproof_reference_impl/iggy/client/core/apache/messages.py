"""Messages of generation apache: batches made for the server, and batches and JSON read."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_reference_impl.iggy.client.core.json_values import data, integer, member, text
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import batch as batches
from wireproof_spec.iggy.apache.batch import Batch, BatchHeader, MessageFrame, frame_size
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.polled import Polled, decode_polled
from wireproof_spec.iggy.apache.user_headers import (
    USER_HEADERS,
    TypedBytes,
    UserHeader,
    text_header,
)
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING, kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.strict_json import is_array
from wireproof_spec.wire_error import WireError


class Received(Message, frozen=True):
    """A polled message of generation apache; `is_sound` if its checksums are right.

    `warning` says what of it cannot be read.
    """

    origin_timestamp: int = 0
    is_sound: bool = True
    warning: str = ""


def make_batch(messages: Sequence[SentMessage], settings: Settings) -> Batch:
    """Return messages as a batch for the server, which stamps the fields that are left zero."""
    frames = [make_frame(message, settings) for message in messages]
    placed = tuple(place(each, index) for index, each in enumerate(frames))
    return seal(BatchHeader(origin_timestamp=settings.now_us()), placed)


def make_frame(message: SentMessage, settings: Settings) -> MessageFrame:
    """Return a message as a frame, with an id of its own if its user gave none."""
    return MessageFrame(
        id=message.id or settings.new_id(),
        payload=message.payload,
        user_headers=write_headers(message.headers),
    )


def place(frame: MessageFrame, index: int) -> MessageFrame:
    """Return a frame with its place in the batch and, last of all, its checksum."""
    return batches.seal_frame(replace(frame, offset_delta=index))


def seal(header: BatchHeader, frames: Sequence[MessageFrame]) -> Batch:
    """Return a batch with the counts and the checksum of these frames."""
    return batches.make_batch(header, frames)


def write_headers(headers: Sequence[Header]) -> bytes:
    """Return the bytes of user headers, whose keys are strings."""
    headers_sent = tuple(text_header(header.key, header.kind, header.value) for header in headers)
    return encode(USER_HEADERS, headers_sent)


def read_polled(envelope: Envelope, body: bytes) -> tuple[Message, ...]:
    """Return the messages in the body of the reply to a poll.

    Raises:
        Unreadable: batches, counts and reserved bytes are not what they must be.
    """
    try:
        polled = decode_polled(envelope, body)
    except WireError as error:
        raise Unreadable(str(error)) from None
    check_counts(polled)
    return tuple(message for batch in polled.batches for message in read_batch(batch))


def check_counts(polled: Polled) -> None:
    """Check the counts, lengths and reserved bytes of a poll's reply.

    Raises:
        Unreadable: one of them is wrong.
    """
    if polled.head.count != len(polled.frames):
        raise Unreadable(f"{polled.head.count} messages are announced, {len(polled.frames)} came")
    for batch in polled.batches:
        length = batches.BATCH_HEADER_SIZE + sum(map(frame_size, batch.frames))
        header = batch.header
        if (header.batch_length, header.message_count) != (length, len(batch.frames)):
            raise Unreadable("the counts of a batch are not those of its messages")
        if any(header.reserved) or any(frame.reserved for frame in batch.frames):
            raise Unreadable("reserved bytes of a batch are set")


def read_batch(batch: Batch) -> Iterator[Message]:
    """Yield the messages of a batch, each with its own offset and times."""
    is_sound = is_sound_batch(batch)
    for frame in batch.frames:
        yield read_frame(batch.header, frame, is_sound=is_sound and is_sound_frame(frame))


def read_frame(header: BatchHeader, frame: MessageFrame, *, is_sound: bool) -> Received:
    """Return a message of a batch; without user headers, and with a warning, if they are unfit."""
    headers, warning = read_headers(frame.user_headers)
    return Received(
        offset=offset_of(header, frame),
        state=None,
        timestamp=header.base_timestamp,
        id=frame.id,
        checksum=frame.checksum,
        headers=headers,
        payload=frame.payload,
        origin_timestamp=header.origin_timestamp + frame.timestamp_delta,
        is_sound=is_sound,
        warning=warning,
    )


def offset_of(header: BatchHeader, frame: MessageFrame) -> int:
    """Return the offset of a message."""
    return header.base_offset + frame.offset_delta


def is_sound_batch(batch: Batch) -> bool:
    """Return True if the checksum of a batch is right."""
    return batch.header.batch_checksum == batches.batch_checksum(batch)


def is_sound_frame(frame: MessageFrame) -> bool:
    """Return True if the checksum of a message is right."""
    return frame.checksum == batches.frame_checksum(frame)


def read_headers(block: bytes) -> tuple[tuple[Header, ...], str]:
    """Return user headers, of whatever kind, or a warning that they cannot be read."""
    try:
        found = decode(USER_HEADERS, block)
    except WireError as error:
        return (), f"its user headers cannot be read: {error}"
    return tuple(map(_header, found)), ""


def _header(found: UserHeader) -> Header:
    return Header(_text(found.key), found.value.kind, found.value.value)


def _text(key: TypedBytes) -> str:
    text = key.value.decode("utf-8", "replace")
    return text if key.kind == STRING else f"{key.kind}:{key.value.hex()}"


def read_object(value: object) -> Message:
    """Return the message in a JSON object of a poll's response.

    Raises:
        Unreadable: a member is missing, or not of its type.
    """
    header = member(value, "header")
    numbers = {name: integer(header, name, bits) for name, bits in _BITS.items()}
    return Received(
        offset=numbers["offset"],
        state=None,
        timestamp=numbers["timestamp"],
        id=numbers["id"],
        checksum=numbers["checksum"],
        headers=tuple(read_json_headers(member(value, "user_headers"))),
        payload=data(value, "payload"),
        origin_timestamp=numbers["origin_timestamp"],
    )


_BITS = {"offset": 64, "timestamp": 64, "id": 128, "checksum": 64, "origin_timestamp": 64}


def read_json_headers(value: object) -> Iterator[Header]:
    """Yield user headers from a JSON value; null means none.

    Raises:
        Unreadable: it is no array of keys and values.
    """
    if value is None:
        return
    if not is_array(value):
        raise Unreadable(f"user_headers: expected an array, found {type(value).__name__}")
    for each in value:
        yield _header(UserHeader(_typed(member(each, "key")), _typed(member(each, "value"))))


def _typed(value: object) -> TypedBytes:
    kind = kind_code(text(value, "kind"))
    if kind is None:
        raise Unreadable("a user header has an unknown kind")
    return TypedBytes(kind, data(value, "value"))
