"""Streams: requests about them, and the server's responses."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ul, Int64ul, Record, Shape, field
from wireproof_spec.grammar.lengths import Each
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier, number_as_identifier
from wireproof_spec.iggy.bodies.text_fields import long_text, rest_of_frame, short_text
from wireproof_spec.iggy.bodies.topics import TOPIC, TOPIC_TAGGED, Topic
from wireproof_spec.iggy.names import NAME_BOUNDS


class StreamRequest(Struct, frozen=True, gc=False):
    """The payload of a request to get or delete one stream, or to list its topics."""

    stream: Identifier


class CreateStream(Struct, frozen=True, gc=False):
    """The payload of a request to create a stream; for id 0 a `tagged` server chooses one."""

    stream_id: int
    name: str


class Stream(Struct, frozen=True, gc=False):
    """A stream in a response: sizes in bytes, `created_at` in microseconds since 1970.

    `created_at` is None from a server of generation `published`.
    """

    id: int
    created_at: int | None
    topics_count: int
    size_bytes: int
    messages_count: int
    name: str


class Streams(Struct, frozen=True, gc=False):
    """The response that lists all streams; the list has no count."""

    streams: tuple[Stream, ...]


class StreamDetails(Struct, frozen=True, gc=False):
    """The response that describes one stream and its topics."""

    stream: Stream
    topics: tuple[Topic, ...]


STREAM_REQUEST = Schema(
    "stream request",
    "iggy.frame.identifier",
    StreamRequest,
    Record(StreamRequest, field("stream", IDENTIFIER.shape)),
)
"""`stream`."""

CREATE_STREAM = Schema(
    "create_stream",
    "iggy.frame.resources",
    CreateStream,
    Record(CreateStream, field("stream_id", Int32ul), rest_of_frame("name")),
)
"""4-byte `stream_id`, `name` to the end of the frame."""
CREATE_STREAM_TAGGED = Schema(
    "create_stream, tagged",
    "iggy.frame.resources",
    CreateStream,
    Record(CreateStream, field("stream_id", Int32ul), *short_text("name", bounds=NAME_BOUNDS)),
)
"""4-byte `stream_id`, 1-byte `name_length`, `name`."""
CREATE_STREAM_OF_SCHEMA = Schema(
    "create_stream, Iggy schema",
    "iggy.frame.resources",
    CreateStream,
    Record(
        CreateStream, *number_as_identifier("stream_id"), *short_text("name", bounds=NAME_BOUNDS)
    ),
)
"""`stream_id` as an identifier of kind 1, 1-byte `name_length`, `name`."""

STREAM = Schema(
    "stream",
    "iggy.frame.resources",
    Stream,
    Record(
        Stream,
        field("id", Int32ul),
        field("topics_count", Int32ul),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
        *long_text("name"),
    ),
)
"""`id`, `topics_count` (4 bytes each), `size_bytes`, `messages_count` (8 each), 4-byte
`name_length`, `name`."""
STREAM_TAGGED = Schema(
    "stream, tagged",
    "iggy.frame.resources",
    Stream,
    Record(
        Stream,
        field("id", Int32ul),
        field("created_at", Int64ul),
        field("topics_count", Int32ul),
        field("size_bytes", Int64ul),
        field("messages_count", Int64ul),
        *short_text("name"),
    ),
)
"""The same with 8-byte `created_at` behind the id and 1 byte of `name_length`."""


def _streams(name: str, each: Shape) -> Schema[Streams]:
    shape = Record(Streams, field("streams", Each(each)))
    return Schema(name, "iggy.frame.resources", Streams, shape)


def _details(name: str, stream: Shape, topic: Shape) -> Schema[StreamDetails]:
    shape = Record(StreamDetails, field("stream", stream), field("topics", Each(topic)))
    return Schema(name, "iggy.frame.resources", StreamDetails, shape)


STREAMS = _streams("streams", STREAM.shape)
STREAMS_TAGGED = _streams("streams, tagged", STREAM_TAGGED.shape)
"""Streams one after the other; no bytes when there is none."""

STREAM_DETAILS = _details("stream details", STREAM.shape, TOPIC.shape)
STREAM_DETAILS_TAGGED = _details("stream details, tagged", STREAM_TAGGED.shape, TOPIC_TAGGED.shape)
"""A stream, then its topics."""
