"""Faults of delivered messages: layout, attempts, version."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.limits import MAX_ATTEMPTS

_INDICATOR = packed.EXTEND_INDICATOR

Part = Callable[[int, bytes], bytes]


def override_extend(part: Part) -> Settings:
    """Return settings under which messages with a header have another ext part."""

    def extend(message: Message) -> bytes:
        if message.header is None:
            return message_parts.short_extend_part(message)
        return part(message.version, message.header)

    return {"delivery.extend": extend}


def count_attempts(attempts: Callable[[int, Message], int]) -> tuple[Override, ...]:
    """Return overrides that change the attempts in the messages that clients receive."""

    def head(original: Original, message: Message, counted: int) -> object:
        return original(message, attempts(counted, message))

    return (around(message_parts, "head", head),)


def with_body(change: Callable[[Message], bytes]) -> tuple[Override, ...]:
    """Return overrides that change the body in the messages that clients receive."""

    def message_data(
        original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
    ) -> object:
        other = message._replace(body=change(message))
        return original(other, attempts, extend=extend, position=position)

    return (around(message_parts, "message_data", message_data),)


def lose(is_lost: Callable[[Message], bool]) -> tuple[Override, ...]:
    """Return overrides under which some messages are never delivered."""

    def skips(original: Original, subscriber: Subscriber, message: Message) -> object:
        return original(subscriber, message) or is_lost(message)

    return (around(Subscriber, "skips", skips),)


def _plain_part(part: Callable[[Message], bytes]) -> tuple[Override, ...]:
    """Return overrides under which messages of plain topics have an ext part."""

    def message_data(
        original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
    ) -> object:
        return original(message, attempts, extend=extend or part(message), position=position)

    return (around(message_parts, "message_data", message_data),)


@wrong_value("consume.layout", override_extend)
def layout_length_little_endian(version: int, header: bytes) -> bytes:
    """Delivered messages have the ext length in little-endian byte order."""
    return pack("<BH", version, len(header)) + header


@wrong_value("consume.layout", override_extend)
def layout_length_counts_itself(version: int, header: bytes) -> bytes:
    """The ext length of delivered messages includes its own two bytes."""
    return pack(">BH", version, len(header) + 2) + header


@extra("consume.layout", override_extend)
def layout_length_of_4_bytes(version: int, header: bytes) -> bytes:
    """The ext length of delivered messages takes 4 bytes."""
    return pack(">BI", version, len(header)) + header


@boundary("consume.layout", override_extend)
def layout_length_of_1_byte(version: int, header: bytes) -> bytes:
    """The ext length of delivered messages is truncated to one byte."""
    return pack(">BH", version, len(header) % 256) + header


@missing("consume.layout", override_extend)
def layout_length_missing(version: int, header: bytes) -> bytes:
    """Delivered messages have no ext length between ext version and ext data."""
    return bytes([version]) + header


@wrong_value("consume.layout", override_extend)
def layout_length_before_version(version: int, header: bytes) -> bytes:
    """Delivered messages have the ext length before the ext version."""
    return pack(">HB", len(header), version) + header


@wrong_value("consume.layout", around(message_parts, "message_data"))
def layout_ext_behind_body(
    original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
) -> object:
    """Delivered messages have the ext part after the body."""
    other = message._replace(body=message.body + message_parts.short_extend_part(message))
    return original(other, attempts, extend=b"", position=position)


@wrong_value("consume.layout", around(message_parts, "head"))
def layout_timestamp_microseconds(original: Original, message: Message, attempts: int) -> object:
    """The timestamp of delivered messages is in microseconds."""
    return original(message._replace(timestamp_ns=message.timestamp_ns // 1000), attempts)


@wrong_value("consume.layout", replace_function(message_parts, "head"))
def layout_ids_swapped(message: Message, attempts: int) -> bytes:
    """Delivered message ids have the trace id before the internal id."""
    return packed.message_head(
        message.timestamp_ns,
        attempts,
        internal_id=message.trace_id,
        trace_id=message.internal_id,
    )


@extra("consume.attempts", count_attempts)
def attempts_with_indicator(attempts: int, message: Message) -> int:
    """Delivered attempts still have the indicator bits of the disk format."""
    return attempts | _INDICATOR


@condition("consume.attempts", count_attempts)
def attempts_with_indicator_again(attempts: int, message: Message) -> int:
    """From the second delivery on, delivered attempts have the indicator bits of the disk
    format.
    """
    return attempts | _INDICATOR if attempts > 1 else attempts


@condition("consume.attempts", count_attempts)
def attempts_with_indicator_without_header(attempts: int, message: Message) -> int:
    """Delivered attempts of messages without a header have the indicator bits of the disk
    format.
    """
    return attempts | _INDICATOR if message.header is None else attempts


@boundary("consume.attempts", count_attempts)
def attempts_with_indicator_from_4000(attempts: int, message: Message) -> int:
    """From the 4,000th delivery on, delivered attempts have the indicator bits of the disk
    format.
    """
    return attempts | _INDICATOR if attempts >= MAX_ATTEMPTS else attempts


@boundary("consume.attempts", count_attempts)
def attempts_from_zero(attempts: int, message: Message) -> int:
    """The first delivery of a message has attempts 0."""
    return attempts - 1


@missing("consume.attempts", count_attempts)
def attempts_always_one(attempts: int, message: Message) -> int:
    """Every delivery of a message has attempts 1."""
    return 1


@boundary("consume.attempts", count_attempts)
def attempts_stop_at_two(attempts: int, message: Message) -> int:
    """Attempts never exceed 2."""
    return min(attempts, 2)


@wrong_value("consume.attempts", count_attempts)
def attempts_by_two(attempts: int, message: Message) -> int:
    """Each redelivery increases attempts by 2."""
    return 2 * attempts - 1


@wrong_value("consume.version", override_extend)
def version_zero(version: int, header: bytes) -> bytes:
    """A message with a header is delivered with ext version 0."""
    return packed.extend_part(0, header)


@boundary("consume.version", override_extend)
def version_zero_on_long_headers(version: int, header: bytes) -> bytes:
    """A message with a header above 255 bytes is delivered with ext version 0."""
    return packed.extend_part(version if len(header) < 256 else 0, header)


@boundary("consume.version", override_extend)
def version_zero_on_empty_header(version: int, header: bytes) -> bytes:
    """A message with the header {} is delivered with ext version 0."""
    return packed.extend_part(0 if header == b"{}" else version, header)


@extra("consume.plain-topic", _plain_part)
def plain_with_version(message: Message) -> bytes:
    """Messages of topics without ext support are delivered with an ext version."""
    return b"\0"


@extra("consume.plain-topic", _plain_part)
def plain_with_version_and_length(message: Message) -> bytes:
    """Messages of topics without ext support are delivered with an empty ext part."""
    return bytes(3)


@wrong_value("consume.plain-topic", count_attempts)
def plain_with_indicator(attempts: int, message: Message) -> int:
    """Attempts of messages of topics without ext support have the indicator bits of the disk
    format.
    """
    return attempts | _INDICATOR if message.old else attempts


@boundary("consume.plain-topic", _plain_part)
def plain_with_version_above_4096(message: Message) -> bytes:
    """Messages above 4096 bytes of topics without ext support are delivered with an ext
    version.
    """
    return b"\0" if len(message.body) > 4096 else b""


FAULTS = list_faults(__name__)
