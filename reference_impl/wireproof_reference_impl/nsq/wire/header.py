"""The JSON header of a message, by the rules of the published text."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec import strict_json
from wireproof_spec.nsq.error_codes import E_INVALID_JSON_HEADER, INVALID_TRACE_ID
from wireproof_spec.nsq.names import (
    CLIENT_DISPATCH_TAG,
    INTERNAL_PREFIX,
    TRACE_ID,
    is_header_name,
)
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

Fields: TypeAlias = Mapping[str, JsonValue]

KNOWN_INTERNAL = frozenset({CLIENT_DISPATCH_TAG, TRACE_ID})


class Header(NamedTuple):
    """The fields of a message's JSON header that the broker uses: trace id and tag."""

    trace_id: int | None = None
    tag: str | None = None


ReadHeader = Callable[[bytes], Header]


def refuse_header(text: str) -> Refusal:
    """Return the refusal of a message's header; the connection stays open."""
    return Refusal(E_INVALID_JSON_HEADER, text, fatal=False)


def trace_number(value: JsonValue, *, empty: bool) -> int | None:
    """Return the trace id in a header value; None for an empty value if `empty` is allowed.

    Raises:
        Refusal: neither empty nor the decimal digits of an unsigned 64-bit number.
    """
    if not isinstance(value, str):
        text = "passin trace id should be string"
        raise Refusal(INVALID_TRACE_ID, text, fatal=False)
    if empty and not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 40 and int(value) < 1 << 64):
        raise Refusal(INVALID_TRACE_ID, "invalid trace id", fatal=False)
    return int(value)


def checked_object(data: bytes) -> dict[str, JsonValue]:
    """Return a message's header if it is a JSON object without faults.

    Raises:
        Refusal: not JSON, not an object, or JSON that parsers may read in different ways.
    """
    try:
        read = strict_json.read(data)
    except WireError as error:
        raise refuse_header(f"fail to parse json header:{error}") from error
    if read.faults:
        raise refuse_header(f"fail to parse json header:{read.faults[0].text}")
    if not isinstance(read.value, dict):
        raise refuse_header("json header should be an object")
    return read.value


def check_names(fields: Fields) -> None:
    """Refuse header names outside the published set, and internal names that do not exist.

    Clause: ext.publish.header-name, ext.publish.reserved-name
    """
    for name in fields:
        if not is_header_name(name):
            raise refuse_header(f"invalid name in json header:{name!r}")
        if name.startswith(INTERNAL_PREFIX) and name not in KNOWN_INTERNAL:
            raise refuse_header(f"name in json header is for internal use:{name}")


def check_values(fields: Fields) -> None:
    """Refuse header values that are not strings.

    Clause: ext.publish.header-value
    """
    for name, value in fields.items():
        if not isinstance(value, str):
            raise refuse_header(f"value in json header should be a string:{name}")


def empty_is_none(value: JsonValue) -> int | None:
    """Return the trace id in a header value; None, no trace id, for an empty value.

    Clause: ext.publish.trace-empty
    """
    return trace_number(value, empty=True)


def tag_of(fields: Fields) -> str | None:
    """Return the dispatch tag in a header, if there is one and it is a string, else None."""
    tag = fields.get(CLIENT_DISPATCH_TAG)
    return tag if isinstance(tag, str) else None


def reader(
    *,
    parse: Callable[[bytes], Fields] = checked_object,
    names: Callable[[Fields], None] = check_names,
    values: Callable[[Fields], None] = check_values,
    trace: Callable[[JsonValue], int | None] = empty_is_none,
    tag: Callable[[Fields], str | None] = tag_of,
) -> ReadHeader:
    """Return a function that reads headers by these rules and caches a few hundred of them."""

    @lru_cache(maxsize=512)
    def read(data: bytes) -> Header:
        fields = parse(data)
        trace_id = trace(fields[TRACE_ID]) if TRACE_ID in fields else None
        names(fields)
        values(fields)
        return Header(trace_id, tag(fields))

    return read


published = reader()
"""Reads a header that keeps every rule of the published text; Refusal when it breaks one."""
