"""Faults of single headers: their bytes over TCP, their kinds, sizes and keys."""

import struct
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.faulty.effect import make_overriding
from wireproof_reference_impl.iggy.faulty.headers import change_headers, each_header
from wireproof_reference_impl.iggy.faulty.send import blocks
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.iggy.wire import header as headers_module
from wireproof_reference_impl.iggy.wire import message as messages
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.header import Headers, HeaderValue
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy.header_kinds import FLOAT32, FLOAT64, INT128, UINT128
from wireproof_spec.iggy.limits import MAX_KEY_SIZE, MAX_VALUE_SIZE

_HALF_BYTES = 8


class _Entry(NamedTuple):
    """A header as it stands in a block."""

    key: bytes
    kind: int
    value: bytes


def _block_of(encode: Callable[[bytes, HeaderValue], bytes]) -> Effect:
    """Return an effect under which each header of a polled message has other bytes."""

    def block(headers: Headers | None) -> bytes:
        pairs = (headers or {}).items()
        return b"".join(encode(key.encode(), value) for key, value in pairs)

    return make_overriding(replace_function(messages, "headers_block", block))


def _entries(block: bytes) -> Iterator[_Entry]:
    fields = Fields(block)
    while fields.left:
        key, kind = fields.take(fields.u32()), fields.u8()
        yield _Entry(key, kind, fields.take(fields.u32()))


def _repeated(join: Callable[[list[_Entry]], bytes]) -> Effect:
    """Return an effect that gives each key of a request that occurs several times other bytes."""

    def change(block: bytes) -> bytes:
        entries = sorted(_entries(block), key=itemgetter(0))
        if len({entry.key for entry in entries}) == len(entries):
            return block
        alike = (list(group) for _, group in groupby(entries, key=itemgetter(0)))
        return b"".join(join(each) for each in alike)

    return blocks(change)


def _encode(entry: _Entry) -> bytes:
    header = HeaderValue(entry.kind, entry.value)
    return headers_module.headers_block({entry.key.decode(): header})


@wrong_value("headers.block", _block_of)
def header_key_length_big_endian(key: bytes, header: HeaderValue) -> bytes:
    """Over TCP, the length of a header key is big endian."""
    kind, value = header
    return struct.pack(">I", len(key)) + key + struct.pack("<BI", kind, len(value)) + value


@missing("headers.block", _block_of)
def header_kind_not_sent(key: bytes, header: HeaderValue) -> bytes:
    """Over TCP, a header has no byte for its kind."""
    value = header.value
    return struct.pack("<I", len(key)) + key + struct.pack("<I", len(value)) + value


@boundary("headers.block", _block_of)
def header_value_length_short(key: bytes, header: HeaderValue) -> bytes:
    """Over TCP, the length of a header value has one byte instead of four."""
    kind, value = header
    return struct.pack("<I", len(key)) + key + bytes([kind, len(value)]) + value


@boundary("headers.other-kinds json.other-kinds", each_header)
def header_128_bits_cut(header: HeaderValue) -> HeaderValue:
    """Header values of the kinds `int128` and `uint128` are cut to 8 bytes."""
    is_wide = header.kind in (INT128, UINT128)
    return HeaderValue(header.kind, header.value[:_HALF_BYTES]) if is_wide else header


@wrong_value("headers.other-kinds json.other-kinds", each_header)
def header_float32_as_float64(header: HeaderValue) -> HeaderValue:
    """Headers of the kind `float32` are stored with the kind `float64`."""
    return HeaderValue(FLOAT64 if header.kind == FLOAT32 else header.kind, header.value)


@condition("headers.limits", change_headers)
def header_greatest_lost(headers: Headers) -> Headers:
    """A header is lost if both its key and its value have 255 bytes."""
    return {
        key: header
        for key, header in headers.items()
        if len(key) < MAX_KEY_SIZE or len(header.value) < MAX_VALUE_SIZE
    }


@missing("headers.limits", change_headers)
def header_one_byte_values_lost(headers: Headers) -> Headers:
    """Headers whose value has one byte are lost."""
    return {key: header for key, header in headers.items() if len(header.value) > 1}


@missing("headers.key-text", change_headers)
def header_keys_beyond_ascii_lost(headers: Headers) -> Headers:
    """Headers whose key has characters outside ASCII are lost."""
    return {key: header for key, header in headers.items() if key.isascii()}


@boundary("headers.key-text", change_headers)
def header_key_blanks_cut(headers: Headers) -> Headers:
    """Blanks at the end of a header key are cut."""
    return {key.rstrip(" ") or key: header for key, header in headers.items()}


@boundary("headers.refused", around(headers_module, "checked_key_length"))
def header_key_of_256_taken(original: Original, length: int) -> object:
    """A header key of 256 bytes is accepted."""
    return length if length == MAX_KEY_SIZE + 1 else original(length)


@missing("headers.repeated-key", _repeated)
def header_repeated_key_lost(alike: list[_Entry]) -> bytes:
    """Headers with the same key are all lost."""
    return _encode(alike[0]) if len(alike) == 1 else b""


@wrong_value("headers.repeated-key", _repeated)
def header_repeated_key_joined(alike: list[_Entry]) -> bytes:
    """Headers with the same key become one header with both values."""
    return _encode(alike[0]._replace(value=b"".join(each.value for each in alike)))


FAULTS = list_faults(__name__)
