"""Faults of log files and of their indexes."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.iggy.disk import SegmentFiles
from wireproof_reference_impl.iggy.faulty.effect import (
    DISK,
    Effect,
    boundary,
    make_overriding,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.streams.storage import Rows
from wireproof_reference_impl.iggy.wire.message import Message, old_record, record
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import (
    Preset,
)


def _counted_record(message: Message) -> bytes:
    data = record(message)
    return len(data).to_bytes(4, "little") + data


def _without_checksum(message: Message) -> bytes:
    return record(replace(message, checksum=0))


def _without_last_byte(message: Message) -> bytes:
    data = record(message)
    return data if len(message.payload) < 2 else data[:-1]


def _rows(change: Callable[[Rows], Rows]) -> Effect:
    """Return an effect that changes what is written to the files of a segment."""

    def append(original: Original, files: SegmentFiles, start: int, rows: Rows) -> None:
        original(files, start, change(rows))

    return make_overriding(around(SegmentFiles, "append", append))


def _positions(change: Callable[[int], int]) -> Effect:
    return _rows(lambda rows: rows._replace(positions=[*map(change, rows.positions)]))


def _in_milliseconds(rows: Rows) -> Rows:
    return rows._replace(timestamps=[each // 1000 for each in rows.timestamps])


def _path_from_one(original: Original, files: SegmentFiles, start: int, kind: str) -> object:
    return original(files, start + 1, kind)


FAULTS: tuple[Preset, ...] = (
    missing(
        "log-in-old-layout",
        "log files hold messages in the old layout, without state and checksum",
        {"log.record": old_record},
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    wrong_value(
        "log-with-lengths",
        "in log files, each message follows its length in 4 bytes",
        {"log.record": _counted_record},
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    missing(
        "log-without-checksum",
        "in log files, the checksum of every message is 0",
        {"log.record": _without_checksum},
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    boundary(
        "log-cut",
        "in log files, every payload of two bytes or more lacks its last byte",
        {"log.record": _without_last_byte},
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    boundary(
        "index-off-by-one",
        "each position in an index file is one byte too far",
        _positions(lambda position: position + 1),
        breaks="disk.index",
    ),
    missing(
        "index-empty",
        "each position in an index file is 0",
        _positions(lambda position: 0),
        breaks="disk.index",
    ),
    wrong_value(
        "time-index-in-milliseconds",
        "timestamps in time index files are in milliseconds instead of microseconds",
        _rows(_in_milliseconds),
        breaks="disk.time-index",
    ),
    boundary(
        "log-named-from-one",
        "the files of a segment are named after its first offset plus one",
        make_overriding(around(SegmentFiles, "path", _path_from_one)),
        breaks="disk.names",
        may_break=DISK,
    ),
)
