"""What clients ask for about messages, whichever way they say it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wireproof_reference_impl.iggy.core.identifier import Identifier
from wireproof_reference_impl.iggy.core.message import Sent

CONSUMER = 1
CONSUMER_GROUP = 2

BALANCED = 1
PARTITION_ID = 2
MESSAGES_KEY = 3
PARTITIONINGS: Mapping[str, int] = {
    "balanced": BALANCED,
    "partition_id": PARTITION_ID,
    "messages_key": MESSAGES_KEY,
}
"""Names in JSON."""

OFFSET = 1
TIMESTAMP = 2
FIRST = 3
LAST = 4
NEXT = 5
STRATEGIES: Mapping[str, int] = {
    "offset": OFFSET,
    "o": OFFSET,
    "timestamp": TIMESTAMP,
    "t": TIMESTAMP,
    "first": FIRST,
    "f": FIRST,
    "last": LAST,
    "l": LAST,
    "next": NEXT,
    "n": NEXT,
}
"""Names over HTTP, long and short."""


class Consumer(NamedTuple):
    """Whose offset counts; `kind` is `CONSUMER` or `CONSUMER_GROUP`."""

    kind: int
    id: Identifier


class Partitioning(NamedTuple):
    """Where messages go."""

    kind: int
    value: bytes


class Place(NamedTuple):
    """A topic as a client names it."""

    stream: Identifier
    topic: Identifier


@dataclass(frozen=True, slots=True)
class SendMessages:
    """Messages for a topic."""

    place: Place
    partitioning: Partitioning
    messages: Sequence[Sent]


@dataclass(frozen=True, slots=True)
class PollMessages:
    """What to read from a topic; partition 0 means that none is named."""

    consumer: Consumer
    place: Place
    partition: int
    strategy: int
    value: int
    count: int
    auto_commit: bool
