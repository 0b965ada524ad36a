"""Consumer offsets: the position of a consumer in a partition."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Field, Int32ul, Int64ul, Record, field
from wireproof_spec.iggy.bodies.consumer import CONSUMER, CONSUMER_TAGGED, Consumer
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier


class GetConsumerOffset(Struct, frozen=True, gc=False):
    """The payload of a request for the stored offset of a consumer in a partition."""

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition_id: int


class StoreConsumerOffset(Struct, frozen=True, gc=False):
    """The payload of a request to store a consumer's offset in a partition."""

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition_id: int
    offset: int


class ConsumerOffset(Struct, frozen=True, gc=False):
    """A response, or file, with a consumer's stored offset; 0 also if none is stored."""

    consumer_id: int
    offset: int


class ConsumerOffsetTagged(Struct, frozen=True, gc=False):
    """The response, in generation `tagged`, with a stored offset and that of the last message."""

    partition_id: int
    current_offset: int
    stored_offset: int


class StoredOffset(Struct, frozen=True, gc=False):
    """The content of a file on disk that stores a consumer's offset."""

    offset: int


def _place(consumer: Schema[Consumer]) -> tuple[Field, ...]:
    return (
        field("consumer", consumer.shape),
        field("stream", IDENTIFIER.shape),
        field("topic", IDENTIFIER.shape),
        field("partition_id", Int32ul),
    )


_OFFSET = field("offset", Int64ul)

GET_CONSUMER_OFFSET = Schema(
    "get_consumer_offset",
    "iggy.poll.stored-offset",
    GetConsumerOffset,
    Record(GetConsumerOffset, *_place(CONSUMER)),
)
GET_CONSUMER_OFFSET_TAGGED = Schema(
    "get_consumer_offset, tagged",
    "iggy.poll.stored-offset",
    GetConsumerOffset,
    Record(GetConsumerOffset, *_place(CONSUMER_TAGGED)),
)
"""`consumer`, `stream`, `topic`, 4-byte `partition_id`."""

STORE_CONSUMER_OFFSET = Schema(
    "store_consumer_offset",
    "iggy.poll.stored-offset",
    StoreConsumerOffset,
    Record(StoreConsumerOffset, *_place(CONSUMER), _OFFSET),
)
STORE_CONSUMER_OFFSET_TAGGED = Schema(
    "store_consumer_offset, tagged",
    "iggy.poll.stored-offset",
    StoreConsumerOffset,
    Record(StoreConsumerOffset, *_place(CONSUMER_TAGGED), _OFFSET),
)
"""The same, then 8-byte `offset`."""

CONSUMER_OFFSET = Schema(
    "consumer offset",
    "iggy.poll.stored-offset",
    ConsumerOffset,
    Record(ConsumerOffset, field("consumer_id", Int32ul), _OFFSET),
)
"""4-byte `consumer_id`, 8-byte `offset`."""
CONSUMER_OFFSET_TAGGED = Schema(
    "consumer offset, tagged",
    "iggy.poll.stored-offset",
    ConsumerOffsetTagged,
    Record(
        ConsumerOffsetTagged,
        field("partition_id", Int32ul),
        field("current_offset", Int64ul),
        field("stored_offset", Int64ul),
    ),
)
"""4-byte `partition_id`, 8-byte `current_offset`, 8-byte `stored_offset`."""

STORED_OFFSET = Schema(
    "stored offset", "iggy.disk.offsets", StoredOffset, Record(StoredOffset, _OFFSET)
)
"""8 bytes: the file `offsets/consumers/<id>` or `offsets/groups/<id>` of a partition."""
