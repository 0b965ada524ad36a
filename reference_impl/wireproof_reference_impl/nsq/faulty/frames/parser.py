"""Faults of reading PUB_EXT frames: sizes and header lengths."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.harm import HARMS, Deaf, Halt
from wireproof_reference_impl.nsq.faulty.shared_overrides import Number, declared
from wireproof_reference_impl.nsq.preset import (
    LATE,
    Preset,
    boundary,
    condition,
    fault,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import (
    Split,
    split_header,
)
from wireproof_reference_impl.overrides import Override, replaced
from wireproof_spec.nsq.names import PUB, PUB_EXT, PUB_TRACE

_MOST_LENGTH = 65535
_SINGLE = (PUB, PUB_EXT, PUB_TRACE)
_ENDLESS = 1 << 62
"""More bytes than any client sends."""


def _length(data: bytes) -> int:
    return int.from_bytes(data[:2])


def _cut_at(data: bytes, length: int) -> Split | None:
    """Split a body at a changed header length."""
    if len(data) <= 2 + length:
        return None
    return Split(data[2 : 2 + length], data[2 + length :])


def _split(split: Callable[[bytes], Split | None]) -> tuple[Override, ...]:
    return (*HARMS, replaced(frame_reading, "split_header", split))


def _raising(most: int, error: type[Exception]) -> tuple[Override, ...]:
    """Return overrides under which longer headers that fit end in an error of the broker's own."""

    def split(data: bytes) -> Split | None:
        taken = split_header(data)
        if taken is not None and len(taken.header) > most:
            raise error
        return taken

    return _split(split)


def _halting_unless_json(data: bytes) -> Split | None:
    taken = split_header(data)
    if taken is not None and len(taken.header) > _MOST_LENGTH - 2 and taken.header[:1] != b"{":
        raise Halt
    return taken


def _halting_when_beyond(data: bytes) -> Split | None:
    if _length(data) > len(data):
        raise Halt
    return split_header(data)


def _deaf_when_beyond(data: bytes) -> Split | None:
    if _length(data) > len(data):
        raise Deaf
    return split_header(data)


def _clamped(data: bytes) -> Split | None:
    """Reduce a header length beyond the frame so that one byte of body is left."""
    return _cut_at(data, min(_length(data), max(len(data) - 3, 0)))


def _nothing_left_of_it(data: bytes) -> Split | None:
    """Read a header length beyond the frame as no header."""
    return split_header(data) or Split(b"{}", data[2:])


def _one_beyond(data: bytes) -> Split | None:
    """Overlook a header length that is just one byte too long."""
    if _length(data) == len(data) - 1:
        return _cut_at(data, len(data) - 3)
    return split_header(data)


def _little_endian(data: bytes) -> Split | None:
    """Read the header length in the wrong byte order, if it has two bytes to speak of."""
    length = _length(data)
    return _cut_at(data, int.from_bytes(data[:2], "little") if length > 255 else length)


def _counting_itself(data: bytes) -> Split | None:
    """Read a header length above 255 as including its own two bytes."""
    return _cut_at(data, _length(data) - 2 if _length(data) > 255 else _length(data))


def _signed(data: bytes) -> Split | None:
    """Read the header length as signed: from 32768 on nothing is left of the header."""
    length = int.from_bytes(data[:2], signed=True)
    return _cut_at(data, length) if length >= 0 else Split(b"{}", data[2:])


def _of_one_byte(data: bytes) -> Split | None:
    return _cut_at(data, _length(data) % 256)


def _waiting(is_waited_for: Callable[[int, int], bool]) -> tuple[Override, ...]:
    """Return overrides under which some sizes are waited for that should be refused."""

    def change(connection: Connection, kind: str, size: int) -> Number:
        limits = connection.node.limits
        limit = limits.message if connection.command in _SINGLE else limits.body
        if kind in ("size", "identify size") and is_waited_for(size, limit):
            yield _ENDLESS
        return size

    return (*HARMS, declared(change))


