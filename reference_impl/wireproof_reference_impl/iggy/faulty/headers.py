"""Faults of headers."""

from collections.abc import Callable, Sequence
from itertools import islice

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.faulty.effect import change_stored, make_overriding
from wireproof_reference_impl.iggy.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.header import Headers, HeaderValue
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.status import INVALID_HEADER_VALUE, Refusal
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy.header_kinds import (
    BOOL,
    FLOAT64,
    KIND_WIDTHS,
    RAW,
    STRING,
    UINT64,
    UINT128,
)

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


def refuse_headers(is_refused: Callable[[HeaderValue], bool]) -> Effect:
    """Return an effect under which a request is refused for a header of one of its messages."""

    def append(
        original: Original, partition: Partition, sent: Sequence[Sent], *others: object
    ) -> None:
        if any(is_refused(header) for each in sent for header in (each.headers or {}).values()):
            raise Refusal(INVALID_HEADER_VALUE, "Invalid header value")
        original(partition, sent, *others)

    return make_overriding(around(Partition, "append", append))


@missing("headers.delivered headers.kinds json.headers-object", _with_or_without)
def headers_lost(headers: Headers | None) -> Headers | None:
    """Messages are stored without their headers."""
    return None


@condition("headers.delivered", change_headers)
def header_first_lost(headers: Headers) -> Headers:
    """The first header of a message is lost if it has several."""
    return dict(islice(headers.items(), min(1, len(headers) - 1), None))


@boundary("headers.delivered", change_headers)
def headers_cut_at_15(headers: Headers) -> Headers:
    """A message keeps only its first 15 headers."""
    return dict(islice(headers.items(), _MOST_KEPT))


@wrong_value("headers.delivered headers.kinds json.headers-object", each_header)
def header_value_reversed(header: HeaderValue) -> HeaderValue:
    """The bytes of every header value are stored in the reverse order."""
    return HeaderValue(header.kind, header.value[::-1])


def _leftovers() -> Callable[[Headers | None], Headers | None]:
    """Return a function that gives a message without headers those of the message before it."""
    last: list[Headers | None] = [None]

    def keep_leftovers(headers: Headers | None) -> Headers | None:
        given = last[0] if headers is None else headers
        last[0] = headers
        return given

    return keep_leftovers


@wrong_value("headers.delivered")
def headers_of_the_one_before() -> Change:
    """A message without headers gets the headers of the message before it."""
    return _with_or_without(_leftovers())


@extra("headers.none headers.delivered json.headers-null", _with_or_without)
def header_added(headers: Headers | None) -> Headers | None:
    """Every message gets an extra header `node` from the server."""
    return {**(headers or {}), "node": _NODE}


@condition("headers.none json.headers-null", _with_or_without)
def header_added_when_none(headers: Headers | None) -> Headers | None:
    """A message without headers gets an extra header `none` from the server."""
    return headers or {"none": HeaderValue(BOOL, b"\1")}


@boundary("headers.none json.headers-null", _with_or_without)
def header_empty_when_none(headers: Headers | None) -> Headers | None:
    """A message without headers gets a header with an empty key and an empty value."""
    return headers or {"": HeaderValue(RAW, b"")}


@missing("headers.kinds json.headers-object", each_header)
def header_kind_lost(header: HeaderValue) -> HeaderValue:
    """Every header is stored with the kind `raw`."""
    return HeaderValue(RAW, header.value)


@condition("headers.kinds json.headers-object")
def header_bool_lost() -> Change:
    """Headers of the kind `bool` are lost."""
    return _without(BOOL)


@boundary("headers.kinds json.headers-object", each_header)
def header_uint64_as_32(header: HeaderValue) -> HeaderValue:
    """Values of the kind `uint64` are cut to 4 bytes."""
    return HeaderValue(header.kind, header.value[:4]) if header.kind == UINT64 else header


@wrong_value("headers.kinds json.headers-object", each_header)
def header_kinds_shifted(header: HeaderValue) -> HeaderValue:
    """The kind of every header is stored as the next higher code."""
    return HeaderValue(header.kind % _MOST_KEPT + 1, header.value)


@missing("headers.other-kinds json.other-kinds")
def header_float64_lost() -> Change:
    """Headers of the kind `float64` are lost."""
    return _without(FLOAT64)


@boundary("headers.width", each_header)
def header_values_fitted(header: HeaderValue) -> HeaderValue:
    """Header values are padded or cut to the width of their kind."""
    width = KIND_WIDTHS.get(header.kind) or len(header.value)
    return HeaderValue(header.kind, header.value[:width].ljust(width, b"\0"))


@wrong_value("headers.key-text", change_headers)
def header_keys_lower(headers: Headers) -> Headers:
    """Header keys are stored in lower case."""
    return {key.lower(): value for key, value in headers.items()}


@boundary("headers.limits", change_headers)
def header_keys_cut_at_254(headers: Headers) -> Headers:
    """Header keys are cut to 254 characters."""
    return {key[:_MOST_KEY]: value for key, value in headers.items()}


@boundary("headers.limits", refuse_headers)
def header_value_of_255_refused(header: HeaderValue) -> bool:
    """A message with a header value of 255 bytes is refused."""
    return len(header.value) > _MOST_KEY


@condition("headers.other-kinds json.other-kinds", refuse_headers)
def header_uint128_refused(header: HeaderValue) -> bool:
    """A message with a header of the kind `uint128` is refused."""
    return header.kind == UINT128


FAULTS = list_faults(__name__)
