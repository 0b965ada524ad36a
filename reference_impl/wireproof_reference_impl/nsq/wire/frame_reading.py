"""The body of PUB_EXT taken apart into header and message."""

from typing import NamedTuple


class Split(NamedTuple):
    """A PUB_EXT body taken apart."""

    header: bytes
    body: bytes


def split_header(data: bytes) -> Split | None:
    """Split a body into its 2-byte header length, header and a message of at least one byte.

    None when the header length runs past the frame. Clause: ext.parser.header-beyond-frame
    """
    length = int.from_bytes(data[:2])
    if len(data) <= 2 + length:
        return None
    return Split(data[2 : 2 + length], data[2 + length :])
