"""Faults of messages stored on disk."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.preset import (
    Preset,
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


def _little_endian(entry: NewMessage, version: int) -> bytes:
    return pack("<BH", version, len(_header(entry))) + _header(entry)


def _wide_length(entry: NewMessage, version: int) -> bytes:
    return pack(">BI", version, len(_header(entry))) + _header(entry)


def _no_length(entry: NewMessage, version: int) -> bytes:
    return bytes([version]) + _header(entry)


def _ids_swapped(
    entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
) -> bytes:
    return record.build(
        entry._replace(trace_id=internal_id),
        timestamp_ns,
        internal_id=entry.trace_id,
        extend=extend,
        version=version,
    )


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


_LAYOUT = "disk.layout"
_INDICATED = "disk.indicator"
_PLAIN = "disk.plain-record"

FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "disk-length-little-endian",
        "records on disk have the ext length in little-endian byte order",
        breaks=_LAYOUT,
        may_break="disk.indicator disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_with_header(_little_endian),
    ),
    extra(
        "disk-length-of-4-bytes",
        "the ext length in records on disk takes 4 bytes",
        breaks=_LAYOUT,
        may_break="disk.upgraded upgrade.subscribe-rules",
        settings=_with_header(_wide_length),
    ),
    missing(
        "disk-length-missing",
        "records on disk have the ext data without its length",
        breaks=_LAYOUT,
        may_break="disk.indicator disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_with_header(_no_length),
    ),
    wrong_value(
        "disk-ext-behind-body",
        "records on disk have the ext part after the body",
        breaks=_LAYOUT,
        may_break=(
            "disk.indicator disk.no-ext-record disk.upgraded upgrade.accept "
            "upgrade.subscribe-rules"
        ),
        settings=_change_stored(
            lambda entry, version: entry.body + record.extend_part(entry, version)
        ),
    ),
    wrong_value(
        "disk-ids-swapped",
        "the trace id is stored before the internal id",
        breaks=_LAYOUT,
        may_break="consume.no-header disk.no-ext-record upgrade.accept upgrade.subscribe-rules",
        settings={"disk.build": _ids_swapped},
    ),
    missing(
        "disk-indicator-missing",
        "no record has the indicator",
        breaks=_INDICATED,
        may_break="disk.layout disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_change_attempts(lambda entry, extend: 0),
    ),
    wrong_value(
        "disk-indicator-in-low-bits",
        "the indicator is stored in the low bits of attempts",
        breaks=_INDICATED,
        may_break="disk.layout disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_change_attempts(lambda entry, extend: _INDICATOR >> 12 if extend else 0),
    ),
    condition(
        "disk-indicator-not-with-header",
        "records of messages with a header lack the indicator bits on disk",
        breaks=_INDICATED,
        may_break="disk.layout disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_change_attempts(
            lambda entry, extend: _INDICATOR if extend and entry.header is None else 0
        ),
    ),
    wrong_value(
        "disk-indicator-on-plain",
        "records of 200 bytes or more of topics without ext support have the indicator bits on "
        "disk",
        breaks=_PLAIN,
        may_break="disk.upgraded",
        settings=_on_large_plain(_INDICATOR),
    ),
    extra(
        "disk-version-on-plain",
        "records of 200 bytes or more of topics without ext support have an ext version on disk",
        breaks=_PLAIN,
        may_break="disk.upgraded",
        settings=_on_large_plain(0, b"\0"),
    ),
    boundary(
        "disk-ext-part-on-plain",
        "records of 200 bytes or more of topics without ext support are stored in the ext layout",
        breaks=_PLAIN,
        may_break="disk.upgraded",
        settings=_on_large_plain(_INDICATOR, b"\0"),
    ),
)
