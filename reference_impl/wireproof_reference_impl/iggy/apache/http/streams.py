"""Streams and topics over HTTP."""

from collections.abc import Mapping

from wireproof_reference_impl.iggy.apache.http.access import (
    Asked,
    answer_json,
    identifier,
    place,
    refusal,
)
from wireproof_reference_impl.iggy.apache.topics import Stream, Topic
from wireproof_reference_impl.iggy.http.reading import json_object
from wireproof_reference_impl.iggy.wire.exchange import Answer
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.bodies.resources import MAX_PARTITIONS
from wireproof_spec.iggy.apache.user_headers import TypedBytes
from wireproof_spec.iggy.header_kinds import header_value
from wireproof_spec.iggy.names import NAME_BOUNDS

DONE = Answer(204)

Object = Mapping[str, object]


def get_streams(exchange: Asked) -> Answer:
    """Handle a request for all streams, without their topics."""
    every = sorted(exchange.site.streams.values(), key=lambda each: each.id)
    return answer_json(exchange, [_stream(each) for each in every])


def create_stream(exchange: Asked) -> Answer:
    """Handle a request that creates a stream."""
    name = _name(json_object(exchange).text("name"), statuses.INVALID_STREAM_NAME)
    return _one_stream(exchange, exchange.site.create_stream(name, exchange.now_us))


def get_stream(exchange: Asked) -> Answer:
    """Handle a request for one stream."""
    return _one_stream(exchange, exchange.site.stream(identifier(exchange.words[0])))


def delete_stream(exchange: Asked) -> Answer:
    """Handle a request that deletes a stream."""
    exchange.site.delete_stream(identifier(exchange.words[0]))
    return DONE


def create_topic(exchange: Asked) -> Answer:
    """Handle a request that creates a topic; options in it are ignored."""
    fields = json_object(exchange)
    name = _name(fields.text("name"), statuses.INVALID_TOPIC_NAME)
    count = fields.u32("partitions_count")
    if count > MAX_PARTITIONS:
        raise refusal(statuses.TOO_MANY_PARTITIONS)
    stream = identifier(exchange.words[0])
    topic = exchange.site.create_topic(stream, name, partitions=count, now_us=exchange.now_us)
    return answer_json(exchange, topic_object(topic, is_new=True))


def get_topic(exchange: Asked) -> Answer:
    """Handle a request for one topic."""
    return answer_json(exchange, topic_object(exchange.site.topic(*place(exchange))))


def delete_topic(exchange: Asked) -> Answer:
    """Handle a request that deletes a topic."""
    exchange.site.delete_topic(*place(exchange))
    return DONE


def _name(name: str, status: int) -> str:
    lowest, highest = NAME_BOUNDS
    if not lowest <= len(name.encode()) <= highest:
        raise refusal(status)
    return name


def _one_stream(exchange: Asked, stream: Stream) -> Answer:
    topics = [_topic(topic) for topic in stream.topics.values()]
    return answer_json(exchange, {**_stream(stream), "topics": topics, "options": {}})


def _stream(stream: Stream) -> Object:
    found = stream.describe()
    return {
        "id": found.id,
        "created_at": found.created_at,
        "name": found.name,
        "size": f"{found.size_bytes} B",
        "messages_count": found.messages_count,
        "topics_count": found.topics_count,
    }


def topic_object(topic: Topic, *, is_new: bool = False) -> Object:
    """Return a topic as a JSON object, with its partitions."""
    partitions = [
        {
            "id": partition.id,
            "created_at": partition.created_at,
            "segments_count": partition.segments_count,
            "current_offset": partition.current_offset,
            "size": f"{partition.size_bytes} B",
            "messages_count": partition.messages_count,
        }
        for partition in topic.details(is_new=is_new).partitions
    ]
    explicit = {option.key.value for option in topic.options}
    options = {
        each.key.value.decode(): {
            "value": _option(each.value),
            "explicit": each.key.value in explicit,
        }
        for each in topic.effective()
    }
    return {**_topic(topic), "partitions": partitions, "options": options}


def _topic(topic: Topic) -> Object:
    found = topic.describe()
    return {
        "id": found.id,
        "created_at": found.created_at,
        "name": found.name,
        "size": f"{found.size_bytes} B",
        "message_expiry": found.message_expiry,
        "compression_algorithm": "none",
        "max_topic_size": found.max_topic_size,
        "messages_count": found.messages_count,
        "partitions_count": found.partitions_count,
    }


def _option(value: TypedBytes) -> str:
    """Return the value of an option as text: numbers in decimal digits, bools in lower case."""
    found = header_value(value.kind, value.value)
    return str(found).lower() if isinstance(found, bool) else str(found)
