"""Faults of messages stored on disk."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed, record
from wireproof_reference_impl.nsq.wire.message import NewMessage

_INDICATOR = packed.EXTEND_INDICATOR
_LARGE = 200

Rest = Callable[[NewMessage, int], bytes]


def _change_stored(rest: Rest) -> Settings:
    """Return settings that change the bytes after the id in records of ext topics."""

    def build(
        entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        return packed.record(
            timestamp_ns,
            _INDICATOR if extend else 0,
            internal_id=internal_id,
            trace_id=entry.trace_id,
            rest=rest(entry, version) if extend else entry.body,
        )

    return {"disk.build": build}


def _change_attempts(attempts: Callable[[NewMessage, bool], int]) -> Settings:
    """Return settings that change the attempts field of records, by the kind of topic."""

    def build(
        entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        part = record.extend_part(entry, version) if extend else b""
        return packed.record(
            timestamp_ns,
            attempts(entry, extend),
            internal_id=internal_id,
            trace_id=entry.trace_id,
            rest=part + entry.body,
        )

    return {"disk.build": build}


def _with_header(part: Rest) -> Settings:
    """Return settings that change the ext part of records with a header."""

    def rest(entry: NewMessage, version: int) -> bytes:
        if entry.header is None:
            return record.extend_part(entry, version) + entry.body
        return part(entry, version) + entry.body

    return _change_stored(rest)


def _header(entry: NewMessage) -> bytes:
    return entry.header or b""


def _on_large_plain(attempts: int, part: bytes = b"") -> Settings:
    """Return settings that change records of plain topics with larger bodies."""

    def build(
        entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        if extend or len(entry.body) < _LARGE:
            return record.build(
                entry, timestamp_ns, internal_id=internal_id, extend=extend, version=version
            )
        return packed.record(
            timestamp_ns,
            attempts,
            internal_id=internal_id,
            trace_id=entry.trace_id,
            rest=part + entry.body,
        )

    return {"disk.build": build}


@wrong_value("disk.layout", _with_header)
def disk_length_little_endian(entry: NewMessage, version: int) -> bytes:
    """Records on disk have the ext length in little-endian byte order."""
    return pack("<BH", version, len(_header(entry))) + _header(entry)


@extra("disk.layout", _with_header)
def disk_length_of_4_bytes(entry: NewMessage, version: int) -> bytes:
    """The ext length in records on disk takes 4 bytes."""
    return pack(">BI", version, len(_header(entry))) + _header(entry)


@missing("disk.layout", _with_header)
def disk_length_missing(entry: NewMessage, version: int) -> bytes:
    """Records on disk have the ext data without its length."""
    return bytes([version]) + _header(entry)


@wrong_value("disk.layout", _change_stored)
def disk_ext_behind_body(entry: NewMessage, version: int) -> bytes:
    """Records on disk have the ext part after the body."""
    return entry.body + record.extend_part(entry, version)


@wrong_value("disk.layout", setting("disk.build"))
def disk_ids_swapped(
    entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
) -> bytes:
    """The trace id is stored before the internal id."""
    return record.build(
        entry._replace(trace_id=internal_id),
        timestamp_ns,
        internal_id=entry.trace_id,
        extend=extend,
        version=version,
    )


@missing("disk.indicator", _change_attempts)
def disk_indicator_missing(entry: NewMessage, extend: bool) -> int:
    """No record has the indicator."""
    return 0


@wrong_value("disk.indicator", _change_attempts)
def disk_indicator_in_low_bits(entry: NewMessage, extend: bool) -> int:
    """The indicator is stored in the low bits of attempts."""
    return _INDICATOR >> 12 if extend else 0


@condition("disk.indicator", _change_attempts)
def disk_indicator_not_with_header(entry: NewMessage, extend: bool) -> int:
    """Records of messages with a header lack the indicator bits on disk."""
    return _INDICATOR if extend and entry.header is None else 0


@wrong_value("disk.plain-record")
def disk_indicator_on_plain() -> Change:
    """Records of 200 bytes or more of topics without ext support have the indicator bits on
    disk.
    """
    return _on_large_plain(_INDICATOR)


@extra("disk.plain-record")
def disk_version_on_plain() -> Change:
    """Records of 200 bytes or more of topics without ext support have an ext version on disk."""
    return _on_large_plain(0, b"\0")


@boundary("disk.plain-record")
def disk_ext_part_on_plain() -> Change:
    """Records of 200 bytes or more of topics without ext support are stored in the ext layout."""
    return _on_large_plain(_INDICATOR, b"\0")


FAULTS = list_faults(__name__)
