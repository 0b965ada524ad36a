"""The parts of a delivered message frame."""

from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message


def short_extend_part(message: Message) -> bytes:
    """Return the ext part of a message as real brokers send it: version 0 has no length."""
    if message.header is None:
        return b"\0"
    return packed.extend_part(message.version, message.header)


def full_extend_part(message: Message) -> bytes:
    """Return the ext part of a message as published: it always has version and length."""
    return packed.extend_part(message.version, message.header or b"")


def own_position(message: Message) -> bytes:
    """Return offset and size of a message in the queue, as they precede its body."""
    return packed.position(message.offset, message.size)


def message_data(message: Message, attempts: int, *, extend: bytes, position: bytes) -> bytes:
    """Return the data of a message frame; without the extend feature there is no ext part.

    Clause: ext.consume.plain-topic, ext.consume.body-intact
    """
    return b"".join((head(message, attempts), extend, position, message.body))


def head(message: Message, attempts: int) -> bytes:
    """Return the first bytes of a message: timestamp, attempts and message id.

    Clause: ext.consume.layout, ext.consume.attempts
    """
    return packed.message_head(
        message.timestamp_ns,
        attempts,
        internal_id=message.internal_id,
        trace_id=message.trace_id,
    )
