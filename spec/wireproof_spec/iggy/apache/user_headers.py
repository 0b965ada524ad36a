"""User headers of a message: pairs of a typed key and a typed value; options have the same layout.

The kinds and their widths are those of `wireproof_spec.iggy.header_kinds`.
"""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Int8ub, Int32ul, Ranged, Record, field
from wireproof_spec.grammar.lengths import Declared, Each
from wireproof_spec.iggy.header_kinds import STRING

_BOUNDS = (1, 255)
_KINDS = (1, 255)
"""Kind 0 is rejected; kinds above 15 "are preserved and forwarded"."""


class TypedBytes(Struct, frozen=True, gc=False):
    """A key or a value: the code of its kind, and its bytes, whose width is not checked."""

    kind: int
    value: bytes


class UserHeader(Struct, frozen=True, gc=False):
    """A user header: a typed key, and a typed value. The pages say that keys are strings."""

    key: TypedBytes
    value: TypedBytes


TYPED_BYTES = Schema(
    "apache typed bytes",
    "iggy.apache.headers.kinds",
    TypedBytes,
    Record(
        TypedBytes,
        field("kind", Ranged(Int8ub, *_KINDS)),
        field("length", Declared(Int32ul, of="value", bounds=_BOUNDS)),
        field("value", Bytes(this.length)),
    ),
)
"""1-byte `kind`, 4-byte `length` (1 to 255), `value`."""

_HEADER = Record(UserHeader, field("key", TYPED_BYTES.shape), field("value", TYPED_BYTES.shape))

USER_HEADERS = Schema(
    "apache user headers", "iggy.apache.message.headers", tuple[UserHeader, ...], Each(_HEADER)
)
"""Pairs of key and value to the end of the block.

Servers do not look at the block: they deliver also what has not this shape.
"""


def text_header(key: str, kind: int, value: bytes) -> UserHeader:
    """Return a user header whose key is a string."""
    return UserHeader(TypedBytes(STRING, key.encode()), TypedBytes(kind, value))
