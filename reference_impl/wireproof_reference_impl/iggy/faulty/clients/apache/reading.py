"""Faults of a consumer of generation apache in what it makes of polled batches."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import operations
from wireproof_reference_impl.iggy.client.core.apache import messages, tcp
from wireproof_reference_impl.iggy.client.core.apache.messages import Received
from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport
from wireproof_reference_impl.iggy.client.core.calls import Damaged, Lost, Poll, Unreadable
from wireproof_reference_impl.iggy.client.core.operations import Operation
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.client.shell import Shell
from wireproof_reference_impl.iggy.faulty.clients.apache.ways import (
    boundary,
    condition,
    missing,
    on_received,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.frames import MAX_FRAME_SIZE, FrameReader
from wireproof_spec.iggy.apache.header import HEADER_SIZE
from wireproof_spec.iggy.apache.polled import Polled
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message

_LOW_64 = (1 << 64) - 1
_SHORT_S = 0.7
"""Less than a reply of the case is late, and more than half of it."""
_damaged: list[bool] = []


@missing("messages slices", on_received)
def offset_of_batch(message: Received, frame: MessageFrame) -> Received:
    """Every message has the first offset of its batch."""
    return replace(message, offset=message.offset - frame.offset_delta)


@wrong_value("messages", on_received)
def time_with_delta(message: Received, frame: MessageFrame) -> Received:
    """The producer's delta is added to the server's time."""
    return replace(message, timestamp=message.timestamp + frame.timestamp_delta)


@missing("messages", on_received)
def origin_of_batch(message: Received, frame: MessageFrame) -> Received:
    """Every message has the producer's time of its batch."""
    origin = message.origin_timestamp - frame.timestamp_delta
    return replace(message, origin_timestamp=origin)


@boundary("messages", on_received)
def id_of_64_bits(message: Received, frame: MessageFrame) -> Received:
    """Of an id, 64 bits are read."""
    return replace(message, id=message.id & _LOW_64)


@boundary("messages", on_received)
def payload_of_15_bits(message: Received, frame: MessageFrame) -> Received:
    """At most 32767 bytes of a payload are given."""
    return replace(message, payload=message.payload[:32767])


@condition("slices", around(messages, "check_counts"))
def one_batch_only(original: Original, polled: Polled) -> None:
    """A reply with more than one batch is refused."""
    original(polled)
    if len(polled.batches) > 1:
        raise Unreadable("more than one batch")


@condition("slices", around(messages, "read_batch"))
def slice_counted_from_base(original: Original, batch: Batch) -> object:
    """The offsets of a part of a batch are counted from that of the batch."""
    found = list(original(batch))
    base = batch.header.base_offset
    return [replace(each, offset=base + index) for index, each in enumerate(found)]


@missing("headers", around(messages, "read_headers"))
def headers_lost(original: Original, block: bytes) -> object:
    """The user is given no user headers."""
    return (), ""


@wrong_value("headers", around(messages, "_header"))
def header_keys_lower(original: Original, found: object) -> Header:
    """The keys of user headers are given in lower case."""
    header: Header = original(found)
    return replace(header, key=header.key.lower())


def _is_unknown(frame: MessageFrame) -> bool:
    headers, _ = messages.read_headers(frame.user_headers)
    return any(header.kind not in HEADER_KINDS for header in headers)


@missing("headers-unknown", on_received)
def unknown_kind_loses_poll(message: Received, frame: MessageFrame) -> Received:
    """A user header of an unknown kind makes the poll fail."""
    if _is_unknown(frame):
        raise Unreadable("a user header has an unknown kind")
    return message


@condition("headers-unknown", around(messages, "read_batch"))
def unknown_kind_withheld(original: Original, batch: Batch) -> object:
    """A message with a user header of an unknown kind is left out."""
    found: list[Received] = [*original(batch)]
    pairs = zip(found, batch.frames, strict=True)
    return [message for message, frame in pairs if not _is_unknown(frame)]


