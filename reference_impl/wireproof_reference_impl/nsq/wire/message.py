"""A message as the broker holds it, and what a publisher hands in."""

from typing import NamedTuple


class NewMessage(NamedTuple):
    """One message of a publish command, before it has a place in the queue."""

    body: bytes
    trace_id: int = 0
    header: bytes | None = None
    tag: str | None = None


class Message(NamedTuple):
    """One stored message. `old` marks a record written without an ext part."""

    timestamp_ns: int
    internal_id: int
    trace_id: int
    version: int
    header: bytes | None
    body: bytes
    offset: int
    size: int
    number: int
    tag: str | None = None
    old: bool = False


class PublishResult(NamedTuple):
    """Where a publish landed: the first internal id, the first record's start, all bytes."""

    internal_id: int
    trace_id: int
    offset: int
    size: int
