"""A polled message, matched with the sent messages that may explain it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from wireproof_kit.iggy.ledger.contents import Content
from wireproof_kit.iggy.ledger.events import PollAnswered
from wireproof_kit.iggy.observe.observations import make_difference
from wireproof_kit.iggy.observe.polled import PolledMessage
from wireproof_kit.iggy.wire.http import JsonObject
from wireproof_kit.ledger.entries import BOUND, Digest, Entries, Entry
from wireproof_kit.observation import Difference
from wireproof_spec.iggy.message import Message


class Match(Enum):
    """By what a polled message is matched with sent ones."""

    PAYLOAD = "payload"
    """They have its payload, and may be in its partition."""
    ID = "id"
    """No sent message has its payload; these have its id."""
    ELSEWHERE = "elsewhere"
    """They have its payload, but their requests name another partition."""
    REST = "rest"
    """Nothing else fits, and all that was sent to the partition is known."""
    NONE = "none"
    """Nothing explains it for certain."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A polled message; over HTTP ``found`` is its object, over TCP its bytes and position."""

    event: PollAnswered
    message: Message
    found: PolledMessage | JsonObject
    match: Match = Match.NONE
    entries: Sequence[Entry[Content]] = ()

    @property
    def over_http(self) -> bool:
        """True if it was polled over HTTP."""
        return not isinstance(self.found, PolledMessage)

    def differ(self, name: str, expected: str, found: str) -> Difference:
        """Return a difference in a field of the message."""
        if isinstance(self.found, PolledMessage):
            return make_difference(name, self.found, expected, found)
        return Difference(name, None, expected, found)


@dataclass(slots=True)
class Matcher:
    """Matches polled messages with entries."""

    entries: Entries[Content] = field(default_factory=Entries[Content])
    unmatched: int = 0

    def add(self, entry: Entry[Content]) -> None:
        """Add an entry whose answer is known."""
        content, topic = entry.content, entry.destination
        keys: list[tuple[object, ...]] = [("all", topic), ("payload", topic, content.payload)]
        if content.id:
            keys.append(("id", topic, content.id))
        self.entries.add(entry, keys)

    def match(
        self, event: PollAnswered, message: Message, found: PolledMessage | JsonObject
    ) -> Delivery:
        """Return a polled message with what may explain it."""
        how, entries = self._match(event, message)
        if any(entry.fate not in BOUND for entry in entries):
            how, entries = Match.NONE, ()
        self.unmatched += how is Match.NONE
        return Delivery(event, message, found, how, entries)

    def _match(
        self, event: PollAnswered, message: Message
    ) -> tuple[Match, Sequence[Entry[Content]]]:
        equal = self._find(event, ("payload", event.topic, Digest.of(message.payload)))
        if near := [entry for entry in equal if _may_be_in(entry, event.partition)]:
            return Match.PAYLOAD, near
        of_id = self._find(event, ("id", event.topic, message.id))
        if near := [entry for entry in of_id if _may_be_in(entry, event.partition)]:
            return Match.ID, near
        if not event.is_closed:
            return Match.NONE, []
        if equal:
            return Match.ELSEWHERE, equal
        rest = self._find(event, ("all", event.topic))
        near = [entry for entry in rest if _may_be_in(entry, event.partition)]
        bound = [entry for entry in near if entry.fate in BOUND]
        return (Match.REST, bound) if bound else (Match.NONE, [])

    def _find(self, event: PollAnswered, key: tuple[object, ...]) -> list[Entry[Content]]:
        found = self.entries.find([key])
        return [entry for entry in found if entry.order < event.order]


def _may_be_in(entry: Entry[Content], partition: int | None) -> bool:
    return None in (entry.content.partition, partition) or entry.content.partition == partition
