"""Topics and their partitions: requests about them, and the server's responses."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int8ub, Int32ul, Int64ul, Record, Shape, field
from wireproof_spec.grammar.lengths import Each
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier, number_as_identifier
from wireproof_spec.iggy.bodies.text_fields import long_text, rest_of_frame, short_text
from wireproof_spec.iggy.names import NAME_BOUNDS


class TopicRequest(Struct, frozen=True, gc=False):
    """The payload of a request to get or delete one topic, or to list its consumer groups."""

    stream: Identifier
    topic: Identifier


class CreateTopic(Struct, frozen=True, gc=False):
    """The payload that creates a topic; fields only `tagged` servers have are None for others."""

    stream: Identifier
    topic_id: int
    partitions_count: int
    compression: int | None
    message_expiry: int | None
    max_topic_size: int | None
    replication_factor: int | None
    name: str


class PartitionsRequest(Struct, frozen=True, gc=False):
    """The payload of a request to add partitions to a topic, or to delete those of highest id."""

    stream: Identifier
    topic: Identifier
    count: int


class Topic(Struct, frozen=True, gc=False):
    """A topic in a response; fields that only `tagged` servers send are None from others."""

    id: int
    created_at: int | None
    partitions_count: int
    message_expiry: int | None
    compression: int | None
    max_topic_size: int | None
    replication_factor: int | None
    size_bytes: int
    messages_count: int
    name: str


class Topics(Struct, frozen=True, gc=False):
    """The response that lists all topics of a stream; the list has no count."""

    topics: tuple[Topic, ...]


class Partition(Struct, frozen=True, gc=False):
    """A partition in a response; `current_offset` is that of its last message, or 0 if empty."""

    id: int
    created_at: int | None
    segments_count: int
    current_offset: int
    size_bytes: int
    messages_count: int


class TopicDetails(Struct, frozen=True, gc=False):
    """The response that describes one topic and its partitions, in any order."""

    topic: Topic
    partitions: tuple[Partition, ...]


_TOPIC_REQUEST = (field("stream", IDENTIFIER.shape), field("topic", IDENTIFIER.shape))

TOPIC_REQUEST = Schema(
    "topic request",
    "iggy.frame.identifier",
    TopicRequest,
    Record(TopicRequest, *_TOPIC_REQUEST),
)
"""`stream`, `topic`."""

PARTITIONS_REQUEST = Schema(
    "partitions request",
    "iggy.frame.resources",
    PartitionsRequest,
    Record(PartitionsRequest, *_TOPIC_REQUEST, field("count", Int32ul)),
)
"""`stream`, `topic`, 4-byte `count`."""

_CREATE_TOPIC = (
    field("stream", IDENTIFIER.shape),
    field("topic_id", Int32ul),
    field("partitions_count", Int32ul),
)
_ONLY_TAGGED = (
    field("message_expiry", Int64ul),
    field("max_topic_size", Int64ul),
    field("replication_factor", Int8ub),
)

CREATE_TOPIC = Schema(
    "create_topic",
    "iggy.frame.resources",
    CreateTopic,
    Record(CreateTopic, *_CREATE_TOPIC, rest_of_frame("name")),
)
"""`stream`, `topic_id`, `partitions_count` (4 bytes each), `name` to the end of the frame."""
CREATE_TOPIC_TAGGED = Schema(
    "create_topic, tagged",
    "iggy.frame.resources",
    CreateTopic,
    Record(
        CreateTopic,
        *_CREATE_TOPIC,
        field("compression", Int8ub),
        *_ONLY_TAGGED,
        *short_text("name", bounds=NAME_BOUNDS),
    ),
)
"""The same, then 1-byte `compression` (1 none, 2 gzip), 8-byte `message_expiry`, 8-byte
`max_topic_size`, 1-byte `replication_factor`, 1-byte `name_length`, `name`."""
CREATE_TOPIC_OF_SCHEMA = Schema(
    "create_topic, Iggy schema",
    "iggy.frame.resources",
    CreateTopic,
    Record(
        CreateTopic,
        field("stream", IDENTIFIER.shape),
        *number_as_identifier("topic_id"),
        field("partitions_count", Int32ul),
        *short_text("name", bounds=NAME_BOUNDS),
    ),
)
"""`stream`, `topic_id` as an identifier of kind 1, 4-byte `partitions_count`, 1-byte
`name_length`, `name`."""

TOPIC = Schema(
    "topic",
    "iggy.frame.resources",
    Topic,
    Record(
        Topic,
        field("id", Int32ul),
        field("partitions_count", Int32ul),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
        *long_text("name"),
    ),
)
"""`id`, `partitions_count` (4 bytes each), `size_bytes`, `messages_count` (8 each), 4-byte
`name_length`, `name`."""
TOPIC_TAGGED = Schema(
    "topic, tagged",
    "iggy.frame.resources",
    Topic,
    Record(
        Topic,
        field("id", Int32ul),
        field("created_at", Int64ul),
        field("partitions_count", Int32ul),
        field("message_expiry", Int64ul),
        field("compression", Int8ub),
        field("max_topic_size", Int64ul),
        field("replication_factor", Int8ub),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
        *short_text("name"),
    ),
)
"""51 bytes and the name, whose length takes 1."""

_PARTITION = (
    field("segments_count", Int32ul),
    field("current_offset", Int64ul),
    field("size_bytes", Int64ul),
    field("messages_count", Int64ul),
)

PARTITION = Schema(
    "partition",
    "iggy.frame.resources",
    Partition,
    Record(Partition, field("id", Int32ul), *_PARTITION),
)
"""`id`, `segments_count` (4 bytes each), `current_offset`, `size_bytes`, `messages_count` (8)."""
PARTITION_TAGGED = Schema(
    "partition, tagged",
    "iggy.frame.resources",
    Partition,
    Record(Partition, field("id", Int32ul), field("created_at", Int64ul), *_PARTITION),
)
"""The same with 8-byte `created_at` behind the id."""


def _topics(name: str, each: Shape) -> Schema[Topics]:
    shape = Record(Topics, field("topics", Each(each)))
    return Schema(name, "iggy.frame.resources", Topics, shape)


def _details(name: str, topic: Shape, partition: Shape) -> Schema[TopicDetails]:
    shape = Record(TopicDetails, field("topic", topic), field("partitions", Each(partition)))
    return Schema(name, "iggy.frame.resources", TopicDetails, shape)


TOPICS = _topics("topics", TOPIC.shape)
TOPICS_TAGGED = _topics("topics, tagged", TOPIC_TAGGED.shape)
"""Topics one after the other; no bytes when there is none."""

TOPIC_DETAILS = _details("topic details", TOPIC.shape, PARTITION.shape)
TOPIC_DETAILS_TAGGED = _details(
    "topic details, tagged", TOPIC_TAGGED.shape, PARTITION_TAGGED.shape
)
"""A topic, then its partitions."""
