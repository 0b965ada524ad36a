"""Faults of single headers: their bytes over TCP, their kinds, sizes and keys."""

import struct
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    BINARY,
    Effect,
    boundary,
    condition,
    make_overriding,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.faulty.headers import READ, change_headers, each_header
from wireproof_reference_impl.iggy.faulty.send import blocks
from wireproof_reference_impl.iggy.wire import header as headers_module
from wireproof_reference_impl.iggy.wire import message as messages
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.header import Headers, HeaderValue
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_reference_impl.preset import Preset
from wireproof_spec.iggy.header_kinds import FLOAT32, FLOAT64, INT128, UINT128
from wireproof_spec.iggy.limits import MAX_KEY_SIZE, MAX_VALUE_SIZE

_HALF_BYTES = 8
_OF_BLOCKS = f"{BINARY} {READ}"


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


def _with_big_endian_key_length(key: bytes, header: HeaderValue) -> bytes:
    kind, value = header
    return struct.pack(">I", len(key)) + key + struct.pack("<BI", kind, len(value)) + value


def _without_kind(key: bytes, header: HeaderValue) -> bytes:
    value = header.value
    return struct.pack("<I", len(key)) + key + struct.pack("<I", len(value)) + value


def _with_short_value_length(key: bytes, header: HeaderValue) -> bytes:
    kind, value = header
    return struct.pack("<I", len(key)) + key + bytes([kind, len(value)]) + value


def _cut_to_half(header: HeaderValue) -> HeaderValue:
    is_wide = header.kind in (INT128, UINT128)
    return HeaderValue(header.kind, header.value[:_HALF_BYTES]) if is_wide else header


def _float32_as_64(header: HeaderValue) -> HeaderValue:
    return HeaderValue(FLOAT64 if header.kind == FLOAT32 else header.kind, header.value)


def _drop_greatest(headers: Headers) -> Headers:
    return {
        key: header
        for key, header in headers.items()
        if len(key) < MAX_KEY_SIZE or len(header.value) < MAX_VALUE_SIZE
    }


def _drop_short_values(headers: Headers) -> Headers:
    return {key: header for key, header in headers.items() if len(header.value) > 1}


def _keep_ascii_keys(headers: Headers) -> Headers:
    return {key: header for key, header in headers.items() if key.isascii()}


def _cut_blanks(headers: Headers) -> Headers:
    return {key.rstrip(" ") or key: header for key, header in headers.items()}


def _one_byte_more(original: Original, length: int) -> object:
    return length if length == MAX_KEY_SIZE + 1 else original(length)


def _entries(block: bytes) -> Iterator[_Entry]:
    fields = Fields(block)
    while fields.left:
        key, kind = fields.take(fields.u32()), fields.u8()
        yield _Entry(key, kind, fields.take(fields.u32()))


def _repeated(join: Callable[[list[_Entry]], bytes]) -> Effect:
    """Return an effect that gives each key of a request that occurs several times other bytes."""

    def change(block: bytes) -> bytes:
        entries = sorted(_entries(block), key=itemgetter(0))
        if len({each.key for each in entries}) == len(entries):
            return block
        alike = (list(group) for _, group in groupby(entries, key=itemgetter(0)))
        return b"".join(join(each) for each in alike)

    return blocks(change)


def _encode(entry: _Entry) -> bytes:
    header = HeaderValue(entry.kind, entry.value)
    return headers_module.headers_block({entry.key.decode(): header})


def _keep_if_single(alike: list[_Entry]) -> bytes:
    return _encode(alike[0]) if len(alike) == 1 else b""


def _join_values(alike: list[_Entry]) -> bytes:
    return _encode(alike[0]._replace(value=b"".join(each.value for each in alike)))


FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "header-key-length-big-endian",
        "over TCP, the length of a header key is big endian",
        _block_of(_with_big_endian_key_length),
        breaks="headers.block",
        may_break=_OF_BLOCKS,
    ),
    missing(
        "header-kind-not-sent",
        "over TCP, a header has no byte for its kind",
        _block_of(_without_kind),
        breaks="headers.block",
        may_break=_OF_BLOCKS,
    ),
    boundary(
        "header-value-length-short",
        "over TCP, the length of a header value has one byte instead of four",
        _block_of(_with_short_value_length),
        breaks="headers.block",
        may_break=_OF_BLOCKS,
    ),
    boundary(
        "header-128-bits-cut",
        "header values of the kinds `int128` and `uint128` are cut to 8 bytes",
        each_header(_cut_to_half),
        breaks="headers.other-kinds json.other-kinds",
        may_break=READ,
    ),
    wrong_value(
        "header-float32-as-float64",
        "headers of the kind `float32` are stored with the kind `float64`",
        each_header(_float32_as_64),
        breaks="headers.other-kinds json.other-kinds",
        may_break=READ,
    ),
    condition(
        "header-greatest-lost",
        "a header is lost if both its key and its value have 255 bytes",
        change_headers(_drop_greatest),
        breaks="headers.limits",
        may_break=READ,
    ),
    missing(
        "header-one-byte-values-lost",
        "headers whose value has one byte are lost",
        change_headers(_drop_short_values),
        breaks="headers.limits",
        may_break=READ,
    ),
    missing(
        "header-keys-beyond-ascii-lost",
        "headers whose key has characters outside ASCII are lost",
        change_headers(_keep_ascii_keys),
        breaks="headers.key-text",
        may_break=READ,
    ),
    boundary(
        "header-key-blanks-cut",
        "blanks at the end of a header key are cut",
        change_headers(_cut_blanks),
        breaks="headers.key-text",
        may_break=READ,
    ),
    boundary(
        "header-key-of-256-taken",
        "a header key of 256 bytes is accepted",
        make_overriding(around(headers_module, "checked_key_length", _one_byte_more)),
        breaks="headers.refused",
        may_break=f"{ANSWERS} frame.malformed",
    ),
    missing(
        "header-repeated-key-lost",
        "headers with the same key are all lost",
        _repeated(_keep_if_single),
        breaks="headers.repeated-key",
        may_break=f"{ANSWERS} frame.malformed",
    ),
    wrong_value(
        "header-repeated-key-joined",
        "headers with the same key become one header with both values",
        _repeated(_join_values),
        breaks="headers.repeated-key",
        may_break=f"{ANSWERS} frame.malformed",
    ),
)
