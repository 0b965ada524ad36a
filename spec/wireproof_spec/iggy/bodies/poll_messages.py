"""Polling: the payload of the request, and the bodies of the responses in both generations."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Field, Int8ub, Int32ul, Int64ul, Ranged, Record, field
from wireproof_spec.grammar.lengths import Count, Many
from wireproof_spec.iggy.bodies.consumer import CONSUMER, CONSUMER_TAGGED, Consumer
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.kinds import NEXT, OFFSET
from wireproof_spec.iggy.message import MESSAGE, OLD_MESSAGE, Message


class PollMessages(Struct, frozen=True, gc=False):
    """The payload of a poll: who polls where, by which strategy, how many messages.

    `value` is an offset, or microseconds since 1970. Published servers ignore bytes after
    the payload: decode only up to the offset of the error, whose field is then `end`.
    """

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition_id: int
    strategy: int
    value: int
    count: int
    auto_commit: int


class PolledMessages(Struct, frozen=True, gc=False):
    """The response to a poll; partition and offset are None if it starts with only a count."""

    partition_id: int | None
    current_offset: int | None
    messages: tuple[Message, ...]


def _request(consumer: Schema[Consumer]) -> Record:
    return Record(
        PollMessages,
        field("consumer", consumer.shape),
        field("stream", IDENTIFIER.shape),
        field("topic", IDENTIFIER.shape),
        field("partition_id", Int32ul),
        field("strategy", Ranged(Int8ub, OFFSET, NEXT)),
        field("value", Int64ul),
        field("count", Int32ul),
        field("auto_commit", Int8ub),
    )


POLL_MESSAGES = Schema("poll_messages", "iggy.poll.request", PollMessages, _request(CONSUMER))
"""`consumer`, `stream`, `topic`, 4-byte `partition_id`, 1-byte `strategy`, 8-byte `value`, 4-byte
`count`, 1-byte `auto_commit`."""
POLL_MESSAGES_TAGGED = Schema(
    "poll_messages, tagged", "iggy.poll.request", PollMessages, _request(CONSUMER_TAGGED)
)
"""The same with an identifier for the consumer; partition id 0 leaves the choice to the server."""


def _body(message: Schema[Message], *head: Field) -> Record:
    return Record(
        PolledMessages,
        *head,
        field("count", Count(Int32ul, of="messages")),
        field("messages", Many(message.shape, count=this.count)),
    )


POLLED_MESSAGES = Schema("polled messages", "iggy.poll.head", PolledMessages, _body(MESSAGE))
"""4-byte `count`, so many messages; 4 bytes of 0 when there is none."""
POLLED_MESSAGES_TAGGED = Schema(
    "polled messages, tagged",
    "iggy.poll.head",
    PolledMessages,
    _body(MESSAGE, field("partition_id", Int32ul), field("current_offset", Int64ul)),
)
"""4-byte `partition_id`, 8-byte `current_offset`, 4-byte `count`, so many messages."""
POLLED_MESSAGES_OLD = Schema(
    "polled messages, old", "iggy.message.old-layout", PolledMessages, _body(OLD_MESSAGE)
)
"""4-byte `count`, so many messages of the old layout."""


def poll_messages_schema(generation: Generation) -> Schema[PollMessages]:
    """Return the schema of a poll request's payload for servers of a generation."""
    return POLL_MESSAGES if generation == "published" else POLL_MESSAGES_TAGGED


def polled_messages_schema(generation: Generation) -> Schema[PolledMessages]:
    """Return the schema of a poll response's body for servers of a generation."""
    return POLLED_MESSAGES if generation == "published" else POLLED_MESSAGES_TAGGED
