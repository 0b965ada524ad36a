"""Streams and topics: requests that create them, and what a server answers about them."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Field, Int8ub, Int32ul, Int64ul, Record, field
from wireproof_spec.grammar.lengths import Each, Sized
from wireproof_spec.iggy.apache.bodies.places import topic_fields
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, UserHeader
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.text_fields import short_text
from wireproof_spec.iggy.names import NAME_BOUNDS

MAX_PARTITIONS = 1000
"""Of one request to create a topic; the peer answers 1001 with status 2015."""


class CreateStream(Struct, frozen=True, gc=False):
    """The body of a request to create a stream; the peer knows no option of a stream."""

    name: str
    options: tuple[UserHeader, ...] = ()


class CreateTopic(Struct, frozen=True, gc=False):
    """The body of a request to create a topic; an absent option means the server's default."""

    stream: Identifier
    partitions_count: int
    name: str
    options: tuple[UserHeader, ...] = ()


class Stream(Struct, frozen=True, gc=False):
    """A stream in a reply."""

    id: int
    created_at: int
    topics_count: int
    size_bytes: int
    messages_count: int
    name: str
    options: tuple[UserHeader, ...] = ()


class Topic(Struct, frozen=True, gc=False):
    """A topic in a reply: `options` are those of the request, `effective` all in force."""

    id: int
    created_at: int
    partitions_count: int
    message_expiry: int
    compression: int
    max_topic_size: int
    size_bytes: int
    messages_count: int
    name: str
    options: tuple[UserHeader, ...] = ()
    effective: tuple[UserHeader, ...] = ()


class Partition(Struct, frozen=True, gc=False):
    """A partition in a reply."""

    id: int
    created_at: int
    segments_count: int
    current_offset: int
    size_bytes: int
    messages_count: int


class StreamDetails(Struct, frozen=True, gc=False):
    """The reply to a request for one stream: the stream, and its topics."""

    stream: Stream
    topics: tuple[Topic, ...]


class TopicDetails(Struct, frozen=True, gc=False):
    """The reply to a request for one topic: the topic, and its partitions."""

    topic: Topic
    partitions: tuple[Partition, ...]


def _options(name: str) -> Field:
    return field(name, Sized(Int32ul, USER_HEADERS.shape, name="length"))


CREATE_STREAM = Schema(
    "apache create_stream",
    "iggy.apache.reply.result",
    CreateStream,
    Record(
        CreateStream,
        *short_text("name", bounds=NAME_BOUNDS),
        field("options", USER_HEADERS.shape),
    ),
)
"""1-byte `name_length`, `name`, options to the end."""

CREATE_TOPIC = Schema(
    "apache create_topic",
    "iggy.apache.reply.result",
    CreateTopic,
    Record(
        CreateTopic,
        topic_fields()[0],
        field("partitions_count", Int32ul),
        *short_text("name", bounds=NAME_BOUNDS),
        field("options", USER_HEADERS.shape),
    ),
)
"""`stream`, 4-byte `partitions_count`, 1-byte `name_length`, `name`, options to the end."""

STREAM = Schema(
    "apache stream",
    "iggy.apache.reply.result",
    Stream,
    Record(
        Stream,
        field("id", Int32ul),
        field("created_at", Int64ul),
        field("topics_count", Int32ul),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
        *short_text("name"),
        _options("options"),
    ),
)
"""32 bytes of numbers, 1-byte `name_length`, `name`, options behind a 4-byte length."""

TOPIC = Schema(
    "apache topic",
    "iggy.apache.reply.result",
    Topic,
    Record(
        Topic,
        field("id", Int32ul),
        field("created_at", Int64ul),
        field("partitions_count", Int32ul),
        field("message_expiry", Int64ul),
        field("compression", Int8ub),
        field("max_topic_size", Int64ul),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
        *short_text("name"),
        _options("options"),
        _options("effective"),
    ),
)
"""49 bytes of numbers, 1-byte `name_length`, `name`, two blocks of options, each behind a 4-byte
length."""

PARTITION = Schema(
    "apache partition",
    "iggy.apache.reply.result",
    Partition,
    Record(
        Partition,
        field("id", Int32ul),
        field("created_at", Int64ul),
        field("segments_count", Int32ul),
        field("current_offset", Int64ul),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
    ),
)
"""40 bytes."""

STREAM_DETAILS = Schema(
    "apache stream details",
    "iggy.apache.reply.reads-bare",
    StreamDetails,
    Record(StreamDetails, field("stream", STREAM.shape), field("topics", Each(TOPIC.shape))),
)
"""A stream, then its topics without their partitions."""

TOPIC_DETAILS = Schema(
    "apache topic details",
    "iggy.apache.reply.reads-bare",
    TopicDetails,
    Record(TopicDetails, field("topic", TOPIC.shape), field("partitions", Each(PARTITION.shape))),
)
"""A topic, then its partitions; a created topic is answered so behind a result section."""
