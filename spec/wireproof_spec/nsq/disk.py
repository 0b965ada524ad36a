"""The queue records of a partition, as stored in its files.

Records follow each other in numbered files and are never split. Offsets count from the first byte
of the first file and continue across files. `queue_files` has the files beside them.
"""

from typing import Literal, TypeAlias, get_args

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int16ub, Int32ub, Lifted, Ranged, Record, When, field
from wireproof_spec.grammar.lengths import Sized
from wireproof_spec.nsq import limits
from wireproof_spec.nsq.message import Message, extend_layout, message_layout
from wireproof_spec.stream import NeedMore, SizedReader

RecordKind: TypeAlias = Literal["plain", "ext", "from-record"]
"""Which records have an extend part: none, all, or those whose indicator bits say so (files of
an upgraded topic hold both)."""

_LENGTH_SIZE = 4
_LEAST_SIZE = _LENGTH_SIZE + 26  # timestamp, attempts, message id
_ATTEMPTS_AT = _LENGTH_SIZE + 8  # after length and timestamp
_COUNTER_BITS = 12
_MOST_ATTEMPTS = (1 << _COUNTER_BITS) - 1


class DiskRecord(Struct, frozen=True, gc=False):
    """A message as stored in a queue file; `indicator`: the high 4 bits of its attempts."""

    message: Message
    indicator: int

    @property
    def raw_size(self) -> int:
        """The number of bytes that the record takes in the file, with its length field."""
        extend = self.message.extend
        extended = 0 if extend is None else 1 if extend.data is None else 3 + len(extend.data)
        return _LEAST_SIZE + extended + len(self.message.body)


class _Stored(Struct, frozen=True, gc=False):
    message: Message  # its attempts still hold the indicator


def disk_record_schema(kind: RecordKind, *, length_always: bool = False) -> Schema[DiskRecord]:
    """Return the schema of a queue file's record; `length_always` as in `message.extend_layout`.

    Layout: 4-byte `length` of what follows, then the message; the high 4 bits of its attempts are
    the indicator. `plain` rejects an indicator, `ext` requires one. The published text gives no
    value for it; deployed brokers write 0xa.
    """
    return _SCHEMAS[kind, length_always]


def _schema(kind: RecordKind, *, length_always: bool) -> Schema[DiskRecord]:
    # The measured broker looks at the high 4 bits only when the field exceeds 4000, its greatest
    # counter; from there to 4095 they are zero anyway.
    has_indicator = this.attempts > _MOST_ATTEMPTS
    lowest = _MOST_ATTEMPTS + 1 if kind == "ext" else 0
    highest = _MOST_ATTEMPTS if kind == "plain" else Int16ub.highest
    message = message_layout(
        field("extend", When(has_indicator, extend_layout(length_always=length_always))),
        attempts=Ranged(Int16ub, lowest, highest),
    )
    stored = Record(_Stored, field("message", message))
    record = Lifted(
        stored,
        DiskRecord,
        number="attempts",
        bits=_COUNTER_BITS,
        into="indicator",
        offset=_ATTEMPTS_AT,
    )
    clause = "ext.disk.plain-record" if kind == "plain" else "ext.disk.layout"
    shape = Sized(Int32ub, record, name="length")
    return Schema(f"disk record, {kind}", clause, DiskRecord, shape)


_KINDS: tuple[RecordKind, ...] = get_args(RecordKind)
_SCHEMAS = {
    (kind, always): _schema(kind, length_always=always)
    for kind in _KINDS
    for always in (False, True)
}

DISK_RECORD_PLAIN = disk_record_schema("plain")
DISK_RECORD_EXT = disk_record_schema("ext")
DISK_RECORD = disk_record_schema("from-record")


class RecordReader(SizedReader[DiskRecord]):
    """Reads records from the bytes of a queue; holds one record and the last bytes fed."""

    def __init__(
        self,
        kind: RecordKind,
        *,
        length_always: bool = False,
        limit: int = limits.MAX_BYTES_PER_FILE,
    ) -> None:
        """Create a reader; `limit` is the largest length that a record may declare."""
        schema = disk_record_schema(kind, length_always=length_always)
        super().__init__(schema, limit)

    def next_record(self) -> DiskRecord | NeedMore:
        """Return the next complete record, or NEED_MORE.

        Raises:
            WireError: the bytes are no record of this kind; the offset counts from the first
                byte fed.
        """
        return self.next()