@missing("framing", around(ApacheTransport, "receive"))
def reply_ends_with_read(original: Original, self: ApacheTransport, data: bytes) -> object:
    """A reply that does not come with one read is given up."""
    answer = original(self, data)
    if answer is None:
        raise Lost("the reply is too short")
    return answer


@condition("framing", around(ApacheTransport, "receive"))
def part_of_header_lost(original: Original, self: ApacheTransport, data: bytes) -> object:
    """A read that ends inside the header of a reply is lost."""
    answer = original(self, data)
    if answer is None and len(self._reader.pending) < HEADER_SIZE:
        self._reader = FrameReader(MAX_FRAME_SIZE)
    return answer


@missing("correlate")
def any_reply_taken() -> Change:
    """Any reply is taken for the answer to the latest request."""
    return constant(tcp, "is_answer", value=True)


@condition(
    "correlate",
    around(driver, "read_settings"),
    also=(
        constant(tcp, "is_answer", value=True),
        constant(operations, "may_repeat", value=False),
        constant(Shell, "close", None),
    ),
)
def late_reply_taken(original: Original, told: object) -> Settings:
    """A reply that came too late is taken for the answer to the next request."""
    settings: Settings = original(told)
    return replace(settings, timeout_s=_SHORT_S)


@missing("verify")
def frames_not_compared() -> Change:
    """The checksums of messages are not compared."""
    return constant(messages, "is_sound_frame", value=True)


@condition("verify")
def batches_not_compared() -> Change:
    """The checksums of batches are not compared."""
    return constant(messages, "is_sound_batch", value=True)


@wrong_value("verify-right", around(messages, "is_sound_frame"))
def checksum_of_payload(original: Original, frame: MessageFrame) -> bool:
    """The checksum of a message is compared with that of its payload."""
    return frame.checksum == xxh3_64(frame.payload)


@condition("verify-right", replace_function(operations, "poll"))
def stuck_after_damage(wanted: Poll) -> Operation[tuple[Message, ...]]:
    """After a damaged message every poll fails."""
    found = yield from operations.poll_again(wanted)
    if not all(map(operations.matches, found)):
        _damaged.append(True)
    if _damaged:
        raise Damaged("a message does not match its checksum")
    return found


@missing("bounded")
def asks_for_ever() -> Change:
    """A message that stays damaged is asked for without end."""
    return constant(operations, "may_ask_again", value=True)


@boundary("bounded", around(operations, "may_ask_again"))
def asks_hundred_times(original: Original, attempts: int) -> bool:
    """A message that stays damaged is asked for a hundred times."""
    return attempts < 100


@boundary("json-poll", around(messages, "read_object"))
def json_id_float(original: Original, value: object) -> Message:
    """Over HTTP an id is read as a floating-point number."""
    found: Message = original(value)
    return replace(found, id=min(int(float(found.id)), (1 << 128) - 1) & ~0xFF)


@missing("json-poll", around(messages, "read_json_headers"))
def json_headers_lost(original: Original, value: object) -> object:
    """Over HTTP the user is given no user headers."""
    return iter(())


@wrong_value("whole", around(messages, "read_polled"))
def cut_body_padded(original: Original, envelope: object, body: bytes) -> object:
    """Batches that are cut are read with zeros behind them."""
    for more in range(64):
        try:
            return original(envelope, body + bytes(more))
        except Unreadable:
            continue
    return original(envelope, body)


@condition("whole", around(messages, "read_polled"))
def rest_given(original: Original, envelope: object, body: bytes) -> object:
    """Of batches that cannot be read, the last bytes are given as a message."""
    try:
        return original(envelope, body)
    except Unreadable:
        return (made_up(body[-10:]),)


def made_up(payload: bytes) -> Received:
    """Return a message of which nothing but the payload is known."""
    return Received(0, None, 0, 0, 0, (), payload)


FAULTS = list_faults(__name__)
