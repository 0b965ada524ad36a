"""Labels the fields of decoded bytes for a hex dump, as ``field = value``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import Span
from wireproof_spec.iggy.apache import operations as apache_operations
from wireproof_spec.iggy.apache import statuses as apache_statuses
from wireproof_spec.iggy.apache.evictions import REASONS
from wireproof_spec.iggy.bodies.identifier import NUMERIC, STRING
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND, PARTITIONING_NAMES, STRATEGIES
from wireproof_spec.iggy.states import STATES
from wireproof_spec.iggy.statuses import OK, STATUSES
from wireproof_spec.wire_error import WireError

STATUS_NAMES: Final = {OK: "ok", **STATUSES}
_IDENTIFIERS: Final = {NUMERIC: "numeric", STRING: "string"}
_CONSUMERS: Final = {CONSUMER_KIND: "consumer", GROUP_KIND: "consumer group"}
_NAMED: Final[Mapping[str, Mapping[int, str]]] = {
    "code": COMMANDS,
    "status": STATUS_NAMES,
    "state": STATES,
    "strategy": STRATEGIES,
    "partitioning.kind": PARTITIONING_NAMES,
    "consumer.kind": _CONSUMERS,
    "stream.kind": _IDENTIFIERS,
    "topic.kind": _IDENTIFIERS,
    "id.kind": _IDENTIFIERS,
}
"""Names of numbers, by the last one or two names in the path of their field."""
APACHE_NAMES: Final[Mapping[str, Mapping[int, str]]] = {
    **_NAMED,
    "code": apache_operations.CODES,
    "operation": apache_operations.OPERATIONS,
    "status": apache_statuses.STATUSES,
    "result": apache_statuses.STATUSES,
    "reason": REASONS,
    "key.kind": HEADER_KINDS,
    "value.kind": HEADER_KINDS,
}
"""The same for generation apache; a number without a name has no meaning to be told."""
_TIMES: Final = ("timestamp", "base_timestamp", "origin_timestamp")


def parts_of(
    spans: Iterable[Span],
    *,
    shift: int = 0,
    due: Mapping[str, int] = MappingProxyType({}),
    names: Mapping[str, Mapping[int, str]] = _NAMED,
) -> list[Part]:
    """Return spans of decoded bytes as labelled parts, with ``shift`` added to each offset.

    ``due`` has the right values of fields that may hold a wrong one, such as a checksum.
    """
    return [Part(shift + span.offset, span.length, _label(span, due, names)) for span in spans]


def fault_parts(
    spans: Sequence[Span],
    error: WireError,
    *,
    shift: int = 0,
    due: Mapping[str, int] = MappingProxyType({}),
    names: Mapping[str, Mapping[int, str]] = _NAMED,
) -> list[Part]:
    """Return the parts before a decoding error, and one part with the reason for the bytes after.

    ``shift`` is added to each offset; the error's own offset counts from where the spans' do.
    ``due`` and ``names`` are those of `parts_of`.
    """
    whole = [span for span in spans if span.offset < error.offset]
    rest = sum(span.length for span in spans) - error.offset
    reason = f"{error.field}: expected {error.expected}, found {error.found}"
    return [
        *parts_of(whole, shift=shift, due=due, names=names),
        Part(shift + error.offset, rest, reason),
    ]


def moment(timestamp: int) -> str:
    """Return a time in microseconds as UTC text; empty when it is outside the calendar."""
    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=timestamp)
    except OverflowError:
        return ""
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _label(
    span: Span, due: Mapping[str, int], names: Mapping[str, Mapping[int, str]] = _NAMED
) -> str:
    right = ""
    if span.field in due:
        value = due[span.field]
        right = ", right" if str(value) == span.value else f", WRONG: {value} is right"
    return f"{span.field} = {span.value}{_describe_value(span, names)}{right}"


def _describe_value(span: Span, names: Mapping[str, Mapping[int, str]]) -> str:
    path = span.field.split(".")
    if path[-1] in _TIMES and span.value != "0":
        return f" {moment(int(span.value))}".rstrip()
    known = names.get(path[-1]) or names.get(".".join(path[-2:]))
    if known is None and re.search(r"headers\[\d+\]\.kind$", span.field):
        known = HEADER_KINDS
    if names is APACHE_NAMES and known and int(span.value) not in known:
        return ""
    return f" ({known.get(int(span.value), 'unknown')})" if known else ""
