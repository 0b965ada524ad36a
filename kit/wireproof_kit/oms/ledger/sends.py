"""The message in a request to send or to prepare one, as the rules of content need it."""

import re
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.decoding.json_text import GREATEST_EXACT
from wireproof_kit.ledger.entries import Digest
from wireproof_kit.oms.adapter.messages import (
    Attributes,
    attributes_of,
    header_of,
    properties_of,
)
from wireproof_spec.driver.lines import LineFault, from_base64
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.names import ATTRIBUTES, HEADER_ATTRIBUTES, Kind, Type
from wireproof_spec.oms.rule_result import DESCRIBED, UNSET
from wireproof_spec.oms.rules import RULES
from wireproof_spec.strict_json import JsonValue, fields_of

_DIGITS: Final = re.compile(r"-?[0-9]{16,20}")
_SET_BY_SERVERS: Final = {
    "oms.document.known-name",
    "oms.extension-header.expiry",
    "oms.message.version",
    "oms.message.message-id",
    "oms.message.born-timestamp",
    "oms.message.born-host",
}
"""Rules that a message need not follow before it is sent, or that forbid nothing."""


@dataclass(slots=True)
class Transaction:
    """A transaction by its id; orders count steps, 0 means that the step never came."""

    id: str
    commit_order: int = 0
    rollback_order: int = 0
    committed_as: JsonValue = None
    is_certain: bool = True
    """False if a request to end the transaction was refused or not answered."""


@dataclass(slots=True)
class Content:
    """A message that was sent; ``partitions`` is None if the number is not known.

    ``answer`` is the message as its sender has it after the call.
    """

    destination: str
    header: Attributes
    attributes: Attributes
    body: Digest
    properties: Attributes = field(default_factory=dict[str, JsonValue])
    partitions: int | None = None
    is_prepared: bool = False
    transaction: Transaction | None = None
    answer: Attributes = field(default_factory=dict[str, JsonValue])

    @property
    def answered_id(self) -> str:
        """The messageId after the call; empty if the answer has none."""
        id = header_of(self.answer).get(names.MESSAGE_ID)
        return id if isinstance(id, str) else ""


def read_send(document: JsonValue, *, is_prepared: bool) -> Content | None:
    """Return the message in a request; None if the request has none that can be recognised."""
    if not isinstance(document, dict):
        return None
    header = header_of(document)
    destination, body = header.get(names.DESTINATION), body_of(document)
    if not isinstance(destination, str) or body is None:
        return None
    return Content(
        destination,
        header,
        attributes_of(document),
        Digest.of(body),
        properties_of(document),
        is_prepared=is_prepared,
    )


def is_well_formed(document: JsonValue) -> bool:
    """Return True if a message follows the rules on documents before it is sent."""
    read = Document(b"", Kind.MESSAGE, document)
    return all(
        rule(read).state in (DESCRIBED, UNSET)
        for clause, rule in RULES.items()
        if clause not in _SET_BY_SERVERS
    )


def body_of(document: Attributes) -> bytes | None:
    """Return the body of a message; None if it is no base64."""
    message = document.get(names.MESSAGE)
    data = message.get(names.DATA, "") if isinstance(message, dict) else None
    if not isinstance(data, str):
        return None
    try:
        return from_base64(data)
    except LineFault:
        return None


def with_numbers(document: JsonValue) -> JsonValue:
    """Return a message with the numbers that the transcript holds as strings of digits.

    A transcript writes numbers beyond 2^53 as strings. Only attributes of a number type are read
    back: a string there that has so many digits cannot be told from a number.
    """
    whole = fields_of(document)
    message = whole.get(names.MESSAGE)
    if not isinstance(message, dict):
        return document
    parts = {names.HEADER: HEADER_ATTRIBUTES, names.EXTENSION_HEADER: ATTRIBUTES}
    read = {
        part: {name: _number(value, types.get(name)) for name, value in found.items()}
        for part, types in parts.items()
        if isinstance(found := message.get(part), dict)
    }
    return {**whole, names.MESSAGE: {**message, **read}}


def _number(value: JsonValue, wanted: Type | None) -> JsonValue:
    is_number = wanted not in (None, Type.STRING) and isinstance(value, str)
    if is_number and isinstance(value, str) and _DIGITS.fullmatch(value):
        number = int(value)
        return number if abs(number) > GREATEST_EXACT else value
    return value
