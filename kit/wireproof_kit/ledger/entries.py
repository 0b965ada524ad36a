"""What a target was given, what it delivered, and how the two are matched.

A rule of content is judged of a delivery and the entry that it delivers. Where several entries
may explain a delivery, it is right if it is right of one of them: the kit never chooses the
entry that makes a target look worse.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import Generic, TypeVar

from wireproof_kit.wire.transcript import Step

C = TypeVar("C")
"""The content of an entry, as a protocol describes it."""
_HEAD = 64


class Fate(Enum):
    """What became of a message that the target was given."""

    AWAITED = "awaited"
    """Its answer has not come yet."""
    ACCEPTED = "accepted"
    """A whole, well-formed publish was answered rightly: what is delivered is exactly this."""
    POSSIBLE = "possible"
    """It may have been stored: no answer, the connection closed, a refusal that may pass."""
    REFUSED = "refused"
    """It was answered with an error."""
    FREE = "free"
    """Malformed on purpose, or its legality is not said: no rule of content binds it."""


BOUND = (Fate.ACCEPTED, Fate.POSSIBLE)
"""The fates of messages that come unaltered if they come."""


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest of some bytes, with their length and their first bytes: of bounded size."""

    digest: bytes
    length: int
    head: bytes = field(compare=False)

    @staticmethod
    def of(data: bytes) -> "Digest":
        """Return the digest of these bytes."""
        return Digest(blake2b(data, digest_size=16).digest(), len(data), data[:_HEAD])


@dataclass(frozen=True, slots=True)
class Place:
    """One step of one case: where something was given, answered or delivered."""

    case: str
    step: Step


@dataclass(eq=False, slots=True)
class Entry(Generic[C]):
    """A message that the target was given; ``order`` counts the steps of all cases."""

    content: C
    destination: Hashable
    at: Place
    way: frozenset[str] = frozenset()
    fate: Fate = Fate.AWAITED
    order: int = 0
    answered_at: Place | None = None
    answered_order: int = 0

    def settle(self, fate: Fate, at: Place | None = None, order: int = 0) -> None:
        """Set what became of the message, once."""
        if self.fate is Fate.AWAITED:
            self.fate, self.answered_at, self.answered_order = fate, at, order

    def evidence(self, delivered_at: Place) -> tuple[Place, ...]:
        """Return where the message was given, answered and delivered."""
        places = (self.at, self.answered_at, delivered_at)
        return tuple(place for place in places if place is not None)


class Entries(Generic[C]):
    """All entries of a run by the keys that may identify a delivery of theirs."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, list[Entry[C]]] = {}

    def add(self, entry: Entry[C], keys: Iterable[Hashable]) -> None:
        """Add an entry under its keys."""
        for key in keys:
            self._by_key.setdefault(key, []).append(entry)

    def find(self, keys: Iterable[Hashable]) -> list[Entry[C]]:
        """Return the entries of the first of these keys that has any; the strongest key first."""
        key = next((key for key in keys if key in self._by_key), None)
        return self._by_key.get(key, [])

    def __iter__(self) -> Iterator[Entry[C]]:
        seen: set[int] = set()
        for entries in self._by_key.values():
            for entry in entries:
                if id(entry) not in seen:
                    seen.add(id(entry))
                    yield entry
