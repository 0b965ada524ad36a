"""The commands of a connection: their codes, their names, and the shapes of their payloads."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from wireproof_spec.decoding import Schema
from wireproof_spec.iggy import (
    consumer_groups,
    consumer_offsets,
    poll_messages,
    send_messages,
    streams,
    system,
    topics,
    users,
)
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.layout import Record

KILL = 0
PING = 1
GET_STATS = 10
GET_ME = 20
GET_CLIENT = 21
GET_CLIENTS = 22
LOGIN_USER = 38
"""Tagged servers only, where it must come first in the default set-up."""
POLL_MESSAGES = 100
SEND_MESSAGES = 101
GET_CONSUMER_OFFSET = 120
STORE_CONSUMER_OFFSET = 121
GET_STREAM = 200
GET_STREAMS = 201
CREATE_STREAM = 202
DELETE_STREAM = 203
GET_TOPIC = 300
GET_TOPICS = 301
CREATE_TOPIC = 302
DELETE_TOPIC = 303
CREATE_PARTITIONS = 402
DELETE_PARTITIONS = 403
GET_CONSUMER_GROUP = 600
GET_CONSUMER_GROUPS = 601
CREATE_CONSUMER_GROUP = 602
DELETE_CONSUMER_GROUP = 603
JOIN_CONSUMER_GROUP = 604
LEAVE_CONSUMER_GROUP = 605

COMMANDS = {
    KILL: "kill",
    PING: "ping",
    GET_STATS: "get_stats",
    GET_ME: "get_me",
    GET_CLIENT: "get_client",
    GET_CLIENTS: "get_clients",
    LOGIN_USER: "login_user",
    POLL_MESSAGES: "poll_messages",
    SEND_MESSAGES: "send_messages",
    GET_CONSUMER_OFFSET: "get_consumer_offset",
    STORE_CONSUMER_OFFSET: "store_consumer_offset",
    GET_STREAM: "get_stream",
    GET_STREAMS: "get_streams",
    CREATE_STREAM: "create_stream",
    DELETE_STREAM: "delete_stream",
    GET_TOPIC: "get_topic",
    GET_TOPICS: "get_topics",
    CREATE_TOPIC: "create_topic",
    DELETE_TOPIC: "delete_topic",
    CREATE_PARTITIONS: "create_partitions",
    DELETE_PARTITIONS: "delete_partitions",
    GET_CONSUMER_GROUP: "get_consumer_group",
    GET_CONSUMER_GROUPS: "get_consumer_groups",
    CREATE_CONSUMER_GROUP: "create_consumer_group",
    DELETE_CONSUMER_GROUP: "delete_consumer_group",
    JOIN_CONSUMER_GROUP: "join_consumer_group",
    LEAVE_CONSUMER_GROUP: "leave_consumer_group",
}


@dataclass(frozen=True, slots=True)
class Nothing:
    """The payload of a command that takes none."""


NOTHING = Schema("no payload", "iggy.frame.request", Nothing, Record(Nothing))
"""No byte."""

Payload: TypeAlias = (
    Nothing
    | send_messages.SendMessages
    | poll_messages.PollMessages
    | streams.StreamRequest
    | streams.CreateStream
    | topics.TopicRequest
    | topics.CreateTopic
    | topics.PartitionsRequest
    | consumer_offsets.GetConsumerOffset
    | consumer_offsets.StoreConsumerOffset
    | consumer_groups.GroupRequest
    | system.ClientRequest
    | users.LoginUser
)
"""What a command carries."""

_COMMON: dict[int, Schema[Any]] = {
    KILL: NOTHING,
    PING: NOTHING,
    GET_STATS: NOTHING,
    GET_ME: NOTHING,
    GET_CLIENT: system.CLIENT_REQUEST,
    GET_CLIENTS: NOTHING,
    GET_STREAMS: NOTHING,
    SEND_MESSAGES: send_messages.SEND_MESSAGES,
    GET_STREAM: streams.STREAM_REQUEST,
    DELETE_STREAM: streams.STREAM_REQUEST,
    GET_TOPIC: topics.TOPIC_REQUEST,
    GET_TOPICS: streams.STREAM_REQUEST,
    DELETE_TOPIC: topics.TOPIC_REQUEST,
    CREATE_PARTITIONS: topics.PARTITIONS_REQUEST,
    DELETE_PARTITIONS: topics.PARTITIONS_REQUEST,
}
_PUBLISHED: dict[int, Schema[Any]] = {
    **_COMMON,
    POLL_MESSAGES: poll_messages.POLL_MESSAGES,
    GET_CONSUMER_OFFSET: consumer_offsets.GET_CONSUMER_OFFSET,
    STORE_CONSUMER_OFFSET: consumer_offsets.STORE_CONSUMER_OFFSET,
    CREATE_STREAM: streams.CREATE_STREAM,
    CREATE_TOPIC: topics.CREATE_TOPIC,
    GET_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    GET_CONSUMER_GROUPS: topics.TOPIC_REQUEST,
    CREATE_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    DELETE_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    JOIN_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    LEAVE_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
}
_TAGGED: dict[int, Schema[Any]] = {
    **_COMMON,
    LOGIN_USER: users.LOGIN_USER,
    POLL_MESSAGES: poll_messages.POLL_MESSAGES_TAGGED,
    GET_CONSUMER_OFFSET: consumer_offsets.GET_CONSUMER_OFFSET_TAGGED,
    STORE_CONSUMER_OFFSET: consumer_offsets.STORE_CONSUMER_OFFSET_TAGGED,
    CREATE_STREAM: streams.CREATE_STREAM_TAGGED,
    CREATE_TOPIC: topics.CREATE_TOPIC_TAGGED,
}
_SHAPES = {"published": _PUBLISHED, "tagged": _TAGGED}


def payload_schema(code: int, generation: Generation = "published") -> Schema[Payload]:
    """Return the shape of a command's payload.

    Raises:
        LookupError: no command has that code, or that generation's shape of it is not here.
    """
    shape = _SHAPES[generation].get(code)
    if shape is None:
        raise LookupError(f"no shape for the payload of command {code} ({generation})")
    return shape
