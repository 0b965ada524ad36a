"""Splits the body of PUB_EXT into header and message."""

from typing import NamedTuple


class Split(NamedTuple):
    """The header and the message of a PUB_EXT body."""

    header: bytes
    body: bytes


def split_header(data: bytes) -> Split | None:
    """Split a PUB_EXT body into 2-byte header length, header, and a message of at least a byte.

    None if the header length runs past the frame. Clause: ext.parser.header-beyond-frame
    """
    length = int.from_bytes(data[:2])
    if len(data) <= 2 + length:
        return None
    return Split(data[2 : 2 + length], data[2 + length :])
