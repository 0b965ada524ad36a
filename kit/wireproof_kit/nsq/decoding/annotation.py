"""Labels the fields of decoded bytes for a hex dump, as ``field = value``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import Span
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE, FRAME_TYPE_RESPONSE
from wireproof_spec.nsq.names import EXT_VERSION_JSON, EXT_VERSION_NONE, EXT_VERSION_TAG
from wireproof_spec.wire_error import WireError

FRAME_TYPES: Final = {
    FRAME_TYPE_RESPONSE: "response",
    FRAME_TYPE_ERROR: "error",
    FRAME_TYPE_MESSAGE: "message",
}
EXT_VERSIONS: Final = {
    EXT_VERSION_NONE: "none",
    EXT_VERSION_TAG: "tag",
    EXT_VERSION_JSON: "json header",
}
MOST_ATTEMPTS = 0x0FFF
TEXT = frozenset({"data", "json_header", "body", "json", "secret"})
UNSPOKEN = frozenset({"separator", "space", "second_space", "line_feed", "carriage_return"})
SHOWN_BYTES = 4000


def parts_of(spans: Iterable[Span], data: bytes, *, shift: int = 0) -> list[Part]:
    """Return spans of decoded bytes as labelled parts, with ``shift`` added to each offset."""
    return [
        Part(shift + span.offset, span.length, _label(span, data))
        for span in spans
        if _name(span) not in UNSPOKEN
    ]


def fault_parts(
    spans: Sequence[Span], data: bytes, error: WireError, *, shift: int = 0
) -> list[Part]:
    """Return the parts before a decoding error, and one part with the reason for the bytes after.

    ``shift`` is added to each offset.
    """
    if not spans:
        return []
    *whole, last = spans
    parts = parts_of(whole, data, shift=shift)
    parts.append(Part(shift + last.offset, last.length, f"{_field(last)} = {last.value}"))
    reason = f"{error.field}: expected {error.expected}, found {error.found}"
    refused = next((index for index, span in enumerate(spans) if span.field == error.field), -1)
    parts[refused] = replace(parts[refused], label=reason)
    return parts


def text_of(data: bytes) -> str:
    """Return bytes as text for a label: JSON unchanged, other text quoted, else their number."""
    if not data:
        return "(empty)"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"({len(data)} bytes)"
    if not text.isprintable():
        return repr(text)
    return text if text[0] in "{[" else f'"{text}"'


def moment(timestamp_ns: int) -> str:
    """Return a time in nanoseconds as UTC text; empty when it is outside the calendar."""
    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=timestamp_ns // 1000)
    except OverflowError:
        return ""
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _name(span: Span) -> str:
    return span.field.rpartition(".")[2]


def _field(span: Span) -> str:
    return span.field.removeprefix("message.")


def _label(span: Span, data: bytes) -> str:
    field = _field(span)
    raw = data[span.offset : span.offset + span.length]
    name = _name(span)
    if name in TEXT:
        return f"{field} = {text_of(raw[:SHOWN_BYTES])}"
    say = _SAYINGS.get(name)
    value = span.value if say is None else say(int.from_bytes(raw, "big", signed=False), span)
    return f"{field} = {value}"


def _attempts(number: int, span: Span) -> str:
    if number <= MOST_ATTEMPTS or not span.field.startswith("message."):
        return str(number)
    return f"{number & MOST_ATTEMPTS}, indicator {number >> 12:#x}"


def _timestamp(number: int, span: Span) -> str:
    return f"{span.value} {moment(int(span.value))}".rstrip()


def _make_naming(names: Mapping[int, str]) -> Callable[[int, Span], str]:
    unknown = f"unknown, expected {', '.join(map(str, names))}"

    def say(number: int, span: Span) -> str:
        return f"{number} ({names.get(number, unknown)})"

    return say


_SAYINGS: Final[Mapping[str, Callable[[int, Span], str]]] = {
    "attempts": _attempts,
    "timestamp_ns": _timestamp,
    "frame_type": _make_naming(FRAME_TYPES),
    "version": _make_naming(EXT_VERSIONS),
}
