"""Messages as publishers send them and as the broker stores them."""

from typing import NamedTuple


class NewMessage(NamedTuple):
    """One message of a publish command, before it is stored in the queue."""

    body: bytes
    trace_id: int = 0
    header: bytes | None = None
    tag: str | None = None


class Message(NamedTuple):
    """A message as it is stored; `old` marks a record written without an ext part."""

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
    """The result of a publish: first internal id, first record's offset, total size, trace id."""

    internal_id: int
    trace_id: int
    offset: int
    size: int
