"""The files of a partition's queue beside its records, and what all of them are called.

All lie in the topic's directory. `<topic>-<N>.diskqueue.` begins the names of what belongs to
partition N; the JSON files are checked by the schemas nsq/queue-start and nsq/channel-meta.
"""

import re
from dataclasses import dataclass

from wireproof_spec.decoding import Schema
from wireproof_spec.layout import Field, Int32sb, Int64sb, Literal, Record, field
from wireproof_spec.texts import Decimal


@dataclass(frozen=True, slots=True)
class OffsetMeta:
    """A finished file: messages in the queue up to its end, and the offsets it spans."""

    total_count: int
    start_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class WriterMeta:
    """Where the next record goes."""

    total_count: int
    file_number: int
    file_position: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class CommitLogRecord:
    """One commit of a cluster node: a message, or a batch of them."""

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

SIX_DIGITS_UP_TO = 999_990
"""Files numbered above have names of nine digits (FileNumV2Seq of the measured peer)."""

_QUEUE_FILE = re.compile(
    r"(?P<topic>.+)-(?P<partition>[0-9]+)\.diskqueue\.(?P<number>[0-9]{6,})\.dat"
)


@dataclass(frozen=True, slots=True, order=True)
class QueueFile:
    """Which file of which queue; sorts in the order of the queue."""

    topic: str
    partition: int
    number: int

    @property
    def name(self) -> str:
        """The name in the topic's directory."""
        return queue_file_name(self.topic, self.partition, self.number)


def read_queue_file_name(name: str) -> QueueFile | None:
    """Return which queue file bears this name; None when none does."""
    match = _QUEUE_FILE.fullmatch(name)
    if match is None:
        return None
    return QueueFile(match["topic"], int(match["partition"]), int(match["number"]))


def _queue_name(topic: str, partition: int) -> str:
    return f"{topic}-{partition}.diskqueue"


def queue_file_name(topic: str, partition: int, number: int) -> str:
    """Return the name of a file of records; `number` counts from 0."""
    digits = 6 if number <= SIX_DIGITS_UP_TO else 9
    return f"{_queue_name(topic, partition)}.{number:0{digits}d}.dat"


def offset_meta_name(topic: str, partition: int, number: int) -> str:
    """Return the name of a finished file's offset meta."""
    return f"{queue_file_name(topic, partition, number)}.offsetmeta.dat"


def writer_meta_name(topic: str, partition: int) -> str:
    """Return the name of the file that says where the next record goes."""
    return f"{_queue_name(topic, partition)}.meta.writer.dat"


def queue_start_name(topic: str, partition: int) -> str:
    """Return the name of the JSON file that says where the queue starts."""
    return f"{_queue_name(topic, partition)}.meta.extra.dat"


def channel_meta_name(partition: int) -> str:
    """Return the name of the JSON file that lists a partition's channels."""
    return f"channel_meta{partition}"


def magic_name(partition: int) -> str:
    """Return the name of the file with the topic's magic code (cluster only)."""
    return f"magic{partition}"


def commit_log_name(topic: str, partition: int) -> str:
    """Return the name of the commit log (cluster only)."""
    return f"{topic}_{partition}.commit.log"
