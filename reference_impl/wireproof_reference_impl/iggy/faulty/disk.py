"""Faults of log files and of their indexes."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.disk import SegmentFiles
from wireproof_reference_impl.iggy.faulty.effect import make_overriding
from wireproof_reference_impl.iggy.faulty.ways import boundary, missing, wrong_value
from wireproof_reference_impl.iggy.streams.storage import Rows
from wireproof_reference_impl.iggy.wire.message import Message, old_record, record
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Effect


def _rows(change: Callable[[Rows], Rows]) -> Effect:
    """Return an effect that changes what is written to the files of a segment."""

    def append(original: Original, files: SegmentFiles, start: int, rows: Rows) -> None:
        original(files, start, change(rows))

    return make_overriding(around(SegmentFiles, "append", append))


def _positions(change: Callable[[int], int]) -> Effect:
    return _rows(lambda rows: rows._replace(positions=[*map(change, rows.positions)]))


@missing("disk.same-layout")
def log_in_old_layout() -> Change:
    """Log files hold messages in the old layout, without state and checksum."""
    return {"log.record": old_record}


@wrong_value("disk.same-layout", setting("log.record"))
def log_with_lengths(message: Message) -> bytes:
    """In log files, each message follows its length in 4 bytes."""
    data = record(message)
    return len(data).to_bytes(4, "little") + data


@missing("disk.same-layout", setting("log.record"))
def log_without_checksum(message: Message) -> bytes:
    """In log files, the checksum of every message is 0."""
    return record(replace(message, checksum=0))


@boundary("disk.same-layout", setting("log.record"))
def log_cut(message: Message) -> bytes:
    """In log files, every payload of two bytes or more lacks its last byte."""
    data = record(message)
    return data if len(message.payload) < 2 else data[:-1]


@boundary("disk.index", _positions)
def index_off_by_one(position: int) -> int:
    """Each position in an index file is one byte too far."""
    return position + 1


@missing("disk.index", _positions)
def index_empty(position: int) -> int:
    """Each position in an index file is 0."""
    return 0


@wrong_value("disk.time-index", _rows)
def time_index_in_milliseconds(rows: Rows) -> Rows:
    """Timestamps in time index files are in milliseconds instead of microseconds."""
    return rows._replace(timestamps=[timestamp // 1000 for timestamp in rows.timestamps])


@boundary("disk.names", around(SegmentFiles, "path"))
def log_named_from_one(original: Original, files: SegmentFiles, start: int, kind: str) -> object:
    """The files of a segment are named after its first offset plus one."""
    return original(files, start + 1, kind)


FAULTS = list_faults(__name__)
