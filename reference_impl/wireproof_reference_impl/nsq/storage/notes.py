"""What is noted beside a queue's records, as text, by hand: a node notes it of every partition.

Each function writes or reads one shape of `wireproof_spec.nsq.queue_files`; a test holds the two
equal.
"""

import re
from typing import NamedTuple

from wireproof_reference_impl.nsq.storage.place import Place

MAGIC = b"\xae\x83"
"""Ends the text files that a broker of this kind believes."""

_NUMBER = rb"(0|[1-9][0-9]{0,17})"
_OFFSET_META = re.compile(rb"%b\n%b,%b\n" % ((_NUMBER,) * 3))
_WRITER_META = re.compile(rb"%b\n%b,%b,%b\n%b" % (*((_NUMBER,) * 4), re.escape(MAGIC)))


class Finished(NamedTuple):
    """What is noted of a finished file: messages up to its end, and the offsets it spans."""

    messages: int
    start: int
    end: int


def offset_meta(end: Place) -> bytes:
    """Return the note on the finished file that a place ends."""
    return b"%d\n%d,%d\n" % (end.count, end.file_start, end.offset)


def read_offset_meta(text: bytes) -> Finished | None:
    """Return what is noted of a finished file; None when the text is no such note."""
    match = _OFFSET_META.fullmatch(text)
    return None if match is None else Finished(*map(int, match.groups()))


def writer_meta(end: Place) -> bytes:
    """Return the note on where the next record goes, but for the MAGIC that ends it."""
    return b"%d\n%d,%d,%d\n" % (end.count, end.file_number, end.file_position, end.offset)


def read_writer_meta(text: bytes) -> Place | None:
    """Return where the next record was to go; None when the text does not say so."""
    match = _WRITER_META.fullmatch(text)
    return None if match is None else Place(*map(int, match.groups()))
