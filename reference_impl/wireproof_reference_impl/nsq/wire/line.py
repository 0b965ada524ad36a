"""Command lines in the buffer: words up to LF, and three commands with a raw id."""

from typing import NamedTuple

from wireproof_reference_impl.nsq.wire.refusal import Silence
from wireproof_spec.nsq.limits import MAX_LINE_SIZE
from wireproof_spec.nsq.names import FIN, REQ, TOUCH

_CR = 0x0D
_ID_BYTES = 16
_RAW = ((FIN, 4, 20), (REQ, 4, 20), (TOUCH, 6, 23))
"""Command, where its id starts, and the least bytes of its line; the byte before is not read."""
_RAW_COMMANDS = tuple(command for command, *_ in _RAW)


class Line(NamedTuple):
    """The words of one command line, and the position after it."""

    words: list[bytes]
    end: int


def read_line(buffer: bytearray, place: int) -> Line | None:
    """Return the command line that starts at `place` in the buffer; None while it is incomplete.

    An id may contain any byte, LF included, so lines of FIN, REQ and TOUCH have a minimum length.

    Raises:
        Silence: the line is longer than the read buffer of the real broker.
    """
    if buffer.startswith(_RAW_COMMANDS, place):
        return _read_raw(buffer, place)
    end = buffer.find(b"\n", place, place + MAX_LINE_SIZE)
    if end < 0:
        if len(buffer) - place >= MAX_LINE_SIZE:
            raise Silence
        return None
    stop = end - 1 if end > place and buffer[end - 1] == _CR else end
    return Line(bytes(buffer[place:stop]).split(b" "), end + 1)


def _read_raw(buffer: bytearray, place: int) -> Line | None:
    command, id_at, least = next(each for each in _RAW if buffer.startswith(each[0], place))
    if len(buffer) - place < least:
        return None
    message_id = bytes(buffer[place + id_at : place + id_at + _ID_BYTES])
    if command is TOUCH:
        return Line([command, message_id], place + least)
    end = buffer.find(b"\n", place + least, place + MAX_LINE_SIZE)
    if end < 0:
        if len(buffer) - place >= MAX_LINE_SIZE:
            raise Silence
        return None
    rest = bytes(buffer[place + least : end]).split(b" ")
    return Line([command, message_id, *rest[1:]], end + 1)
