"""Small choices of the broker, each as the published text has it."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult

OWN_VERSION = "0.1.0-wireproof"
"""The version that the broker reports; never that of another broker."""


def trace_response(stored: PublishResult) -> bytes:
    """Return the answer to a traced publish.

    Clause: ext.publish.trace-response
    """
    return packed.trace_response(
        stored.internal_id, stored.trace_id, offset=stored.offset, size=stored.size
    )


def any_record(entries: Sequence[NewMessage], extend: bool, max_message_size: int) -> None:
    """Let every record through whose message was let through."""


def from_one(partition: int) -> int:
    """Return the internal id of a partition's first message."""
    return 1


def oldest(waiting: int) -> int:
    """Return which of the waiting messages goes next: the first."""
    return 0


def as_fatal_as_it_is(command: bytes, code: str, fatal: bool) -> bool:
    """Return True if a refusal closes the connection."""
    return fatal


def own_text(code: str, text: str) -> str:
    """Return the words behind an error code."""
    return text


def one_piece(data: bytes) -> Sequence[bytes]:
    """Return the bytes as they are written: all at once."""
    return (data,)


def has_trace_room(size: int) -> bool:
    """Return True if a body of this size has room for a trace id and a message behind it.

    Clause: smart.trace.short
    """
    return size > 8


def next_id(first: int, due: int) -> int:
    """Return the internal id with which a leader begins: the one that is due."""
    return due
