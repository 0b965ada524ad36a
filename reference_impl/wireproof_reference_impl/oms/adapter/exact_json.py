"""JSON in which every number keeps all its digits, in both directions."""

from decimal import Decimal
from typing import Final

import msgspec

from wireproof_spec.strict_json import JsonValue

_LARGEST: Final = 2**64 - 1
_SMALLEST: Final = -(2**63)

_encode = msgspec.json.Encoder(decimal_format="number").encode


def exact_json(value: JsonValue) -> bytes:
    """Return a value as the bytes of JSON without spaces; numbers keep all their digits."""
    return _encode(_with_wide_numbers(value))


def _with_wide_numbers(value: JsonValue) -> JsonValue:
    """Return a value whose integers beyond 64 bits are Decimals: msgspec writes no larger ones."""
    if isinstance(value, dict):
        return {name: _with_wide_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_wide_numbers(each) for each in value]
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        return Decimal(value)
    return value
