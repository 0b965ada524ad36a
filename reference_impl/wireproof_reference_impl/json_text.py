"""JSON without spaces, with names in the order given."""

import json

import msgspec

_encode = msgspec.json.Encoder().encode


def compact_json(value: object, *, otherwise: str = "replace") -> bytes:
    """Return JSON without spaces.

    Text that no UTF-8 can hold, because it came of other bytes, is written as `otherwise` says,
    an error handler of Python; each such character becomes a question mark.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", otherwise)
