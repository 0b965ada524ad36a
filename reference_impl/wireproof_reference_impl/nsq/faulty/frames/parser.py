"""Faults of reading PUB_EXT frames: sizes and header lengths."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.errors import answered_with_a_response
from wireproof_reference_impl.nsq.faulty.harm import HARMS, ProcessEnds, StopsReading
from wireproof_reference_impl.nsq.faulty.shared_overrides import change_declared
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import (
    Split,
    split_header,
)
from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_spec.nsq.error_codes import E_BAD_MESSAGE
from wireproof_spec.nsq.names import PUB, PUB_EXT, PUB_TRACE

_MOST_LENGTH = 65535
_SINGLE = (PUB, PUB_EXT, PUB_TRACE)


def _length(data: bytes) -> int:
    return int.from_bytes(data[:2])


def _cut_at(data: bytes, length: int) -> Split | None:
    """Split a body at a changed header length."""
    if len(data) <= 2 + length:
        return None
    return Split(data[2 : 2 + length], data[2 + length :])


def _split(split: Callable[[bytes], Split | None]) -> tuple[Override, ...]:
    return (*HARMS, replace_function(frame_reading, "split_header", split))


def _raise_beyond(most: int, error: type[Exception]) -> tuple[Override, ...]:
    """Return overrides under which longer valid headers cause an internal error of the broker."""

    def split(data: bytes) -> Split | None:
        taken = split_header(data)
        if taken is not None and len(taken.header) > most:
            raise error
        return taken

    return _split(split)


@boundary("parser.header-length")
def length_65535_halts() -> Change:
    """A header length of 65535 crashes the broker."""
    return _raise_beyond(_MOST_LENGTH - 1, ProcessEnds)


@boundary("parser.header-length")
def length_65534_deafens() -> Change:
    """After a header length above 65533, the broker reads nothing more from the connection."""
    return _raise_beyond(_MOST_LENGTH - 2, StopsReading)


@condition("parser.header-length", _split)
def length_65534_halts_unless_json(data: bytes) -> Split | None:
    """A header length above 65533 crashes the broker if the header is not a JSON object."""
    taken = split_header(data)
    if taken is not None and len(taken.header) > _MOST_LENGTH - 2 and taken.header[:1] != b"{":
        raise ProcessEnds
    return taken


@missing("parser.header-length")
def length_32768_deafens() -> Change:
    """After a header length above 32767, the broker reads nothing more from the connection."""
    return _raise_beyond(32767, StopsReading)


@boundary("consume.layout", _split)
def length_signed(data: bytes) -> Split | None:
    """Header lengths from 32768 on are read as negative numbers."""
    length = int.from_bytes(data[:2], signed=True)
    return _cut_at(data, length) if length >= 0 else Split(b"{}", data[2:])


@boundary("publish.accept", _split)
def length_of_one_byte(data: bytes) -> Split | None:
    """Only the low byte of the header length is read."""
    return _cut_at(data, _length(data) % 256)


@wrong_value("publish.accept", _split)
def length_little_endian(data: bytes) -> Split | None:
    """Header lengths above 255 are read in little-endian byte order."""
    length = _length(data)
    return _cut_at(data, int.from_bytes(data[:2], "little") if length > 255 else length)


@wrong_value("publish.accept", _split)
def length_counts_itself(data: bytes) -> Split | None:
    """Header lengths above 255 are read as including their own two bytes."""
    return _cut_at(data, _length(data) - 2 if _length(data) > 255 else _length(data))


@wrong_value("parser.header-beyond-frame", _split)
def beyond_clamped(data: bytes) -> Split | None:
    """A header length beyond the end of the frame is reduced to fit."""
    return _cut_at(data, min(_length(data), max(len(data) - 3, 0)))


@wrong_value("parser.header-beyond-frame", _split)
def beyond_no_header(data: bytes) -> Split | None:
    """A header length beyond the end of the frame is read as no header."""
    return split_header(data) or Split(b"{}", data[2:])


@boundary("parser.header-beyond-frame", _split)
def beyond_by_one(data: bytes) -> Split | None:
    """A header length one byte beyond the end of the frame is accepted."""
    if _length(data) == len(data) - 1:
        return _cut_at(data, len(data) - 3)
    return split_header(data)


@missing("parser.header-beyond-frame", _split)
def beyond_halts(data: bytes) -> Split | None:
    """A header length beyond the end of the frame crashes the broker."""
    if _length(data) > len(data):
        raise ProcessEnds
    return split_header(data)


@missing("parser.header-beyond-frame", _split)
def beyond_deafens(data: bytes) -> Split | None:
    """After a header length beyond the end of the frame, the broker reads nothing more from
    the connection.
    """
    if _length(data) > len(data):
        raise StopsReading
    return split_header(data)


@missing("parser.size", change_declared, also=HARMS)
def size_negative_halts(connection: Connection, kind: str, size: int) -> int:
    """A negative size crashes the broker."""
    if kind == "size" and size < 0 and connection.command in _SINGLE:
        raise ProcessEnds
    return size


@boundary("parser.size", change_declared, also=HARMS)
def size_least_halts(connection: Connection, kind: str, size: int) -> int:
    """The smallest negative number as a size crashes the broker."""
    if kind == "size" and size == -(1 << 31) and connection.command in _SINGLE:
        raise ProcessEnds
    return size


@wrong_value("parser.size")
def size_negative_as_a_response() -> Change:
    """PUB_EXT with a negative size is refused with a response frame."""
    return answered_with_a_response(lambda name, code: name == PUB_EXT and code == E_BAD_MESSAGE)


FAULTS = list_faults(__name__)
