"""Which requests an adapter must answer, and which messages must arrive as they were sent."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.oms.adapter.messages import Attributes, Delivery
from wireproof_spec import strict_json
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.names import Kind
from wireproof_spec.oms.rules import RULES
from wireproof_spec.strict_json import DUPLICATE_NAME, JsonValue, fields_of
from wireproof_spec.wire_error import WireError

MOST_BYTES: Final = 1 << 20
MOST_LEVELS: Final = 60
"""Readers of JSON give up at 64 levels (.NET), 128 (serde), 1000 (Jackson) and others."""
HOUR_MS: Final = 3_600_000
_STRINGS = (names.CORRELATION_ID, names.MESSAGE_KEY, names.TRACE_ID)
_ALL = (*_STRINGS, names.DELAY_TIME, names.EXPIRE_TIME, names.PRIORITY)
_SERVER_SETS = frozenset(
    {
        "oms.message.message-id",
        "oms.message.born-timestamp",
        "oms.message.born-host",
        "oms.message.version",
        "oms.extension-header.expiry",
        "oms.document.known-name",
    }
)
"""Rules on what the server sets itself, or that decide nothing."""


def read_request(data: bytes) -> Attributes | None:
    """Return the members of a request; None if an adapter cannot answer it.

    A name may occur twice. All else that strict JSON forbids would have to be forbidden in the
    answer, too, which may repeat what was sent.
    """
    if len(data) > MOST_BYTES or b"\n" in data:
        return None
    try:
        read = strict_json.read(data)
    except WireError:
        return None
    value = read.value
    if not isinstance(value, dict) or not isinstance(value.get("op"), str) or "id" in value:
        return None
    if any(fault.kind != DUPLICATE_NAME for fault in read.faults):
        return None
    return value if _levels(value) <= MOST_LEVELS else None


def is_answerable(data: bytes) -> bool:
    """Return True if an adapter must answer a request; without bytes there is none."""
    return not data or read_request(data) is not None


@dataclass(frozen=True, slots=True)
class Due:
    """A message that must arrive: its body, and what must come with it."""

    key: str
    attributes: Attributes
    properties: Attributes

    def find_change(self, delivery: Delivery) -> str:
        """Return in words what did not arrive as it was sent; empty if all did."""
        for place, sent, found in (
            (names.EXTENSION_HEADER, self.attributes, delivery.attributes),
            (names.PROPERTIES, self.properties, delivery.properties),
        ):
            for name, value in sent.items():
                if name not in found:
                    return f"{place}.{printable(name)}: expected {_shown(value)}, found nothing"
                if not is_same(found[name], value):
                    told = f"expected {_shown(value)}, found {_shown(found[name])}"
                    return f"{place}.{printable(name)}: {told}"
        return ""


def read_due(
    request: Attributes,
    data: bytes,
    claims: Collection[str],
    carried: Collection[type],
    destination: str,
    now_ms: float,
) -> Due | None:
    """Return what an accepted request owes; None if its message need not arrive unchanged.

    ``destination`` is where the kit receives. ``carried`` are the types of properties that the
    system was seen to carry.
    """
    document = Document(b"", Kind.MESSAGE, request.get("message"), strict_json.read(data).faults)
    if any(rule(document).faults for name, rule in RULES.items() if name not in _SERVER_SETS):
        return None
    message = document.message
    if not isinstance(message, dict):
        return None
    header = fields_of(message.get(names.HEADER))
    extension = fields_of(message.get(names.EXTENSION_HEADER))
    key = message.get(names.DATA)
    is_ours = header.get(names.DESTINATION) == destination
    is_certain = is_ours and header.get(names.QOS, 0) != 1 and names.COMPRESSION not in header
    if not (is_certain and isinstance(key, str) and key and _is_due_now(extension, now_ms)):
        return None
    attributes = {n: v for n, v in extension.items() if n in claims and _must_return(n, v)}
    properties = fields_of(message.get(names.PROPERTIES))
    kept = {n: v for n, v in properties.items() if n and v != "" and type(v) in carried}
    return Due(key, attributes, kept)


def is_same(found: JsonValue, sent: JsonValue) -> bool:
    """Return True for an equal value of the same JSON type: 1 and 1.0 are one number."""
    if isinstance(sent, int | Decimal) and not isinstance(sent, bool):
        is_number = isinstance(found, int | Decimal) and not isinstance(found, bool)
        return is_number and found == sent
    return type(found) is type(sent) and found == sent


def _must_return(name: str, value: JsonValue) -> bool:
    """Return True for an attribute that the client sets, with a value that has its effect."""
    if name == names.PRIORITY:
        return isinstance(value, int) and names.LOWEST_PRIORITY <= value <= names.HIGHEST_PRIORITY
    if name == names.DELAY_TIME:
        return value == 0
    return name in _ALL and value != ""  # for some systems an empty string is not set


def _is_due_now(extension: Attributes, now_ms: float) -> bool:
    delay, expires = extension.get(names.DELAY_TIME, 0), extension.get(names.EXPIRE_TIME)
    is_prompt = isinstance(delay, int | Decimal) and delay <= 0
    if expires is None:
        return is_prompt
    return is_prompt and isinstance(expires, int | Decimal) and expires > now_ms + HOUR_MS


def _levels(value: JsonValue) -> int:
    inside: list[JsonValue] = []
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, list):
        inside = value
    else:
        return 0
    return 1 + max(map(_levels, inside), default=0)


def _shown(value: JsonValue) -> str:
    return clip(printable(repr(value)), 80)
