"""Messages as a case sends them, and as an adapter hands them back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from wireproof_spec.driver.lines import in_base64
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

Attributes: TypeAlias = Mapping[str, JsonValue]
Outcome: TypeAlias = Literal["accepted", "refused"]

VERSION: Final = "1.0.0-alpha"
NOTHING: Final[Attributes] = {}
"""No attribute in particular: a message that has this, and not just an empty dictionary, is sent
in a form that the system accepts."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that a case sent; times are by the kit's clocks.

    ``called`` and ``returned`` are monotonic, in seconds. ``called_ms`` and ``returned_ms`` are
    the same moments in milliseconds since 1970. ``document`` is the message as its sender has it
    after the call; ``why`` is the adapter's reason for refusing it.
    """

    key: str
    outcome: Outcome
    called: float
    returned: float
    called_ms: float
    returned_ms: float
    document: Attributes = field(default_factory=dict[str, JsonValue])
    why: str = ""

    @property
    def is_accepted(self) -> bool:
        """Return True if the system accepted the message."""
        return self.outcome == "accepted"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a consumer received.

    ``at`` is monotonic, in seconds; ``at_ms`` counts milliseconds since 1970 by the kit's clock.
    ``partition`` is the partition that the queue reports for the message.
    """

    receipt: str
    document: Attributes
    partition: int | None
    at: float
    at_ms: float

    @property
    def key(self) -> str:
        """The body as base64, by which a case recognises its messages."""
        data = _part(self.document, names.MESSAGE).get(names.DATA)
        return data if isinstance(data, str) else ""

    @property
    def header(self) -> Attributes:
        """The header fields of the message."""
        return header_of(self.document)

    @property
    def attributes(self) -> Attributes:
        """The extension header of the message; empty without one."""
        return attributes_of(self.document)

    @property
    def properties(self) -> Attributes:
        """The user properties of the message; empty without any."""
        return properties_of(self.document)

    @property
    def place(self) -> JsonValue:
        """The partition that the queue reports, or else the one in the extension header."""
        if self.partition is not None:
            return self.partition
        return self.attributes.get(names.PARTITION)


def header_of(document: Attributes) -> Attributes:
    """Return the header of a message in its document form."""
    return _part(_part(document, names.MESSAGE), names.HEADER)


def attributes_of(document: Attributes) -> Attributes:
    """Return the extension header of a message in its document form; empty without one."""
    return _part(_part(document, names.MESSAGE), names.EXTENSION_HEADER)


def properties_of(document: Attributes) -> Attributes:
    """Return the user properties of a message in its document form; empty without any."""
    return _part(_part(document, names.MESSAGE), names.PROPERTIES)


def make_document(
    destination: str,
    attributes: Attributes | None,
    header: Attributes,
    data: bytes,
    properties: Attributes = NOTHING,
) -> dict[str, JsonValue]:
    """Return a message in its document form; None means without an extension header."""
    message: dict[str, JsonValue] = {
        names.VERSION: VERSION,
        names.HEADER: {names.DESTINATION: destination, **header},
        names.PROPERTIES: dict(properties),
        names.DATA: in_base64(data),
    }
    if attributes is not None:
        message[names.EXTENSION_HEADER] = dict(attributes)
    return {names.MESSAGE: message}


def _part(value: Attributes, name: str) -> Attributes:
    part = value.get(name)
    return part if isinstance(part, dict) else NOTHING
