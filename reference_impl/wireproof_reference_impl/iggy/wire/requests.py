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
    """A consumer or a consumer group, whose offset is stored."""

    kind: int
    id: Identifier


class Partitioning(NamedTuple):
    """How a request to send names its partition."""

    kind: int
    value: bytes


class TopicPath(NamedTuple):
    """A topic, by the identifiers of its stream and of itself."""

    stream: Identifier
    topic: Identifier


class SendMessages(Struct, frozen=True):
    """Messages for a topic."""

    place: TopicPath
    partitioning: Partitioning
    messages: Sequence[Sent]


class PollMessages(Struct, frozen=True):
    """A request to poll a topic; partition 0 means that none is named."""

    consumer: Consumer
    place: TopicPath
    partition: int
    strategy: int
    value: int
    count: int
    auto_commit: bool


def consumer_number(consumer: Consumer) -> int:
    """Return the number of a consumer; that of a named one is the CRC-32 of its name."""
    if isinstance(consumer.id, int):
        return consumer.id
    return zlib.crc32(consumer.id.encode())
