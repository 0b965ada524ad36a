"""JSON values as one line of ASCII, with numbers exactly as they were read."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import cast

from wireproof_spec.strict_json import JsonValue


def json_line(value: JsonValue) -> str:
    """Return a JSON value as text; a number that JSON cannot represent becomes a string."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except TypeError:  # a Decimal somewhere: the standard library would only write floats
        return _exact(value)


def json_object(data: bytes) -> Mapping[str, object]:
    """Parse bytes as a JSON object; return an empty object when they are not one."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _exact(value: JsonValue) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{_exact(below)}" for name, below in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_exact, value))}]"
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else json.dumps(str(value))
    return json.dumps(value)
