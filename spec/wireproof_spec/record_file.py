"""Opens a bundle's file, plain or compressed with gzip."""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

GZIP_MAGIC = b"\x1f\x8b"

UNREADABLE = (OSError, EOFError, zlib.error)
"""What opening or reading raises when the file cannot be read or its compression is damaged."""


def open_bundle(path: Path) -> BinaryIO:
    """Open a bundle for reading lines; its first bytes show if it is compressed."""
    with path.open("rb") as file:
        is_compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return cast(BinaryIO, gzip.open(path, "rb")) if is_compressed else path.open("rb")


def why_unreadable(error: BaseException) -> str:
    """Return the reason of a read error in a few words."""
    return getattr(error, "strerror", None) or str(error)
