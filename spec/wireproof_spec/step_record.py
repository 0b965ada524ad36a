"""The steps of an exchange in a bundle, with their bytes."""

import base64
import zlib
from typing import Annotated, TypedDict

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A number of things, or of microseconds; what reads bundles keeps it in 64 bits."""
Size = Annotated[int, msgspec.Meta(ge=0, le=64 << 20)]
"""Bytes of one step; ours, eight times the largest that a case sends."""
_DEFLATE_ABOVE = 4096


class StepRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event on one connection in a bundle; ``at_us``: microseconds since the case started.

    The bytes are in ``hex``, or compressed (zlib, base64) in ``deflate`` if long. ``parts`` are
    (offset, length, label, made wrong on purpose).
    """

    at_us: Count
    conn: str
    kind: str
    hex: str = ""
    deflate: str = ""
    length: Size = 0
    parts: tuple[tuple[Count, Count, str, bool], ...] = ()
    note: str = ""

    def data(self) -> bytes:
        """Return the bytes of the event; at most ``length`` bytes are decompressed.

        Raises:
            ValueError: the record's hex, base64 or deflated data is damaged.
        """
        if not self.deflate:
            return bytes.fromhex(self.hex)
        inflater = zlib.decompressobj()
        try:
            data = inflater.decompress(base64.b64decode(self.deflate, validate=True), self.length)
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if len(data) != self.length or inflater.unconsumed_tail:
            raise ValueError(f"expected {self.length} bytes; the deflated data has others")
        return data


class Packed(TypedDict, total=False):
    """The bytes of a step record, in one of two fields: ``hex``, or compressed in ``deflate``."""

    hex: str
    deflate: str


def pack_bytes(data: bytes) -> Packed:
    """Return bytes as the field of a step record: ``hex``, or compressed in ``deflate``."""
    if len(data) <= _DEFLATE_ABOVE:
        return {"hex": data.hex()}
    return {"deflate": base64.b64encode(zlib.compress(data, 6)).decode()}


class TranscriptRecord(msgspec.Struct, frozen=True):
    """All events of one case or probe."""

    steps: tuple[StepRecord, ...] = ()
