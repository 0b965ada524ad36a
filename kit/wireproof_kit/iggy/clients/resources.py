"""The one stream and topic of the server, as it describes them to a client that asks."""

from collections.abc import Callable, Mapping

from wireproof_kit.iggy.clients.log import FIRST_US
from wireproof_kit.iggy.clients.script import LOG_SIZE, PARTITION, STREAM, TOPIC
from wireproof_kit.iggy.wire import generations
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.consumer_offsets import (
    CONSUMER_OFFSET,
    CONSUMER_OFFSET_TAGGED,
    ConsumerOffset,
    ConsumerOffsetTagged,
)
from wireproof_spec.iggy.bodies.streams import Stream, StreamDetails, Streams
from wireproof_spec.iggy.bodies.topics import Partition, Topic, TopicDetails, Topics
from wireproof_spec.iggy.generation import Generation

NAME = "wireproof"
SIZE = 1000
_NO_GROUP = ("tagged", "get_consumer_group")
"""Asked for a group that does not exist, as all, a tagged server has success and no body."""


def _topic(generation: Generation) -> Topic:
    tagged = generation == "tagged"
    return Topic(
        id=TOPIC,
        created_at=FIRST_US if tagged else None,
        partitions_count=1,
        message_expiry=generations.NEVER_EXPIRES if tagged else None,
        compression=generations.NO_COMPRESSION if tagged else None,
        max_topic_size=generations.SERVERS_DEFAULT if tagged else None,
        replication_factor=generations.ONE_REPLICA if tagged else None,
        size_bytes=SIZE,
        messages_count=LOG_SIZE,
        name=NAME,
    )


def _stream(generation: Generation) -> Stream:
    created_at = FIRST_US if generation == "tagged" else None
    return Stream(STREAM, created_at, 1, SIZE, LOG_SIZE, NAME)


def _partition(generation: Generation) -> Partition:
    created_at = FIRST_US if generation == "tagged" else None
    return Partition(PARTITION, created_at, 1, LOG_SIZE - 1, SIZE, LOG_SIZE)


_BODIES: Mapping[str, Callable[[Generation], bytes]] = {
    "get_stream": lambda generation: encode(
        generations.stream_schema(generation),
        StreamDetails(_stream(generation), (_topic(generation),)),
    ),
    "get_streams": lambda generation: encode(
        generations.streams_schema(generation), Streams((_stream(generation),))
    ),
    "get_topic": lambda generation: encode(
        generations.topic_schema(generation),
        TopicDetails(_topic(generation), (_partition(generation),)),
    ),
    "get_topics": lambda generation: encode(
        generations.topics_schema(generation), Topics((_topic(generation),))
    ),
}


def resource_body(command: str, generation: Generation, stored: int) -> bytes | None:
    """Return the body of the TCP response to a command; None for one that the server lacks."""
    if command == "get_consumer_groups" or (generation, command) == _NO_GROUP:
        return b""
    if command == "get_consumer_offset":
        if generation == "published":
            return encode(CONSUMER_OFFSET, ConsumerOffset(0, stored))
        return encode(
            CONSUMER_OFFSET_TAGGED, ConsumerOffsetTagged(PARTITION, LOG_SIZE - 1, stored)
        )
    make = _BODIES.get(command)
    return make(generation) if make else None


_TOPIC_OBJECT: Mapping[str, object] = {
    "id": TOPIC,
    "created_at": FIRST_US,
    "name": NAME,
    "partitions_count": 1,
    "size_bytes": SIZE,
    "messages_count": LOG_SIZE,
    "partitions": [
        {
            "id": PARTITION,
            "segments_count": 1,
            "current_offset": LOG_SIZE - 1,
            "size_bytes": SIZE,
            "messages_count": LOG_SIZE,
        }
    ],
}
_STREAM_OBJECT: Mapping[str, object] = {
    "id": STREAM,
    "created_at": FIRST_US,
    "name": NAME,
    "size_bytes": SIZE,
    "messages_count": LOG_SIZE,
    "topics_count": 1,
    "topics": [_TOPIC_OBJECT],
}
_OBJECTS: Mapping[str, object] = {
    "get_stream": _STREAM_OBJECT,
    "get_streams": [_STREAM_OBJECT],
    "get_topic": _TOPIC_OBJECT,
    "get_topics": [_TOPIC_OBJECT],
    "get_consumer_offset": {"consumer_id": 0, "offset": 0},
}


def resource_object(command: str) -> object | None:
    """Return the JSON value of the HTTP response to a command; None for an unknown one."""
    return _OBJECTS.get(command)
