"""Bodies in store: compressed as the sender asked, and restored for the consumer."""

import gzip
import zlib
from collections.abc import Callable, Mapping

Change = Callable[[bytes], bytes]

COMPRESSIONS: Mapping[str, Change] = {"gzip": gzip.compress, "zlib": zlib.compress}
EXPANSIONS: Mapping[str, Change] = {"gzip": gzip.decompress, "zlib": zlib.decompress}
"""The algorithms that this broker applies. A body that asks for any other is kept as it is."""


def pack(data: bytes | None, compression: object) -> bytes | None:
    """Return a message body as it is stored: compressed, if the message says so."""
    compress = COMPRESSIONS.get(str(compression))
    return data if data is None or compress is None else compress(data)


def unpack(data: bytes | None, compression: object) -> bytes | None:
    """Return a stored message body as the sender gave it."""
    expand = EXPANSIONS.get(str(compression))
    return data if data is None or expand is None else expand(data)
