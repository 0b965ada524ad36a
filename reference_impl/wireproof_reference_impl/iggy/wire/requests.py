"""Requests about messages, the same for TCP and HTTP."""

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
    """A consumer or a consumer group, by kind and identifier."""

    kind: int
    id: Identifier


class Partitioning(NamedTuple):
    """How a send request chooses the partition: the code of a kind, and a value."""

    kind: int
    value: bytes


class TopicPath(NamedTuple):
    """The path of a topic: the identifiers of its stream and of itself."""

    stream: Identifier
    topic: Identifier


class SendMessages(Struct, frozen=True):
    """A request that sends messages to a topic."""

    place: TopicPath
    partitioning: Partitioning
    messages: Sequence[Sent]


class PollMessages(Struct, frozen=True):
    """A request that polls a topic; partition 0 means that the request names none."""

    consumer: Consumer
    place: TopicPath
    partition: int
    strategy: int
    value: int
    count: int
    auto_commit: bool


def consumer_number(consumer: Consumer) -> int:
    """Return the id of a consumer as a number; a named one has the CRC-32 of its name."""
    if isinstance(consumer.id, int):
        return consumer.id
    return zlib.crc32(consumer.id.encode())
