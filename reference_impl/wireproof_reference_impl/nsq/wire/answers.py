"""Small choices of the broker, with the published defaults."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult

OWN_VERSION = "0.9.0-wireproof"
"""The version that the broker reports; never that of another broker."""


def trace_response(stored: PublishResult) -> bytes:
    """Return the bytes that answer a traced publish.

    Clause: ext.publish.trace-response
    """
    return packed.trace_response(
        stored.internal_id, stored.trace_id, offset=stored.offset, size=stored.size
    )


def any_record(entries: Sequence[NewMessage], extend: bool, max_message_size: int) -> None:
    """Accept every message for storing, whatever the size of its record."""


def from_one(partition: int) -> int:
    """Return 1, the internal id of a partition's first message."""
    return 1


def oldest(waiting: int) -> int:
    """Return 0, the index of the waiting message to send next."""
    return 0


def as_fatal_as_it_is(command: bytes, code: str, fatal: bool) -> bool:
    """Return True if a refusal is fatal by itself, so that it closes the connection."""
    return fatal


def own_text(code: str, text: str) -> str:
    """Return the text of a refusal unchanged."""
    return text


def one_piece(data: bytes) -> Sequence[bytes]:
    """Return the bytes as one piece."""
    return (data,)


def has_trace_room(size: int) -> bool:
    """Return True if a body of this size can hold a trace id and a message.

    Clause: smart.trace.short
    """
    return size > 8


def next_id(first: int, due: int) -> int:
    """Return the first internal id of a new leader: the next number."""
    return due
