"""A message as its sender gave it: checked by the rules on documents, then taken apart."""

import base64
import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from wireproof_reference_impl.oms.core.refusal import BAD_REQUEST, HEADER_TOO_LARGE, Refusal
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.extension_header import read_whole_number
from wireproof_spec.oms.names import ATTRIBUTES, HEADER_ATTRIBUTES, Type
from wireproof_spec.oms.rules import RULES
from wireproof_spec.strict_json import JsonValue, fields_of

MOST_HEADER_BYTES: Final = 1 << 18
"""Ours: sixteen times what RocketMQ stores of all properties of a message (32767 bytes)."""

DEFAULT_VERSION: Final = "1.0.0"

CHECKED: Final = (
    "oms.document.unique-name",
    "oms.document.printable",
    "oms.extension-header.dictionary",
    "oms.extension-header.value",
    "oms.extension-header.number",
    "oms.extension-header.text",
    "oms.message.wrapper",
    "oms.message.header",
    "oms.message.properties",
    "oms.message.data",
    "oms.message.qos",
    "oms.message.destination",
    "oms.message.compression",
)
"""The rules that a message must follow before it is sent.

Not among them are those on what the server sets itself: messageId, bornTimestamp, bornHost.
"""

KeyValue = Mapping[str, JsonValue]


class Sent(Struct, frozen=True):
    """A message as its sender sent it, after the checks; known whole numbers are ints."""

    version: str
    header: KeyValue
    extension_header: KeyValue
    properties: KeyValue
    data: bytes | None

    @property
    def destination(self) -> str:
        """Return the destination that the sender named."""
        return str(self.header[names.DESTINATION])

    def number(self, name: str) -> int | None:
        """Return the Long or Integer attribute `name` of the extension header; None if not set."""
        value = self.extension_header.get(name)
        return value if isinstance(value, int) else None

    def text(self, name: str) -> str | None:
        """Return the String attribute `name` of the extension header; None if not set."""
        value = self.extension_header.get(name)
        return value if isinstance(value, str) else None


def read_sent(document: Document) -> Sent:
    """Check a message and return its parts.

    Raises:
        Refusal: the message breaks a rule on documents, or its header is too large.
    """
    check_rules(document)
    message = document.message
    assert isinstance(message, dict)
    extension_header = fields_of(message.get(names.EXTENSION_HEADER))
    check_size(extension_header)
    data = message.get(names.DATA)
    version = message.get(names.VERSION)
    return Sent(
        version=version if isinstance(version, str) else DEFAULT_VERSION,
        header=_with_ints(fields_of(message[names.HEADER]), HEADER_ATTRIBUTES),
        extension_header=_with_ints(extension_header, ATTRIBUTES),
        properties=fields_of(message[names.PROPERTIES]),
        data=base64.b64decode(data) if isinstance(data, str) else None,
    )


def check_rules(document: Document) -> None:
    """Check a message by the rules on documents.

    Raises:
        Refusal: it breaks one; the reason says where and how.
    """
    for name in CHECKED:
        for breach in RULES[name](document).faults:
            where = breach.pointer or "the document"
            reason = f"{where}: expected {breach.expected}, found {breach.found} ({name})"
            raise Refusal(BAD_REQUEST, reason)


def check_size(extension_header: KeyValue) -> None:
    """Check that an extension header is not too large.

    Raises:
        Refusal: it is.
    """
    size = len(json.dumps(extension_header, default=str, ensure_ascii=False).encode())
    if size > MOST_HEADER_BYTES:
        reason = f"expected an extension header of at most {MOST_HEADER_BYTES} bytes, found {size}"
        raise Refusal(HEADER_TOO_LARGE, reason)


def _with_ints(values: KeyValue, types: Mapping[str, Type]) -> KeyValue:
    """Return a dictionary in which whole numbers such as 1e3 are ints where a type wants one."""

    def read(name: str, value: JsonValue) -> JsonValue:
        wanted = types.get(name)
        if wanted is None or wanted is Type.STRING:
            return value
        number = read_whole_number(value, wanted)
        return value if number is None else number

    return {name: read(name, value) for name, value in values.items()}
