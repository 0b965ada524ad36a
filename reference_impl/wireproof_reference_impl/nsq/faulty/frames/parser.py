"""Faults of reading PUB_EXT frames: sizes and header lengths."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.harm import HARMS, ProcessEnds, StopsReading
from wireproof_reference_impl.nsq.faulty.shared_overrides import Number, change_declared
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import (
    Split,
    split_header,
)
from wireproof_reference_impl.overrides import Override, replace_function
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
    return (*HARMS, replace_function(frame_reading, "split_header", split))


def _deaf_when_negative(connection: Connection, kind: str, size: int) -> int:
    if kind == "size" and size < 0 and connection.command in _SINGLE:
        raise StopsReading
    return size


def _raise_beyond(most: int, error: type[Exception]) -> tuple[Override, ...]:
    """Return overrides under which longer valid headers cause an internal error of the broker."""

    def split(data: bytes) -> Split | None:
        taken = split_header(data)
        if taken is not None and len(taken.header) > most:
            raise error
        return taken

    return _split(split)


def _halting_unless_json(data: bytes) -> Split | None:
    taken = split_header(data)
    if taken is not None and len(taken.header) > _MOST_LENGTH - 2 and taken.header[:1] != b"{":
        raise ProcessEnds
    return taken


def _halting_when_beyond(data: bytes) -> Split | None:
    if _length(data) > len(data):
        raise ProcessEnds
    return split_header(data)


def _deaf_when_beyond(data: bytes) -> Split | None:
    if _length(data) > len(data):
        raise StopsReading
    return split_header(data)


def _clamp(data: bytes) -> Split | None:
    """Reduce a header length beyond the frame so that one byte is left for the body."""
    return _cut_at(data, min(_length(data), max(len(data) - 3, 0)))


def _nothing_left_of_it(data: bytes) -> Split | None:
    """Read a header length beyond the frame as 0."""
    return split_header(data) or Split(b"{}", data[2:])


def _one_beyond(data: bytes) -> Split | None:
    """Accept a header length that is exactly one byte too long."""
    if _length(data) == len(data) - 1:
        return _cut_at(data, len(data) - 3)
    return split_header(data)


def _little_endian(data: bytes) -> Split | None:
    """Read the header length as little endian, if it is above 255."""
    length = _length(data)
    return _cut_at(data, int.from_bytes(data[:2], "little") if length > 255 else length)


def _counting_itself(data: bytes) -> Split | None:
    """Read a header length above 255 as including its own two bytes."""
    return _cut_at(data, _length(data) - 2 if _length(data) > 255 else _length(data))


def _read_signed(data: bytes) -> Split | None:
    """Read the header length as signed, so that from 32768 on the header is empty."""
    length = int.from_bytes(data[:2], signed=True)
    return _cut_at(data, length) if length >= 0 else Split(b"{}", data[2:])


def _of_one_byte(data: bytes) -> Split | None:
    return _cut_at(data, _length(data) % 256)


def _wait_for(is_waited_for: Callable[[int, int], bool]) -> tuple[Override, ...]:
    """Return overrides that wait for the bytes of some sizes that should be refused at once."""

    def change(connection: Connection, kind: str, size: int) -> Number:
        limits = connection.node.limits
        limit = limits.message if connection.command in _SINGLE else limits.body
        if kind in ("size", "identify size") and is_waited_for(size, limit):
            yield _ENDLESS
        return size

    return (*HARMS, change_declared(change))


_LENGTH = "parser.header-length"
_BEYOND = "parser.header-beyond-frame"
_SIZE = "parser.size"

FAULTS: tuple[Preset, ...] = (
    boundary(
        "length-65535-halts",
        "a header length of 65535 crashes the broker",
        breaks=_LENGTH,
        overrides=_raise_beyond(_MOST_LENGTH - 1, ProcessEnds),
    ),
    boundary(
        "length-65534-deafens",
        "after a header length above 65533, the broker reads nothing more from the connection",
        breaks=_LENGTH,
        overrides=_raise_beyond(_MOST_LENGTH - 2, StopsReading),
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
        overrides=_raise_beyond(32767, StopsReading),
    ),
    boundary(
        "length-signed",
        "header lengths from 32768 on are read as negative numbers",
        breaks="consume.layout",
        may_break=(
            "consume.body-intact disk.layout parser.header-beyond-frame parser.header-length"
        ),
        overrides=_split(_read_signed),
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
        overrides=_split(_clamp),
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
        overrides=_wait_for(lambda size, limit: size < 0),
    ),
    missing(
        "size-negative-unanswered",
        "after a negative size the broker answers nothing and reads nothing more",
        breaks=_SIZE,
        may_break="parser.in-step publish.error-same-as-pub smart.partition.pub-bad-message",
        overrides=(*HARMS, change_declared(_deaf_when_negative)),
    ),
    boundary(
        "size-least-waits",
        "the broker waits for a body when the size is the smallest negative number",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        overrides=_wait_for(lambda size, limit: size == -(1 << 31)),
    ),
)
