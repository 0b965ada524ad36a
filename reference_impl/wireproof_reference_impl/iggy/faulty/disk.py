"""Faults of log files and of their indexes."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.iggy.disk import SegmentFiles
from wireproof_reference_impl.iggy.faulty.effect import DISK, Effect, fault, make_overriding
from wireproof_reference_impl.iggy.streams.storage import Rows
from wireproof_reference_impl.iggy.wire.message import Message, old_record, record
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import (
    BOUNDARY,
    MISSING,
    WRONG_VALUE,
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

    def wrap(original: Callable[..., object]) -> Callable[..., object]:
        def append(files: SegmentFiles, start: int, rows: Rows) -> None:
            original(files, start, change(rows))

        return append

    return make_overriding(Override(SegmentFiles, "append", wrap))


def _positions(change: Callable[[int], int]) -> Effect:
    return _rows(lambda rows: rows._replace(positions=[*map(change, rows.positions)]))


def _in_milliseconds(rows: Rows) -> Rows:
    return rows._replace(timestamps=[each // 1000 for each in rows.timestamps])


def _path_from_one(original: Callable[..., object]) -> Callable[..., object]:
    def path(files: SegmentFiles, start: int, kind: str) -> object:
        return original(files, start + 1, kind)

    return path


FAULTS: tuple[Preset, ...] = (
    fault(
        "log-in-old-layout",
        "log files hold messages in the old layout, without state and checksum",
        {"log.record": old_record},
        way=MISSING,
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    fault(
        "log-with-lengths",
        "in log files, each message follows its length in 4 bytes",
        {"log.record": _counted_record},
        way=WRONG_VALUE,
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    fault(
        "log-without-checksum",
        "in log files, the checksum of every message is 0",
        {"log.record": _without_checksum},
        way=MISSING,
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    fault(
        "log-cut",
        "in log files, every payload of two bytes or more lacks its last byte",
        {"log.record": _without_last_byte},
        way=BOUNDARY,
        breaks="disk.same-layout",
        may_break=DISK,
    ),
    fault(
        "index-off-by-one",
        "each position in an index file is one byte too far",
        _positions(lambda position: position + 1),
        way=BOUNDARY,
        breaks="disk.index",
    ),
    fault(
        "index-empty",
        "each position in an index file is 0",
        _positions(lambda position: 0),
        way=MISSING,
        breaks="disk.index",
    ),
    fault(
        "time-index-in-milliseconds",
        "timestamps in time index files are in milliseconds instead of microseconds",
        _rows(_in_milliseconds),
        way=WRONG_VALUE,
        breaks="disk.time-index",
    ),
    fault(
        "log-named-from-one",
        "the files of a segment are named after its first offset plus one",
        make_overriding(Override(SegmentFiles, "path", _path_from_one)),
        way=BOUNDARY,
        breaks="disk.names",
        may_break=DISK,
    ),
)
