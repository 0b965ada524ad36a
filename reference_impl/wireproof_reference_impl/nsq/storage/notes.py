"""The text metadata files of a partition's queue, formatted by hand for a fast start.

Each function reads or writes one shape of `wireproof_spec.nsq.queue_files`; a test checks that
both agree.
"""

import re
from typing import NamedTuple

from wireproof_reference_impl.nsq.storage.queue_position import QueuePosition

MAGIC = b"\xae\x83"
"""Ends the text files that a broker of this kind believes."""

_NUMBER = rb"(0|[1-9][0-9]{0,17})"
_OFFSET_META = re.compile(rb"%b\n%b,%b\n" % ((_NUMBER,) * 3))
_WRITER_META = re.compile(rb"%b\n%b,%b,%b\n%b" % (*((_NUMBER,) * 4), re.escape(MAGIC)))


class FinishedFile(NamedTuple):
    """What the metadata of a finished queue file says: messages up to its end, and its offsets."""

    messages: int
    start: int
    end: int


def offset_meta(end: QueuePosition) -> bytes:
    """Return the metadata, as bytes, of the finished queue file that ends at a position."""
    return b"%d\n%d,%d\n" % (end.count, end.file_start, end.offset)


def read_offset_meta(text: bytes) -> FinishedFile | None:
    """Return the metadata of a finished queue file, or None if the text is malformed."""
    match = _OFFSET_META.fullmatch(text)
    return None if match is None else FinishedFile(*map(int, match.groups()))


def writer_meta(end: QueuePosition) -> bytes:
    """Return a queue's next position as stored, without the MAGIC that ends the file."""
    return b"%d\n%d,%d,%d\n" % (end.count, end.file_number, end.file_position, end.offset)


def read_writer_meta(text: bytes) -> QueuePosition | None:
    """Return a queue's stored next position, or None if the text is malformed."""
    match = _WRITER_META.fullmatch(text)
    return None if match is None else QueuePosition(*map(int, match.groups()))
