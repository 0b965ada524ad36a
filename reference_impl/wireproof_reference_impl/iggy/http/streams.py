"""Streams, topics, partitions and consumer groups over HTTP."""

from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.http import objects
from wireproof_reference_impl.iggy.http.connection import json_answer
from wireproof_reference_impl.iggy.http.reading import Query, json_object, whole_number
from wireproof_reference_impl.iggy.wire.checks import (
    check_group,
    check_partitions,
    check_stream,
    check_topic,
)
from wireproof_reference_impl.iggy.wire.exchange import Answer, Exchange, Unfit
from wireproof_reference_impl.iggy.wire.identifier import identifier_of
from wireproof_reference_impl.iggy.wire.requests import TopicPath

CREATED = Answer(201)
DONE = Answer(204)

Asked = Exchange[Server]


def place_of(exchange: Asked) -> TopicPath:
    """Return the path of stream and topic that an HTTP path names."""
    stream, topic = exchange.words[:2]
    return TopicPath(identifier_of(stream), identifier_of(topic))


def answer_json(exchange: Asked, value: object) -> Answer:
    """Return an HTTP answer with a value as JSON."""
    return json_answer(exchange.site.behaviour.json.encode(value))


def get_streams(exchange: Asked) -> Answer:
    """Handle an HTTP request for all streams."""
    return answer_json(exchange, objects.streams(exchange.site.streams.values()))


def get_stream(exchange: Asked) -> Answer:
    """Handle an HTTP request for one stream."""
    return answer_json(
        exchange, objects.stream(exchange.site.stream(identifier_of(exchange.words[0])))
    )


def create_stream(exchange: Asked) -> Answer:
    """Handle an HTTP request that creates a stream."""
    fields = json_object(exchange)
    number, name = fields.u32("stream_id"), fields.text("name")
    check_stream(number, name)
    exchange.site.create_stream(number, name, exchange.now_us)
    return CREATED


def delete_stream(exchange: Asked) -> Answer:
    """Handle an HTTP request that deletes a stream."""
    exchange.site.delete_stream(identifier_of(exchange.words[0]))
    return DONE


def get_topics(exchange: Asked) -> Answer:
    """Handle an HTTP request for all topics of a stream."""
    stream = exchange.site.stream(identifier_of(exchange.words[0]))
    return answer_json(exchange, objects.topics(stream.topics.values()))


def get_topic(exchange: Asked) -> Answer:
    """Handle an HTTP request for one topic."""
    return answer_json(exchange, objects.topic(exchange.site.topic(place_of(exchange))))


def create_topic(exchange: Asked) -> Answer:
    """Handle an HTTP request that creates a topic."""
    fields = json_object(exchange)
    number, partitions = fields.u32("topic_id"), fields.u32("partitions_count")
    name = fields.text("name")
    stream = identifier_of(exchange.words[0])
    check_topic(number, name, partitions)
    exchange.site.create_topic(stream, number, name, partitions=partitions, now_us=exchange.now_us)
    return CREATED


def delete_topic(exchange: Asked) -> Answer:
    """Handle an HTTP request that deletes a topic."""
    exchange.site.delete_topic(place_of(exchange))
    return DONE


def create_partitions(exchange: Asked) -> Answer:
    """Handle an HTTP request that adds partitions to a topic."""
    count = json_object(exchange).u32("partitions_count")
    place = place_of(exchange)
    check_partitions(count)
    exchange.site.create_partitions(place, count)
    return CREATED


def delete_partitions(exchange: Asked) -> Answer:
    """Handle an HTTP request that deletes partitions of a topic."""
    count = Query(exchange).needed_u32("partitions_count")
    place = place_of(exchange)
    check_partitions(count)
    exchange.site.delete_partitions(place, count)
    return DONE


def get_groups(exchange: Asked) -> Answer:
    """Handle an HTTP request for all consumer groups of a topic."""
    topic = exchange.site.topic(place_of(exchange))
    return answer_json(exchange, objects.groups(topic.groups.values()))


def get_group(exchange: Asked) -> Answer:
    """Handle an HTTP request for one consumer group."""
    number = _group_number(exchange)
    return answer_json(
        exchange, objects.group(exchange.site.topic(place_of(exchange)).group(number))
    )


def create_group(exchange: Asked) -> Answer:
    """Handle an HTTP request that creates a consumer group."""
    number = json_object(exchange).u32("consumer_group_id")
    place = place_of(exchange)
    check_group(number)
    exchange.site.create_group(place, number)
    return CREATED


def delete_group(exchange: Asked) -> Answer:
    """Handle an HTTP request that deletes a consumer group."""
    number = _group_number(exchange)
    exchange.site.delete_group(place_of(exchange), number)
    return DONE


def _group_number(exchange: Asked) -> int:
    return path_number(exchange.words[2])


def path_number(word: str) -> int:
    """Return the number that a segment of an HTTP path spells.

    Raises:
        Unfit: the segment is no number.
    """
    number = whole_number(word)
    if number is None:
        raise Unfit(400, f"Invalid URL: Cannot parse `{word}` to a `u32`")
    return number
