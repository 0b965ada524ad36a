"""Text and numbers in the format of Go, for the deployed dialect."""

import json
import re
from decimal import Decimal

from wireproof_spec.strict_json import is_array, is_object

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def quote(text: str) -> str:
    """Return a text in double quotes as Go writes it, with what is not printable escaped."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def marshal(value: object) -> str:
    """Return a value as JSON as Go writes it: sorted names, `<>&` escaped, numbers as floats."""
    if is_object(value):
        members = (f"{marshal(name)}:{marshal(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if is_array(value):
        return "[" + ",".join(map(marshal, value)) + "]"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return _NO_UTF8.sub("\\\\ufffd", "".join(_HTML.get(each, each) for each in text))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(float(value))
    return json.dumps(value)


def _number(value: float) -> str:
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        plain = format(Decimal(repr(value)), "f")
        return plain.removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+03d}"
