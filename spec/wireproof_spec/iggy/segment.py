"""The files of a segment: its log, its index of positions, its index of times.

Published generation only: servers from 0.2.5 on write batches. The three files are named by the
offset of the segment's first message, in 20 digits.
"""

import re

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ul, Int64ul, Record, field
from wireproof_spec.grammar.lengths import Each
from wireproof_spec.iggy.message import MESSAGE, Message


class Log(Struct, frozen=True, gc=False):
    """The content of a segment's log file: messages with the same bytes as in a poll response."""

    messages: tuple[Message, ...]


class PositionIndex(Struct, frozen=True, gc=False):
    """The content of a segment's index file: the byte position of each message in the log file."""

    positions: tuple[int, ...]


class TimeIndex(Struct, frozen=True, gc=False):
    """The content of a segment's time index file: each message's timestamp in microseconds."""

    timestamps: tuple[int, ...]


LOG = Schema(
    "log", "iggy.disk.same-layout", Log, Record(Log, field("messages", Each(MESSAGE.shape)))
)
"""Messages back to back, without a head or a count."""

POSITION_INDEX = Schema(
    "index",
    "iggy.disk.index",
    PositionIndex,
    Record(PositionIndex, field("positions", Each(Int32ul))),
)
"""4 bytes for each message."""

TIME_INDEX = Schema(
    "time index",
    "iggy.disk.time-index",
    TimeIndex,
    Record(TimeIndex, field("timestamps", Each(Int64ul))),
)
"""8 bytes for each message."""

_LOG_NAME = re.compile(r"([0-9]{20})\.log", re.ASCII)


def log_name(start_offset: int) -> str:
    """Return the name of the log file of a segment whose first message has this offset."""
    return f"{start_offset:020d}.log"


def index_name(start_offset: int) -> str:
    """Return the name of the index file of a segment whose first message has this offset."""
    return f"{start_offset:020d}.index"


def time_index_name(start_offset: int) -> str:
    """Return the name of the time index file of a segment whose first message has this offset."""
    return f"{start_offset:020d}.timeindex"


def read_log_name(name: str) -> int | None:
    """Return the offset in the name of a log file; None if it is another file's name."""
    match = _LOG_NAME.fullmatch(name)
    return None if match is None else int(match[1])


def partition_path(stream_id: int, topic_id: int, partition_id: int) -> str:
    """Return the path of a partition's files inside the data directory, with `/` as separator."""
    return f"streams/{stream_id}/topics/{topic_id}/partitions/{partition_id}"
