"""Faults of ordered deliveries: offset, size and attempts."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.consuming.consume import count_attempts
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message


def _position(position: Callable[[Message], bytes]) -> Settings:
    return {"delivery.position": position}


def _move(message: Message, *, offset: int = 0, size: int = 0) -> bytes:
    return packed.position(message.offset + offset, message.size + size)


@missing("smart.order.layout", _position)
def order_position_missing(message: Message) -> bytes:
    """Messages of ordered subscriptions are delivered without offset and size."""
    return b""


@wrong_value("smart.order.layout smart.order.position", _position)
def order_position_little_endian(message: Message) -> bytes:
    """Offset and size of ordered messages are delivered in little-endian byte order."""
    return pack("<QI", message.offset, message.size)


@wrong_value("smart.order.layout smart.order.position", _position)
def order_size_first(message: Message) -> bytes:
    """Ordered messages are delivered with the size before the offset."""
    return pack(">IQ", message.size, message.offset)


@extra("smart.order.layout", _position)
def order_size_of_8_bytes(message: Message) -> bytes:
    """The size delivered with ordered messages takes 8 bytes."""
    return pack(">QQ", message.offset, message.size)


@boundary("smart.order.layout", _position)
def order_position_missing_above_255(message: Message) -> bytes:
    """Ordered messages with bodies above 255 bytes are delivered without offset and size."""
    return packed.position(message.offset, message.size) if len(message.body) < 256 else b""


@boundary("smart.order.position", _position)
def order_offset_of_the_end(message: Message) -> bytes:
    """The offset delivered with ordered messages is the end of the record."""
    return _move(message, offset=message.size)


@wrong_value("smart.order.position", _position)
def order_size_without_length(message: Message) -> bytes:
    """The size delivered with ordered messages omits the record's 4 length bytes."""
    return _move(message, size=-4)


@condition("smart.order.position", _position)
def order_size_of_the_body(message: Message) -> bytes:
    """The size delivered with every second ordered message is that of its body alone."""
    return packed.position(
        message.offset, len(message.body) if message.number % 2 else message.size
    )


@missing("smart.order.increasing smart.order.position", _position)
def order_offset_always_zero(message: Message) -> bytes:
    """The offset delivered with ordered messages is always 0."""
    return packed.position(0, message.size)


@boundary("smart.order.increasing", _position)
def order_offset_within_a_page(message: Message) -> bytes:
    """The offset delivered with ordered messages restarts from 0 every 1000 bytes."""
    return packed.position(message.offset % 1000, message.size)


@missing("smart.order.attempts", count_attempts)
def order_attempts_stay(attempts: int, message: Message) -> int:
    """Ordered messages always have attempts 1, even when redelivered."""
    return min(attempts, 1)


FAULTS = list_faults(__name__)
