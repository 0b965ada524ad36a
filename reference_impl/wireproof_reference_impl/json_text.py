"""JSON without spaces, with names in the given order."""

import json

import msgspec

_encode = msgspec.json.Encoder().encode


def compact_json(value: object, *, otherwise: str = "replace") -> bytes:
    """Return a value as the bytes of JSON without spaces.

    Characters that UTF-8 cannot encode (they come from invalid bytes) are handled by `otherwise`,
    an error handler of Python; the default writes a question mark.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", otherwise)
