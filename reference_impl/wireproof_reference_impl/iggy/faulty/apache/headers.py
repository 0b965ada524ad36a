"""Faults of user headers: kinds, bounds, order."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache.records import Frame
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    missing,
    remade,
    stored_frames,
    wrong_value,
)
from wireproof_reference_impl.preset import Effect
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes, UserHeader
from wireproof_spec.iggy.header_kinds import (
    BOOL,
    FLOAT64,
    INT8,
    INT128,
    RAW,
    STRING,
    UINT128,
)
from wireproof_spec.wire_error import WireError

Headers = Sequence[UserHeader]

_LONGEST = 255


def _rewritten(change: Callable[[Headers], Headers]) -> Effect:
    """Return an effect that changes user headers when a message is stored, if they are some."""

    def store(frame: Frame) -> Frame:
        try:
            headers = decode(USER_HEADERS, frame.user_headers)
        except WireError:
            return frame
        return remade(frame, user_headers=encode(USER_HEADERS, tuple(change(headers))))

    return stored_frames(store)


def _values(change: Callable[[TypedBytes], TypedBytes]) -> Effect:
    """Return an effect that changes each value of user headers when a message is stored."""
    return _rewritten(
        lambda headers: [UserHeader(header.key, change(header.value)) for header in headers]
    )


@wrong_value("message.headers", _rewritten)
def user_headers_reversed(headers: Headers) -> Headers:
    """User headers are stored in reversed order."""
    return headers[::-1]


@wrong_value("message.headers", _rewritten)
def user_headers_sorted(headers: Headers) -> Headers:
    """User headers are stored sorted by key."""
    return sorted(headers, key=lambda each: each.key.value)


@boundary("message.headers", _rewritten)
def last_user_header_lost(headers: Headers) -> Headers:
    """Of several user headers the last one is lost."""
    return headers[:-1] if len(headers) > 1 else headers


@missing("headers.kinds", _values)
def kinds_as_raw(value: TypedBytes) -> TypedBytes:
    """Header values of all kinds but string are stored as raw."""
    return value if value.kind == STRING else TypedBytes(RAW, value.value)


@boundary("headers.kinds", _rewritten)
def last_kind_lost(headers: Headers) -> Headers:
    """A user header of kind float64 is lost."""
    return [header for header in headers if header.value.kind != FLOAT64]


@condition("headers.kinds", _values)
def wide_integers_cut(value: TypedBytes) -> TypedBytes:
    """Of an integer of 128 bits in user headers only the lower 64 are stored."""
    if value.kind not in (INT128, UINT128):
        return value
    return TypedBytes(value.kind, value.value[:8] + bytes(8))


@wrong_value("headers.kinds", _values)
def bool_as_int8(value: TypedBytes) -> TypedBytes:
    """A header value of kind bool is stored as int8."""
    return TypedBytes(INT8, value.value) if value.kind == BOOL else value


@missing("headers.unknown-kind", _rewritten)
def unknown_kind_lost(headers: Headers) -> Headers:
    """A user header whose value has an unknown kind is lost."""
    return [header for header in headers if header.value.kind <= FLOAT64]


@wrong_value("headers.unknown-kind", _values)
def unknown_kind_as_raw(value: TypedBytes) -> TypedBytes:
    """A header value of an unknown kind is stored as raw."""
    return value if value.kind <= FLOAT64 else TypedBytes(RAW, value.value)


@boundary("headers.bounds", _values)
def longest_value_cut(value: TypedBytes) -> TypedBytes:
    """A header value of 255 bytes is stored without its last byte."""
    return TypedBytes(value.kind, value.value[: _LONGEST - 1])


@boundary("headers.bounds", _rewritten)
def longest_key_lost(headers: Headers) -> Headers:
    """A user header whose key has 255 bytes is lost."""
    return [header for header in headers if len(header.key.value) < _LONGEST]


@boundary("headers.bounds", _rewritten)
def shortest_key_lost(headers: Headers) -> Headers:
    """A user header whose key has one byte is lost."""
    return [header for header in headers if len(header.key.value) > 1]


FAULTS = list_faults(__name__)
