"""The shapes of the payloads of all commands, in both generations."""

from typing import Any, TypeAlias

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Record
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies import (
    consumer_groups,
    consumer_offsets,
    poll_messages,
    send_messages,
    streams,
    system,
    topics,
    users,
)
from wireproof_spec.iggy.generation import OWN_CREATE_FORM, CreateForm, Generation


class Nothing(Struct, frozen=True, gc=False):
    """The empty payload of a command without parameters."""


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
    commands.KILL: NOTHING,
    commands.PING: NOTHING,
    commands.GET_STATS: NOTHING,
    commands.GET_ME: NOTHING,
    commands.GET_CLIENT: system.CLIENT_REQUEST,
    commands.GET_CLIENTS: NOTHING,
    commands.GET_STREAMS: NOTHING,
    commands.SEND_MESSAGES: send_messages.SEND_MESSAGES,
    commands.GET_STREAM: streams.STREAM_REQUEST,
    commands.DELETE_STREAM: streams.STREAM_REQUEST,
    commands.GET_TOPIC: topics.TOPIC_REQUEST,
    commands.GET_TOPICS: streams.STREAM_REQUEST,
    commands.DELETE_TOPIC: topics.TOPIC_REQUEST,
    commands.CREATE_PARTITIONS: topics.PARTITIONS_REQUEST,
    commands.DELETE_PARTITIONS: topics.PARTITIONS_REQUEST,
}
_PUBLISHED: dict[int, Schema[Any]] = {
    **_COMMON,
    commands.POLL_MESSAGES: poll_messages.POLL_MESSAGES,
    commands.GET_CONSUMER_OFFSET: consumer_offsets.GET_CONSUMER_OFFSET,
    commands.STORE_CONSUMER_OFFSET: consumer_offsets.STORE_CONSUMER_OFFSET,
    commands.GET_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    commands.GET_CONSUMER_GROUPS: topics.TOPIC_REQUEST,
    commands.CREATE_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    commands.DELETE_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    commands.JOIN_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
    commands.LEAVE_CONSUMER_GROUP: consumer_groups.GROUP_REQUEST,
}
_TAGGED: dict[int, Schema[Any]] = {
    **_COMMON,
    commands.LOGIN_USER: users.LOGIN_USER,
    commands.POLL_MESSAGES: poll_messages.POLL_MESSAGES_TAGGED,
    commands.GET_CONSUMER_OFFSET: consumer_offsets.GET_CONSUMER_OFFSET_TAGGED,
    commands.STORE_CONSUMER_OFFSET: consumer_offsets.STORE_CONSUMER_OFFSET_TAGGED,
}
_SHAPES = {"published": _PUBLISHED, "tagged": _TAGGED}
_CREATE: dict[CreateForm, dict[int, Schema[Any]]] = {
    "commit": {
        commands.CREATE_STREAM: streams.CREATE_STREAM,
        commands.CREATE_TOPIC: topics.CREATE_TOPIC,
    },
    "schema": {
        commands.CREATE_STREAM: streams.CREATE_STREAM_OF_SCHEMA,
        commands.CREATE_TOPIC: topics.CREATE_TOPIC_OF_SCHEMA,
    },
    "tagged": {
        commands.CREATE_STREAM: streams.CREATE_STREAM_TAGGED,
        commands.CREATE_TOPIC: topics.CREATE_TOPIC_TAGGED,
    },
}


def payload_schema(
    code: int, generation: Generation = "published", create: CreateForm | None = None
) -> Schema[Payload]:
    """Return the schema of the payload of the command with this code.

    Without ``create``, requests that create have the form of the generation's real servers.

    Raises:
        LookupError: no command has this code, or its shape in this generation is not known.
    """
    shapes = {**_SHAPES[generation], **_CREATE[create or OWN_CREATE_FORM[generation]]}
    shape = shapes.get(code)
    if shape is None:
        raise LookupError(f"no shape for the payload of command {code} ({generation})")
    return shape
