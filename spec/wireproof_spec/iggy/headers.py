"""The headers of a message: one block, the same in requests, responses and on disk."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Field, Int8ub, Int32ul, Ranged, Record, field
from wireproof_spec.grammar.lengths import Declared, Each, Sized
from wireproof_spec.grammar.texts import Utf8
from wireproof_spec.iggy.header_kinds import FLOAT64, RAW


class Header(Struct, frozen=True, gc=False):
    """A message header: key, kind code of its value (see `header_kinds`), the value's bytes."""

    key: str
    kind: int
    value: bytes


_BOUNDS = (1, 255)

HEADER = Schema(
    "header",
    "iggy.headers.block",
    Header,
    Record(
        Header,
        field("key_length", Declared(Int32ul, of="key", bounds=_BOUNDS)),
        field("key", Utf8(Bytes(this.key_length))),
        field("kind", Ranged(Int8ub, RAW, FLOAT64)),
        field("value_length", Declared(Int32ul, of="value", bounds=_BOUNDS)),
        field("value", Bytes(this.value_length)),
    ),
)
"""4-byte `key_length`, `key` in UTF-8, 1-byte `kind`, 4-byte `value_length`, `value`.

Both lengths are 1 to 255. The width of the value is not held against its kind: the peer keeps
three bytes of a uint64 as they came.
"""

HEADERS = Schema("headers", "iggy.headers.block", tuple[Header, ...], Each(HEADER.shape))
"""Headers one after the other to the end of the block; in any order."""


def headers_field() -> Field:
    """Return the layout of a message's headers: a 4-byte length, also if 0, then the headers.

    The published text only says `Headers (N bytes)`; real servers write the length everywhere
    (reading iggy-headers-length).
    """
    return field("headers", Sized(Int32ul, HEADERS.shape, name="length"))
