"""Members of JSON objects in a server's responses, each checked when it is read."""

import base64
import binascii

from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_spec.strict_json import is_object


def member(value: object, name: str) -> object:
    """Return a member of an object.

    Raises:
        Unreadable: the value is no object, or lacks the member.
    """
    if not is_object(value) or name not in value:
        raise Unreadable(f"expected an object with {name}")
    return value[name]


def integer(value: object, name: str, bits: int) -> int:
    """Return a member that is an integer of so many bits without sign.

    Raises:
        Unreadable: it is not.
    """
    number = member(value, name)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << bits:
        raise Unreadable(f"{name}: expected an integer of {bits} bits without sign")
    return number


def text(value: object, name: str) -> str:
    """Return a member that is a text.

    Raises:
        Unreadable: it is not.
    """
    content = member(value, name)
    if not isinstance(content, str):
        raise Unreadable(f"{name}: expected a text")
    return content


def data(value: object, name: str) -> bytes:
    """Return the bytes of a member that is base64.

    Raises:
        Unreadable: it is not.
    """
    try:
        return base64.b64decode(text(value, name), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable(f"{name}: expected base64") from None
