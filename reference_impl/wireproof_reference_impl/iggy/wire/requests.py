"""What clients ask for about messages, whichever way they say it."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from wireproof_reference_impl.iggy.wire.identifier import Identifier
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES, STRATEGIES

PARTITIONINGS = {name: code for code, name in PARTITIONING_NAMES.items()}
"""Codes by name in JSON."""

STRATEGY_NAMES = {word: code for code, name in STRATEGIES.items() for word in (name, name[0])}
"""Codes by name over HTTP, long and short."""


class Consumer(NamedTuple):
    """Whose offset counts: a consumer's or a group's."""

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


class SendMessages(Struct, frozen=True):
    """Messages for a topic."""

    place: Place
    partitioning: Partitioning
    messages: Sequence[Sent]


class PollMessages(Struct, frozen=True):
    """What to read from a topic; partition 0 means that none is named."""

    consumer: Consumer
    place: Place
    partition: int
    strategy: int
    value: int
    count: int
    auto_commit: bool


def consumer_number(consumer: Consumer) -> int:
    """Return the number of a consumer; that of one with a name is made of the name."""
    if isinstance(consumer.id, int):
        return consumer.id
    return zlib.crc32(consumer.id.encode())
