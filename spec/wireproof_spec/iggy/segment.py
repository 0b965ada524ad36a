"""The files of a segment: its log, the index of positions and the index of times.

Published generation only: servers from 0.2.5 on write batches. A segment's three files are named
by the offset of its first message, in 20 digits.
"""

import re

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.iggy.message import MESSAGE, Message
from wireproof_spec.layout import Int32ul, Int64ul, Record, field
from wireproof_spec.lengths import Each


class Log(Struct, frozen=True, gc=False):
    """The messages of a segment, exactly as they are polled."""

    messages: tuple[Message, ...]


class PositionIndex(Struct, frozen=True, gc=False):
    """For each message of the log the byte at which it starts."""

    positions: tuple[int, ...]


class TimeIndex(Struct, frozen=True, gc=False):
    """For each message of the log its timestamp in microseconds."""

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
    """Return the name of the log whose first message has this offset."""
    return f"{start_offset:020d}.log"


def index_name(start_offset: int) -> str:
    """Return the name of that log's index."""
    return f"{start_offset:020d}.index"


def time_index_name(start_offset: int) -> str:
    """Return the name of that log's time index."""
    return f"{start_offset:020d}.timeindex"


def read_log_name(name: str) -> int | None:
    """Return the offset in a log's name; None where it is not the name of one."""
    match = _LOG_NAME.fullmatch(name)
    return None if match is None else int(match[1])


def partition_path(stream_id: int, topic_id: int, partition_id: int) -> str:
    """Return where a partition's files lie below the data directory, with `/` between."""
    return f"streams/{stream_id}/topics/{topic_id}/partitions/{partition_id}"
