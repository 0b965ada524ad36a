"""Faults of ordered deliveries: offset, size and attempts."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.consuming.consume import count_attempts
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message


def _stay_at_one(attempts: int, message: Message) -> int:
    return min(attempts, 1)


def _position(position: Callable[[Message], bytes]) -> Settings:
    return {"delivery.position": position}


def _move(message: Message, *, offset: int = 0, size: int = 0) -> bytes:
    return packed.position(message.offset + offset, message.size + size)


def _size_first(message: Message) -> bytes:
    return pack(">IQ", message.size, message.offset)


def _none_behind_256(message: Message) -> bytes:
    return packed.position(message.offset, message.size) if len(message.body) < 256 else b""


def _of_the_body_when_headed(message: Message) -> bytes:
    return packed.position(
        message.offset, len(message.body) if message.number % 2 else message.size
    )


_LAYOUT = "smart.order.layout"
_POSITION = "smart.order.position"
_INCREASING = "smart.order.increasing"
_HISTORY = "smart.history.order smart.history.kept"
_READ = f"{_POSITION} {_INCREASING} smart.order.ext-place smart.order.attempts"


FAULTS: tuple[Preset, ...] = (
    missing(
        "order-position-missing",
        "messages of ordered subscriptions are delivered without offset and size",
        breaks=_LAYOUT,
        may_break=f"{_READ} {_HISTORY}",
        settings=_position(lambda message: b""),
    ),
    wrong_value(
        "order-position-little-endian",
        "offset and size of ordered messages are delivered in little-endian byte order",
        breaks=f"{_LAYOUT} {_POSITION}",
        may_break=_READ,
        settings=_position(lambda message: pack("<QI", message.offset, message.size)),
    ),
    wrong_value(
        "order-size-first",
        "ordered messages are delivered with the size before the offset",
        breaks=f"{_LAYOUT} {_POSITION}",
        may_break=_READ,
        settings=_position(_size_first),
    ),
    extra(
        "order-size-of-8-bytes",
        "the size delivered with ordered messages takes 8 bytes",
        breaks=_LAYOUT,
        may_break=f"{_READ} {_HISTORY}",
        settings=_position(lambda message: pack(">QQ", message.offset, message.size)),
    ),
    boundary(
        "order-position-missing-above-255",
        "ordered messages with bodies above 255 bytes are delivered without offset and size",
        breaks=_LAYOUT,
        may_break=f"{_READ} {_HISTORY}",
        settings=_position(_none_behind_256),
    ),
    boundary(
        "order-offset-of-the-end",
        "the offset delivered with ordered messages is the end of the record",
        breaks=_POSITION,
        settings=_position(lambda message: _move(message, offset=message.size)),
    ),
    wrong_value(
        "order-size-without-length",
        "the size delivered with ordered messages omits the record's 4 length bytes",
        breaks=_POSITION,
        may_break=_LAYOUT,
        settings=_position(lambda message: _move(message, size=-4)),
    ),
    condition(
        "order-size-of-the-body",
        "the size delivered with every second ordered message is that of its body alone",
        breaks=_POSITION,
        may_break=_LAYOUT,
        settings=_position(_of_the_body_when_headed),
    ),
    missing(
        "order-offset-always-zero",
        "the offset delivered with ordered messages is always 0",
        breaks=f"{_INCREASING} {_POSITION}",
        settings=_position(lambda message: packed.position(0, message.size)),
    ),
    boundary(
        "order-offset-within-a-page",
        "the offset delivered with ordered messages restarts from 0 every 1000 bytes",
        breaks=_INCREASING,
        may_break=_POSITION,
        settings=_position(lambda message: packed.position(message.offset % 1000, message.size)),
    ),
    missing(
        "order-attempts-stay",
        "ordered messages always have attempts 1, even when redelivered",
        breaks="smart.order.attempts",
        may_break="consume.attempts consume.plain-topic smart.history.kept smart.history.order",
        overrides=count_attempts(_stay_at_one),
    ),
)
