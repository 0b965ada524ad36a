"""Messages as records of the disk queue, and back."""

from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage
from wireproof_spec.nsq.limits import MAX_ATTEMPTS
from wireproof_spec.nsq.names import EXT_VERSION_NONE


def extend_part(entry: NewMessage, version: int) -> bytes:
    """Return the ext part of a new record; version 0 has no length."""
    if entry.header is None:
        return b"\0"
    return packed.extend_part(version, entry.header)


def build(
    entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
) -> bytes:
    """Return the record of a new message.

    On an ext topic every record has the indicator and an ext part; on any other topic none has.

    Clause: ext.disk.layout, ext.disk.indicator, ext.disk.plain-record
    """
    return packed.record(
        timestamp_ns,
        packed.EXTEND_INDICATOR if extend else 0,
        internal_id=internal_id,
        trace_id=entry.trace_id,
        rest=extend_part(entry, version) + entry.body if extend else entry.body,
    )


def read(record: bytes, offset: int, number: int) -> Message:
    """Return the message of a record.

    If the high 4 bits of attempts exceed the greatest count, an ext part follows: a version and,
    unless that is 0, length and data.
    """
    _, timestamp_ns, attempts, internal_id, trace_id = packed.read_record(record)
    start = 4 + packed.MESSAGE_HEAD_BYTES
    old = attempts <= MAX_ATTEMPTS
    version, header = EXT_VERSION_NONE, None
    if not old:
        version = record[start]
        start += 1
        if version != EXT_VERSION_NONE:
            length = int.from_bytes(record[start : start + 2])
            header = record[start + 2 : start + 2 + length]
            start += 2 + length
    return Message(
        timestamp_ns=timestamp_ns,
        internal_id=internal_id,
        trace_id=trace_id,
        version=version,
        header=header,
        body=record[start:],
        offset=offset,
        size=len(record),
        number=number,
        old=old,
    )
