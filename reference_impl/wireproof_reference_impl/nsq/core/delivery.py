"""What a message looks like on its way to a client."""

from wireproof_reference_impl.nsq.core import packed
from wireproof_reference_impl.nsq.core.message import Message


def plain_attempts(attempts: int, message: Message) -> int:
    """Return the attempts a client sees: the count alone.

    Clause: ext.consume.attempts
    """
    return attempts


def short_extend_part(message: Message) -> bytes:
    """Return the ext part of a message: version 0 stands alone, without a length."""
    if message.header is None:
        return b"\0"
    return packed.extend_part(message.version, message.header)


def full_extend_part(message: Message) -> bytes:
    """Return the ext part as it is drawn: version and length are always there."""
    return packed.extend_part(message.version, message.header or b"")


def no_extend_part(message: Message) -> bytes:
    """Return the ext part of a topic without the extend feature.

    Clause: ext.consume.plain-topic
    """
    return b""


def whole_body(message: Message) -> bytes:
    """Return the body as published.

    Clause: ext.consume.body-intact
    """
    return message.body


def own_position(message: Message) -> bytes:
    """Return the message's place in the queue."""
    return packed.position(message.offset, message.size)


def head(message: Message, attempts: int) -> bytes:
    """Return timestamp, attempts and message id.

    Clause: ext.consume.layout
    """
    return packed.message_head(
        message.timestamp_ns,
        attempts,
        internal_id=message.internal_id,
        trace_id=message.trace_id,
    )


def never(message: Message) -> bool:
    """Tell whether a message is lost on its way: never."""
    return False
