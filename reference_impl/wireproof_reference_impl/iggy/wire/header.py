"""Headers of a message: fifteen kinds of values by key, one block of bytes."""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.status import (
    INVALID_HEADER_KEY,
    INVALID_HEADER_VALUE,
    Refusal,
    invalid_command,
)
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.limits import MAX_KEY_SIZE, MAX_VALUE_SIZE


class HeaderValue(NamedTuple):
    """The value of a message header: the code of its kind, and its bytes."""

    kind: int
    value: bytes


Headers = Mapping[str, HeaderValue]


def read_headers(block: bytes) -> dict[str, HeaderValue]:
    """Read a message's headers, each as key length u32, key, kind u8, value length u32, value.

    Raises:
        Refusal: a length out of 1..255, a key that is no UTF-8 or is there twice, an unknown
            kind, or a block that ends early.
    """
    fields = Fields(block)
    headers: dict[str, HeaderValue] = {}
    while fields.left:
        key = _text(fields.take(checked_key_length(fields.u32())))
        kind = fields.u8()
        if kind not in HEADER_KINDS or key in headers:
            raise invalid_command()
        headers[key] = HeaderValue(kind, fields.take(checked_value_length(fields.u32())))
    return headers


def headers_block(headers: Headers | None) -> bytes:
    """Return the headers of a message as bytes, empty if there are none."""
    parts: list[bytes] = []
    for key, (kind, value) in (headers or {}).items():
        name = key.encode()
        parts += (struct.pack("<I", len(name)), name, struct.pack("<BI", kind, len(value)), value)
    return b"".join(parts)


def checked_key_length(length: int) -> int:
    """Return the length of a header key unchanged.

    Raises:
        Refusal: not 1..255.
    """
    if not 1 <= length <= MAX_KEY_SIZE:
        raise Refusal(INVALID_HEADER_KEY, "Invalid header key")
    return length


def checked_value_length(length: int) -> int:
    """Return the length of a header value unchanged.

    Raises:
        Refusal: not 1..255.
    """
    if not 1 <= length <= MAX_VALUE_SIZE:
        raise Refusal(INVALID_HEADER_VALUE, "Invalid header value")
    return length


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise Refusal(INVALID_HEADER_KEY, "Invalid header key") from None
