"""How declared sizes and lengths are taken: the rules that keep a parser in step."""

from enum import Enum, auto
from typing import NamedTuple


class Size(Enum):
    """What to make of a declared size."""

    FINE = auto()
    NOT_POSITIVE = auto()
    TOO_BIG = auto()
    ENDLESS = auto()


class Spill(Enum):
    """What a refused frame does to the publish that comes after it."""

    NOTHING = auto()
    SAME_CONNECTION = auto()
    ANY_CONNECTION = auto()


class Split(NamedTuple):
    """A PUB_EXT body taken apart."""

    header: bytes
    body: bytes


def judge_size(size: int, limit: int) -> Size:
    """Return whether a size may be waited for.

    Clause: ext.parser.size
    """
    if size <= 0:
        return Size.NOT_POSITIVE
    return Size.TOO_BIG if size > limit else Size.FINE


def split_header(data: bytes) -> Split | None:
    """Take 2-byte header length, header and a body of at least one byte apart.

    None when the header length runs past the frame. Clause: ext.parser.header-beyond-frame
    """
    length = int.from_bytes(data[:2])
    if len(data) <= 2 + length:
        return None
    return Split(data[2 : 2 + length], data[2 + length :])


def refuse_cut(data: bytes, size: int) -> bytes | None:
    """Return what of a truncated body is published: nothing.

    Clause: ext.parser.truncated
    """
    return None


def all_read(data: bytes) -> bytes:
    """Return what of a refused frame is read again as commands: nothing.

    Clause: ext.parser.in-step
    """
    return b""


def assembled(data: bytes, pieces: int) -> bytes:
    """Return a body that came in so many pieces: their bytes in a row.

    Clause: ext.parser.segmentation
    """
    return data
