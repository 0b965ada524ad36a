"""Faults of headers."""

from collections.abc import Callable
from itertools import islice

from msgspec.structs import replace

from wireproof_reference_impl.iggy.faulty.effect import (
    Effect,
    boundary,
    change_stored,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire.header import Headers, HeaderValue
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_spec.iggy.header_kinds import BOOL, FLOAT64, KIND_WIDTHS, RAW, STRING, UINT64

_NODE = HeaderValue(STRING, b"1")
_MOST_KEPT = 15
_MOST_KEY = 254
READ = (
    "headers.delivered headers.kinds headers.other-kinds headers.block headers.limits "
    "headers.refused headers.key-text headers.width message.layout message.headers-length "
    "json.headers-object json.payload json.other-kinds json.types json.same-as-binary "
    "send.layout send.limits http.send http.unchecked"
)
"""Clauses of which some case reads headers."""


def change_headers(change: Callable[[Headers], Headers]) -> Effect:
    """Return an effect that changes the headers of a message, if any, when it is stored."""
    return _with_or_without(lambda headers: change(headers) if headers else headers)


def _with_or_without(change: Callable[[Headers | None], Headers | None]) -> Effect:
    """Return an effect that changes what is stored as headers, also if there are none."""
    return change_stored(lambda message: replace(message, headers=change(message.headers)))


def each_header(change: Callable[[HeaderValue], HeaderValue]) -> Effect:
    """Return an effect that changes each header of a message when it is stored."""
    return change_headers(lambda headers: {key: change(value) for key, value in headers.items()})


def _without(kind: int) -> Effect:
    return change_headers(
        lambda headers: {key: value for key, value in headers.items() if value.kind != kind}
    )


def _fit(header: HeaderValue) -> HeaderValue:
    """Return a header value, padded or cut to the width of its kind."""
    width = KIND_WIDTHS.get(header.kind) or len(header.value)
    return HeaderValue(header.kind, header.value[:width].ljust(width, b"\0"))


def _leftovers() -> Callable[[Headers | None], Headers | None]:
    """Return a function that gives a message without headers those of the message before it."""
    last: list[Headers | None] = [None]

    def keep_leftovers(headers: Headers | None) -> Headers | None:
        given = last[0] if headers is None else headers
        last[0] = headers
        return given

    return keep_leftovers


FAULTS: tuple[Preset, ...] = (
    missing(
        "headers-lost",
        "messages are stored without their headers",
        _with_or_without(lambda headers: None),
        breaks="headers.delivered headers.kinds json.headers-object",
        may_break=READ,
    ),
    condition(
        "header-first-lost",
        "the first header of a message is lost if it has several",
        change_headers(
            lambda headers: dict(islice(headers.items(), min(1, len(headers) - 1), None))
        ),
        breaks="headers.delivered",
        may_break=READ,
    ),
    boundary(
        "headers-cut-at-15",
        "a message keeps only its first 15 headers",
        change_headers(lambda headers: dict(islice(headers.items(), _MOST_KEPT))),
        breaks="headers.delivered",
        may_break="headers.limits send.limits",
    ),
    wrong_value(
        "header-value-reversed",
        "the bytes of every header value are stored in the reverse order",
        each_header(lambda header: HeaderValue(header.kind, header.value[::-1])),
        breaks="headers.delivered headers.kinds json.headers-object",
        may_break=READ,
    ),
    wrong_value(
        "headers-of-the-one-before",
        "a message without headers gets the headers of the message before it",
        _with_or_without(_leftovers()),
        breaks="headers.delivered",
        may_break=f"{READ} headers.none json.headers-null checksum.range json.fields",
    ),
    extra(
        "header-added",
        "every message gets an extra header `node` from the server",
        _with_or_without(lambda headers: {**(headers or {}), "node": _NODE}),
        breaks="headers.none headers.delivered json.headers-null",
        may_break=f"{READ} json.headers-empty",
    ),
    condition(
        "header-added-when-none",
        "a message without headers gets an extra header `none` from the server",
        _with_or_without(lambda headers: headers or {"none": HeaderValue(BOOL, b"\1")}),
        breaks="headers.none json.headers-null",
        may_break=f"{READ} json.headers-empty headers.delivered",
    ),
    boundary(
        "header-empty-when-none",
        "a message without headers gets a header with an empty key and an empty value",
        _with_or_without(lambda headers: headers or {"": HeaderValue(RAW, b"")}),
        breaks="headers.none json.headers-null",
        may_break=f"{READ} json.headers-empty headers.delivered poll.again",
    ),
    missing(
        "header-kind-lost",
        "every header is stored with the kind `raw`",
        each_header(lambda header: HeaderValue(RAW, header.value)),
        breaks="headers.kinds json.headers-object",
        may_break=READ,
    ),
    condition(
        "header-bool-lost",
        "headers of the kind `bool` are lost",
        _without(BOOL),
        breaks="headers.kinds json.headers-object",
        may_break=READ,
    ),
    boundary(
        "header-uint64-as-32",
        "values of the kind `uint64` are cut to 4 bytes",
        each_header(
            lambda header: (
                HeaderValue(header.kind, header.value[:4]) if header.kind == UINT64 else header
            )
        ),
        breaks="headers.kinds json.headers-object",
        may_break=READ,
    ),
    wrong_value(
        "header-kinds-shifted",
        "the kind of every header is stored as the next higher code",
        each_header(lambda header: HeaderValue(header.kind % _MOST_KEPT + 1, header.value)),
        breaks="headers.kinds json.headers-object",
        may_break=READ,
    ),
    missing(
        "header-float64-lost",
        "headers of the kind `float64` are lost",
        _without(FLOAT64),
        breaks="headers.other-kinds json.other-kinds",
        may_break=READ,
    ),
    boundary(
        "header-values-fitted",
        "header values are padded or cut to the width of their kind",
        each_header(_fit),
        breaks="headers.width",
        may_break=READ,
    ),
    wrong_value(
        "header-keys-lower",
        "header keys are stored in lower case",
        change_headers(lambda headers: {key.lower(): value for key, value in headers.items()}),
        breaks="headers.key-text",
        may_break=READ,
    ),
    boundary(
        "header-keys-cut-at-254",
        "header keys are cut to 254 characters",
        change_headers(lambda headers: {key[:_MOST_KEY]: value for key, value in headers.items()}),
        breaks="headers.limits",
        may_break=READ,
    ),
)
