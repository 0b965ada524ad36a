"""The bodies of requests to send and to poll messages, and to get, store and delete offsets."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import (
    Field,
    Int8ub,
    Int32ul,
    Int64ul,
    Ranged,
    Record,
    Rest,
    field,
)
from wireproof_spec.grammar.lengths import Sized
from wireproof_spec.iggy.apache.batch import BATCH, Batch
from wireproof_spec.iggy.apache.bodies.places import (
    OPTIONAL_PARTITION,
    PARTITIONING,
    OptionalPartition,
    topic_fields,
)
from wireproof_spec.iggy.bodies.consumer import CONSUMER_TAGGED, Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.kinds import NEXT, OFFSET

NO_ACK = 0
QUORUM = 1


class SendMetadata(Struct, frozen=True, gc=False):
    """What stands in front of the batch of a send."""

    stream: Identifier
    topic: Identifier
    partitioning: Partitioning
    messages_count: int


class SendMessages(Struct, frozen=True, gc=False):
    """The body of a request to send messages: one batch to one partition."""

    metadata: SendMetadata
    batch: Batch


class SendBytes(Struct, frozen=True, gc=False):
    """The same with the bytes of the batch, which may be anything."""

    metadata: SendMetadata
    batch: bytes


class PollMessages(Struct, frozen=True, gc=False):
    """The body of a poll: who polls where, by which strategy, how many messages."""

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition: OptionalPartition
    strategy: int
    value: int
    count: int
    auto_commit: int


class GetConsumerOffset(Struct, frozen=True, gc=False):
    """The body of a request for a stored offset; without one the reply has no body."""

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition: OptionalPartition


class StoreConsumerOffset(Struct, frozen=True, gc=False):
    """The body of a request to store an offset; `ack` is `NO_ACK` or `QUORUM`."""

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition: OptionalPartition
    offset: int
    ack: int


class DeleteConsumerOffset(Struct, frozen=True, gc=False):
    """The body of a request to delete a stored offset."""

    consumer: Consumer
    stream: Identifier
    topic: Identifier
    partition: OptionalPartition
    ack: int


class ConsumerOffset(Struct, frozen=True, gc=False):
    """The reply with a stored offset, and the newest offset of the partition."""

    partition_id: int
    current_offset: int
    stored_offset: int


_METADATA = Sized(
    Int32ul,
    Record(
        SendMetadata,
        *topic_fields(),
        field("partitioning", PARTITIONING.shape),
        field("messages_count", Int32ul),
    ),
    name="metadata_length",
)

SEND_MESSAGES = Schema(
    "apache send_messages",
    "iggy.apache.send.metadata-length",
    SendMessages,
    Record(SendMessages, field("metadata", _METADATA), field("batch", BATCH.shape)),
)
"""4-byte `metadata_length`, `stream`, `topic`, `partitioning`, 4-byte `messages_count`, batch."""
SEND_BYTES = Schema(
    "apache send_messages, any batch",
    "iggy.apache.send.metadata-length",
    SendBytes,
    Record(SendBytes, field("metadata", _METADATA), field("batch", Rest)),
)
"""The same, whatever stands in the place of the batch."""


def _consumed() -> tuple[Field, ...]:
    return (
        field("consumer", CONSUMER_TAGGED.shape),
        *topic_fields(),
        field("partition", OPTIONAL_PARTITION.shape),
    )


_ACK = field("ack", Ranged(Int8ub, NO_ACK, QUORUM))

POLL_MESSAGES = Schema(
    "apache poll_messages",
    "iggy.apache.poll.head",
    PollMessages,
    Record(
        PollMessages,
        *_consumed(),
        field("strategy", Ranged(Int8ub, OFFSET, NEXT)),
        field("value", Int64ul),
        field("count", Int32ul),
        field("auto_commit", Int8ub),
    ),
)
"""`consumer`, `stream`, `topic`, `partition`, 1-byte `strategy`, 8-byte `value`, 4-byte `count`,
1-byte `auto_commit`."""

GET_CONSUMER_OFFSET = Schema(
    "apache get_consumer_offset",
    "iggy.apache.offset.store-get",
    GetConsumerOffset,
    Record(GetConsumerOffset, *_consumed()),
)
"""`consumer`, `stream`, `topic`, `partition`."""
STORE_CONSUMER_OFFSET = Schema(
    "apache store_consumer_offset",
    "iggy.apache.offset.store-get",
    StoreConsumerOffset,
    Record(StoreConsumerOffset, *_consumed(), field("offset", Int64ul), _ACK),
)
"""The same, 8-byte `offset`, 1-byte `ack`."""
DELETE_CONSUMER_OFFSET = Schema(
    "apache delete_consumer_offset",
    "iggy.apache.offset.ack",
    DeleteConsumerOffset,
    Record(DeleteConsumerOffset, *_consumed(), _ACK),
)
"""`consumer`, `stream`, `topic`, `partition`, 1-byte `ack`."""
CONSUMER_OFFSET = Schema(
    "apache consumer offset",
    "iggy.apache.offset.store-get",
    ConsumerOffset,
    Record(
        ConsumerOffset,
        field("partition_id", Int32ul),
        field("current_offset", Int64ul),
        field("stored_offset", Int64ul),
    ),
)
"""20 bytes."""
