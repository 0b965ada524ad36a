"""Requests to send: header and body, with every byte range labelled by the grammar's names.

What a case makes wrong on purpose it changes afterwards, in the value or in the bytes; `frame`
makes the size right again.
"""

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace as change

from wireproof_kit.wire.outgoing import Outgoing, from_grammar
from wireproof_kit.wire.outgoing import overwritten as _overwritten
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BATCH, Batch
from wireproof_spec.iggy.apache.bodies import groups, messages, places, resources
from wireproof_spec.iggy.apache.bodies.messages import (
    DeleteConsumerOffset,
    GetConsumerOffset,
    PollMessages,
    SendBytes,
    SendMetadata,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.bodies.places import OptionalPartition, StreamRequest, TopicRequest
from wireproof_spec.iggy.apache.bodies.resources import CreateStream, CreateTopic
from wireproof_spec.iggy.apache.header import HEADER_SIZE, REQUEST_HEADER, RequestHeader
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.kinds import CONSUMER_KIND, OFFSET

_REQUEST_AT: Final = 168


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the target; its partitions count from 0. A case uses ``partition``."""

    stream_id: int
    stream_name: str
    id: int
    name: str
    partitions: int = 1
    partition: int = 0

    @property
    def by_number(self) -> tuple[Identifier, Identifier]:
        """Return the identifiers of stream and topic by number."""
        return numeric(self.stream_id), numeric(self.id)

    @property
    def by_name(self) -> tuple[Identifier, Identifier]:
        """Return the identifiers of stream and topic by name."""
        return make_named(self.stream_name), make_named(self.name)


@dataclass(frozen=True, slots=True)
class Polling:
    """The parameters of a poll; by default, the first hundred messages of a topic's partition."""

    strategy: int = OFFSET
    value: int = 0
    count: int = 100
    auto_commit: int = 0
    consumer: int | str = 1
    kind: int = CONSUMER_KIND
    partition: int | None = None
    """None for that of the topic, `UNSET` for none at all."""


UNSET: Final = -1
POLLING: Final = Polling()


def frame(header: RequestHeader, body: Outgoing | bytes = b"", *, what: str = "") -> Outgoing:
    """Return a request with this header and body; the size of the header is made right."""
    behind = Outgoing(body) if isinstance(body, bytes) else body
    size = HEADER_SIZE + len(behind.data)
    built = from_grammar(REQUEST_HEADER, change(header, size=size)) + behind
    names = operations.CODES if header.operation == operations.NON_REPLICATED else None
    name = names.get(header.code) if names else operations.OPERATIONS.get(header.operation)
    return built.rename(what or behind.what or name or f"operation {header.operation}")


def number_of(outgoing: Outgoing) -> int:
    """Return the number of the first request in some bytes."""
    return int.from_bytes(outgoing.data[_REQUEST_AT : _REQUEST_AT + 8], "little")


def overwritten(built: Outgoing, field: str, number: int) -> Outgoing:
    """Return a request with one field overwritten by a number, modulo the field's width."""
    return _overwritten(built, field, number, "little")


def send_body(
    where: tuple[Identifier, Identifier],
    partitioning: Partitioning,
    batch: Batch | bytes,
    count: int | None = None,
) -> Outgoing:
    """Return the body of a send; ``count`` is that of the metadata, by default the batch's."""
    known = len(batch.frames) if isinstance(batch, Batch) else 1
    metadata = SendMetadata(*where, partitioning, known if count is None else count)
    head = from_grammar(messages.SEND_BYTES, SendBytes(metadata, b""))
    tail = from_grammar(BATCH, batch) if isinstance(batch, Batch) else Outgoing(batch)
    return (head + tail).rename("send_messages")


def poll_body(where: tuple[Identifier, Identifier], partition: int, polling: Polling) -> Outgoing:
    """Return the body of a poll."""
    number = partition if polling.partition is None else polling.partition
    asked = PollMessages(
        consumer(polling.consumer, polling.kind),
        *where,
        places.ANY_PARTITION if number == UNSET else places.one_partition(number),
        polling.strategy,
        polling.value,
        polling.count,
        polling.auto_commit,
    )
    return from_grammar(messages.POLL_MESSAGES, asked, what="poll_messages")


def consumer(id: int | str, kind: int = CONSUMER_KIND) -> Consumer:
    """Return a consumer by number or by name."""
    return Consumer(kind, make_named(id) if isinstance(id, str) else numeric(id))


def get_offset_body(topic: Topic, who: Consumer, partition: int) -> Outgoing:
    """Return the body of a request for a stored offset."""
    asked = GetConsumerOffset(who, *topic.by_number, places.one_partition(partition))
    return from_grammar(messages.GET_CONSUMER_OFFSET, asked, what="get_consumer_offset")


def store_offset_body(
    topic: Topic, who: Consumer, partition: int, offset: int, ack: int = messages.QUORUM
) -> Outgoing:
    """Return the body of a request that stores an offset."""
    where = places.one_partition(partition)
    asked = StoreConsumerOffset(who, *topic.by_number, where, offset, ack)
    return from_grammar(messages.STORE_CONSUMER_OFFSET, asked, what="store_consumer_offset")


def delete_offset_body(topic: Topic, who: Consumer, partition: int) -> Outgoing:
    """Return the body of a request that deletes a stored offset."""
    where: OptionalPartition = places.one_partition(partition)
    asked = DeleteConsumerOffset(who, *topic.by_number, where, messages.QUORUM)
    return from_grammar(messages.DELETE_CONSUMER_OFFSET, asked, what="delete_consumer_offset")


def create_group_body(topic: Topic, name: str) -> Outgoing:
    """Return the body of a request that creates a consumer group."""
    wanted = groups.CreateGroup(*topic.by_number, name)
    return from_grammar(groups.CREATE_GROUP, wanted, what="create_consumer_group")


def group_body(topic: Topic, group: Identifier) -> Outgoing:
    """Return the body of a request to get, delete, join, leave or sync a consumer group."""
    wanted = groups.GroupRequest(*topic.by_number, group)
    return from_grammar(groups.GROUP_REQUEST, wanted, what="a consumer group")


def create_stream_body(name: str) -> Outgoing:
    """Return the body of a request that creates a stream."""
    return from_grammar(resources.CREATE_STREAM, CreateStream(name), what="create_stream")


def create_topic_body(stream: Identifier, name: str, partitions: int) -> Outgoing:
    """Return the body of a request that creates a topic."""
    wanted = CreateTopic(stream, partitions, name)
    return from_grammar(resources.CREATE_TOPIC, wanted, what="create_topic")


def stream_body(stream: Identifier) -> Outgoing:
    """Return the body of a request to get or to delete a stream."""
    return from_grammar(places.STREAM_REQUEST, StreamRequest(stream), what="a stream")


def topic_body(stream: Identifier, topic: Identifier) -> Outgoing:
    """Return the body of a request to get or to delete a topic."""
    return from_grammar(places.TOPIC_REQUEST, TopicRequest(stream, topic), what="a topic")
