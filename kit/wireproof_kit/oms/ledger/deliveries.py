"""A delivered message, matched with the sent messages that may explain it."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Digest, Entries, Entry, Place
from wireproof_kit.oms.adapter.messages import (
    Attributes,
    attributes_of,
    header_of,
    properties_of,
)
from wireproof_kit.oms.ledger.events import Delivered
from wireproof_kit.oms.ledger.sends import Content, body_of
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

AGAIN, SECOND_GROUP, OTHER_PARTITION = "again", "second-group", "other-partition"
"""What the way of a delivery can have besides the usual: the first, of the first group."""
ANSWERED = "answered"
"""What the way of a message as its sender has it after the call has besides."""
_OWN: Final = b"wp_"
"""How a body begins that no other message of a run has, see `System.next_body`."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivered message and the entries that may explain it.

    ``altered`` is True if none of them has its body, but one was given its messageId.
    ``is_again`` is True if the group got a message with this entry before.
    """

    event: Delivered
    entries: tuple[Entry[Content], ...]
    altered: bool = False
    is_again: bool = False

    @property
    def at(self) -> Place:
        """Where it was delivered."""
        return self.event.at

    @property
    def header(self) -> Attributes:
        """The header of the message."""
        return header_of(self.event.document)

    @property
    def attributes(self) -> Attributes:
        """The extension header of the message; empty without one."""
        return attributes_of(self.event.document)

    @property
    def properties(self) -> Attributes:
        """The user properties of the message; empty without any."""
        return properties_of(self.event.document)

    @property
    def place(self) -> JsonValue:
        """The partition that the queue reports, or else the one in the extension header."""
        told = self.event.partition
        return self.attributes.get(names.PARTITION) if told is None else told


@dataclass(slots=True)
class Matcher:
    """Matches deliveries with entries."""

    entries: Entries[Content] = field(default_factory=Entries[Content])
    unmatched: int = 0

    def add(self, entry: Entry[Content]) -> None:
        """Add an entry whose answer is known."""
        content = entry.content
        keys = list(_body_keys(content.destination, content.body))
        if content.answered_id:
            keys.append(("id", content.answered_id))
        self.entries.add(entry, keys)

    def match(self, event: Delivered) -> Delivery | None:
        """Return a delivery with what may explain it; None if nothing does for certain."""
        body = body_of(event.document)
        if body is not None:
            found = self.entries.find(_body_keys(event.destination, Digest.of(body)))
            if found:
                return Delivery(event, tuple(found))
        found = self.entries.find([("id", header_of(event.document).get(names.MESSAGE_ID))])
        if len(found) != 1 or found[0].content.destination != event.destination:
            self.unmatched += 1
            return None
        return Delivery(event, tuple(found), altered=True)


def _body_keys(destination: str, body: Digest) -> Iterator[Hashable]:
    """Yield the keys of a body: at its destination, and anywhere if no other message has it."""
    yield "body", destination, body
    if body.head.startswith(_OWN):
        yield "body", body
