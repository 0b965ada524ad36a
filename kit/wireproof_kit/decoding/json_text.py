"""JSON values as one line of ASCII, with no number that a reader could change."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal

from wireproof_spec.strict_json import JsonValue, members_of

GREATEST_EXACT = 1 << 53
"""JSON readers that use 64-bit floats for numbers, such as jq, change integers above this one."""

_MAY_BE_TOO_GREAT = re.compile(r"(?:^|[:,\[])-?\d{16}")


def json_line(value: JsonValue) -> str:
    """Return a JSON value as text; a number that JSON readers would change becomes a string."""
    try:
        text = json.dumps(value, separators=(",", ":"))
    except TypeError:  # a Decimal somewhere: the standard library would only write floats
        return _exact(value)
    return _exact(value) if _MAY_BE_TOO_GREAT.search(text) else text


def json_object(data: bytes) -> Mapping[str, object]:
    """Parse bytes as a JSON object; return an empty object when they are not one."""
    try:
        return members_of(json.loads(data))
    except (ValueError, RecursionError):
        return {}


def _exact(value: JsonValue) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{_exact(below)}" for name, below in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_exact, value))}]"
    if isinstance(value, int) and abs(value) > GREATEST_EXACT:
        return json.dumps(str(value))
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else json.dumps(str(value))
    return json.dumps(value)
