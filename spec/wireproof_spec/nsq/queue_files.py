"""The files of a partition's queue beside its records.

The JSON files are checked with the schemas nsq/queue-start and nsq/channel-meta.
"""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Field, Int32sb, Int64sb, Literal, Record, field
from wireproof_spec.grammar.texts import Decimal


class OffsetMeta(Struct, frozen=True, gc=False):
    """The metadata file of a finished queue file: messages up to its end, and its offsets."""

    total_count: int
    start_offset: int
    end_offset: int


class WriterMeta(Struct, frozen=True, gc=False):
    """The file that says where a queue's next record is written, and what precedes it."""

    total_count: int
    file_number: int
    file_position: int
    end_offset: int


class CommitLogRecord(Struct, frozen=True, gc=False):
    """An entry of a cluster node's commit log: one message or batch, by ids, offset and size."""

    log_id: int
    epoch: int
    last_log_id: int
    queue_offset: int
    size_bytes: int
    first_message_number: int
    message_count: int


_COMMA = field("comma", Literal(b","))
_LINE_FEED = field("line_feed", Literal(b"\n"))


def _number(name: str) -> Field:
    return field(name, Decimal())


OFFSET_META = Schema(
    "offset meta",
    "ext.disk.layout",
    OffsetMeta,
    Record(
        OffsetMeta,
        _number("total_count"),
        _LINE_FEED,
        _number("start_offset"),
        _COMMA,
        _number("end_offset"),
        _LINE_FEED,
    ),
)
"""Text: `total_count` LF `start_offset`,`end_offset` LF."""

_WRITER_META = (
    _number("total_count"),
    _LINE_FEED,
    _number("file_number"),
    _COMMA,
    _number("file_position"),
    _COMMA,
    _number("end_offset"),
    _LINE_FEED,
)

WRITER_META = Schema(
    "writer meta",
    "ext.disk.layout",
    WriterMeta,
    Record(WriterMeta, *_WRITER_META, field("magic", Literal(b"\xae\x83"))),
)
"""Text: `total_count` LF `file_number`,`file_position`,`end_offset` LF, then the bytes ae 83."""

WRITER_META_TEMPORARY = Schema(
    "temporary writer meta", "ext.disk.layout", WriterMeta, Record(WriterMeta, *_WRITER_META)
)
"""The same without the two bytes, as in the file's `.tmp` twin."""

COMMIT_LOG_RECORD = Schema(
    "commit log record",
    "ext.disk.layout",
    CommitLogRecord,
    Record(
        CommitLogRecord,
        field("log_id", Int64sb),
        field("epoch", Int64sb),
        field("last_log_id", Int64sb),
        field("queue_offset", Int64sb),
        field("size_bytes", Int32sb),
        field("first_message_number", Int64sb),
        field("message_count", Int32sb),
    ),
)
"""48 bytes; `log_id` is the first message's internal id, `last_log_id` the last one's."""
COMMIT_LOG_RECORD_SIZE = 48