_LENGTH = "parser.header-length"
_BEYOND = "parser.header-beyond-frame"
_SIZE = "parser.size"

FAULTS: tuple[Preset, ...] = (
    boundary(
        "length-65535-halts",
        "a header length of 65535 crashes the broker",
        breaks=_LENGTH,
        overrides=_raising(_MOST_LENGTH - 1, Halt),
    ),
    boundary(
        "length-65534-deafens",
        "after a header length above 65533, the broker reads nothing more from the connection",
        breaks=_LENGTH,
        overrides=_raising(_MOST_LENGTH - 2, Deaf),
    ),
    condition(
        "length-65534-halts-unless-json",
        "a header length above 65533 crashes the broker if the header is not a JSON object",
        breaks=_LENGTH,
        overrides=_split(_halting_unless_json),
    ),
    missing(
        "length-32768-deafens",
        "after a header length above 32767, the broker reads nothing more from the connection",
        breaks=_LENGTH,
        may_break="consume.body-intact consume.layout",
        overrides=_raising(32767, Deaf),
    ),
    boundary(
        "length-signed",
        "header lengths from 32768 on are read as negative numbers",
        breaks="consume.layout",
        may_break=(
            "consume.body-intact disk.layout parser.header-beyond-frame parser.header-length"
        ),
        overrides=_split(_signed),
    ),
    boundary(
        "length-of-one-byte",
        "only the low byte of the header length is read",
        breaks="publish.accept",
        may_break="parser.header-beyond-frame",
        overrides=_split(_of_one_byte),
    ),
    wrong_value(
        "length-little-endian",
        "header lengths above 255 are read in little-endian byte order",
        breaks="publish.accept",
        overrides=_split(_little_endian),
    ),
    wrong_value(
        "length-counts-itself",
        "header lengths above 255 are read as including their own two bytes",
        breaks="publish.accept",
        overrides=_split(_counting_itself),
    ),
    wrong_value(
        "beyond-clamped",
        "a header length beyond the end of the frame is reduced to fit",
        breaks=_BEYOND,
        overrides=_split(_clamped),
    ),
    wrong_value(
        "beyond-no-header",
        "a header length beyond the end of the frame is read as no header",
        breaks=_BEYOND,
        may_break="consume.body-intact",
        overrides=_split(_nothing_left_of_it),
    ),
    boundary(
        "beyond-by-one",
        "a header length one byte beyond the end of the frame is accepted",
        breaks=_BEYOND,
        overrides=_split(_one_beyond),
    ),
    missing(
        "beyond-halts",
        "a header length beyond the end of the frame crashes the broker",
        breaks=_BEYOND,
        may_break="dispatch.not-ready http.header-json parser.header-length",
        overrides=_split(_halting_when_beyond),
    ),
    missing(
        "beyond-deafens",
        "after a header length beyond the end of the frame, the broker reads nothing more from "
        "the connection",
        breaks=_BEYOND,
        may_break="parser.in-step",
        overrides=_split(_deaf_when_beyond),
    ),
    wrong_value(
        "size-negative-waits",
        "a negative size is read as a huge one, and the broker waits for that many bytes",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        overrides=_waiting(lambda size, limit: size < 0),
    ),
    fault(
        "size-oversize-waits",
        "the broker waits for all of an oversized body before it refuses it",
        way=LATE,
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        overrides=_waiting(lambda size, limit: size > limit),
    ),
    boundary(
        "size-least-waits",
        "the broker waits for a body when the size is the smallest negative number",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        overrides=_waiting(lambda size, limit: size == -(1 << 31)),
    ),
    boundary(
        "size-greatest-waits",
        "the broker waits for a body when the size is the greatest possible number",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        overrides=_waiting(lambda size, limit: size == (1 << 31) - 1),
    ),
)
