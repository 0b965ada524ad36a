"""Identifiers: a stream or a topic by number or by name."""

import re

from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.status import invalid_command

Identifier = int | str

_NUMERIC = 1
_STRING = 2
_MOST_BYTES = 255
_U32_MOST = (1 << 32) - 1


def read_identifier(fields: Fields) -> Identifier:
    """Read an identifier from a payload: kind u8 (1 numeric, 2 string), length u8, value.

    Raises:
        Refusal: an unknown kind, length 0, or a number that is not of four bytes.
    """
    kind, length = fields.u8(), fields.u8()
    value = fields.take(length)
    if kind == _NUMERIC and length == 4:
        return int.from_bytes(value, "little")
    if kind != _STRING or not length:
        raise invalid_command()
    return value.decode("utf-8", "replace")


def identifier_of(text: str) -> Identifier:
    """Return the identifier in an HTTP path segment: a number if it is one, else a name.

    Raises:
        Refusal: the segment is empty, longer than 255 bytes, or the number 0.
    """
    if not 1 <= len(text.encode()) <= _MOST_BYTES:
        raise invalid_command()
    if re.fullmatch(r"\+?[0-9]+", text, re.ASCII) and int(text) <= _U32_MOST:
        if not int(text):
            raise invalid_command()
        return int(text)
    return text
