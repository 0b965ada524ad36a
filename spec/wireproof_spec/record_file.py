"""Opens a bundle's file, plain or compressed with gzip."""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

GZIP_MAGIC = b"\x1f\x8b"

UNREADABLE = (OSError, EOFError, zlib.error)
"""What opening or reading raises when the file cannot be read or its compression is damaged."""


def open_bundle(path: Path) -> BinaryIO:
    """Open a bundle for reading its lines; told from its first bytes, whatever its name."""
    file = path.open("rb")
    try:
        return unpacked(file)
    except BaseException:
        file.close()
        raise


def unpacked(file: BinaryIO) -> BinaryIO:
    """Return the file for reading its lines; uncompressed if its first bytes are those of gzip.

    Closing what is returned closes the file.
    """
    is_compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    file.seek(0)
    if not is_compressed:
        return file
    inflating = gzip.GzipFile(fileobj=file, mode="rb")
    # Closed with it, as gzip closes files that it opens itself.
    inflating.myfileobj = file  # type: ignore[assignment]  # it closes it, and does nothing else
    return cast(BinaryIO, inflating)


def why_unreadable(error: BaseException) -> str:
    """Return the reason of a read error in a few words."""
    return getattr(error, "strerror", None) or str(error)
