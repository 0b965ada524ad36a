"""Streams, topics, partitions and clients: described as created, and gone after deletion."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import difference_of, observe
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import generations
from wireproof_kit.iggy.wire.answers import Answer, Done, ErrorStatus
from wireproof_kit.observation import Observation, observed
from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Nothing, Payload
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named
from wireproof_spec.iggy.bodies.streams import StreamRequest
from wireproof_spec.iggy.bodies.system import ClientRequest
from wireproof_spec.iggy.bodies.topics import PartitionsRequest, TopicDetails, TopicRequest
from wireproof_spec.iggy.kinds import TCP
from wireproof_spec.wire_error import WireError

AS_MADE = "told:as-made"


class _Untold(Exception):
    """A description of a resource is not as it should be."""

    def __init__(self, observation: Observation) -> None:
        super().__init__(observation.value)
        self.observation = observation


@case("iggy/frame/stream", clause="iggy.frame.resources")
@pytest.mark.parametrize("by", ["number", "name"])
def test_stream(server: Server, by: str) -> Observation:
    """A stream is listed with the values it was created with, and not found once deleted."""
    stream = server.new_stream()
    who = stream.id if by == "number" else make_named(stream.name)
    try:
        body = _body(server, commands.GET_STREAM, StreamRequest(who))
        told = decode(generations.stream_schema(server.generation), body).stream
        listed = decode(
            generations.streams_schema(server.generation),
            _body(server, commands.GET_STREAMS, Nothing()),
        )
    except _Untold as untold:
        return untold.observation
    except WireError as error:
        return observed("told:undecodable", difference=difference_of(error))
    if (told.id, told.name, told.topics_count) != (stream.number, stream.name, 0):
        return observed("told:other", note=str(told))
    if told not in listed.streams:
        return observed("told:not-listed", note=f"{len(listed.streams)} streams are")
    server.delete_stream(stream)

    return _observe_gone(server.ask(commands.GET_STREAM, StreamRequest(who)))


@case("iggy/frame/topic", clause="iggy.frame.resources")
@pytest.mark.parametrize("by", ["number", "name"])
def test_topic(server: Server, by: str) -> Observation:
    """A topic is listed with the values it was created with, and not found once deleted."""
    topic = server.new_topic(partitions=3)
    who = topic.id if by == "number" else make_named(topic.name)
    try:
        details = _topic(server, topic, who)
        listed = decode(
            generations.topics_schema(server.generation),
            _body(server, commands.GET_TOPICS, StreamRequest(topic.stream.id)),
        )
    except _Untold as untold:
        return untold.observation
    except WireError as error:
        return observed("told:undecodable", difference=difference_of(error))
    told = details.topic
    if (told.id, told.name, told.partitions_count) != (topic.number, topic.name, 3):
        return observed("told:other", note=str(told))
    if _ids(details) != {1, 2, 3}:
        return observed("told:other", note=str(details.partitions))
    if told not in listed.topics:
        return observed("told:not-listed", note=f"{len(listed.topics)} topics are")
    server.delete_topic(topic)

    return _observe_gone(server.ask(commands.GET_TOPIC, TopicRequest(topic.stream.id, who)))


@case("iggy/frame/partitions", clause="iggy.frame.resources")
def test_partitions(server: Server) -> Observation:
    """Added partitions exist; removing partitions removes the last ones."""
    topic = server.new_topic(partitions=2)
    try:
        for code, count, due in (
            (commands.CREATE_PARTITIONS, 3, {1, 2, 3, 4, 5}),
            (commands.DELETE_PARTITIONS, 1, {1, 2, 3, 4}),
            (commands.DELETE_PARTITIONS, 3, {1}),
        ):
            _body(server, code, PartitionsRequest(topic.stream.id, topic.id, count))
            found = _ids(_topic(server, topic, topic.id))
            if found != due:
                return observed("told:other", note=f"{sorted(found)}, not {sorted(due)}")
    except _Untold as untold:
        return untold.observation
    except WireError as error:
        return observed("told:undecodable", difference=difference_of(error))

    return observed(AS_MADE)


@case("iggy/frame/me", clause="iggy.frame.resources")
def test_me(server: Server) -> Observation:
    """The server describes a client the same way as "me", by client id and in the client list."""
    one = generations.client_schema(server.generation)
    try:
        me = decode(one, _body(server, commands.GET_ME, Nothing()))
        request = ClientRequest(me.client_id)
        same = decode(one, _body(server, commands.GET_CLIENT, request))
        listed = decode(
            generations.clients_schema(server.generation),
            _body(server, commands.GET_CLIENTS, Nothing()),
        )
    except _Untold as untold:
        return untold.observation
    except WireError as error:
        return observed("told:undecodable", difference=difference_of(error))
    if me.transport != TCP or me != same:
        return observed("told:other", note=f"{me}, {same}")
    own = [each for each in listed.clients if each.client_id == me.client_id]
    told = (me.user_id, me.transport, me.address)
    alike = [(each.user_id, each.transport, each.address) for each in own] == [told]

    return observed("told:alike" if alike else "told:not-listed")


def _topic(server: Server, topic: Topic, who: Identifier) -> TopicDetails:
    body = _body(server, commands.GET_TOPIC, TopicRequest(topic.stream.id, who))
    return decode(generations.topic_schema(server.generation), body)


def _ids(details: TopicDetails) -> set[int]:
    return {each.id for each in details.partitions}


def _body(server: Server, code: int, payload: Payload) -> bytes:
    """Return the body of the answer to a valid request.

    Raises:
        _Untold: the server refused the request.
    """
    answer = server.ask(code, payload)
    if isinstance(answer, Done):
        return answer.body
    raise _Untold(observe(answer, then=server.client.goes_on()))


def _observe_gone(answer: Answer) -> Observation:
    """Return whether a resource is not found: an error status, or a success with an empty body."""
    if isinstance(answer, ErrorStatus) or (isinstance(answer, Done) and not answer.body):
        return observed(AS_MADE)
    return observed("told:still-there" if isinstance(answer, Done) else observe(answer).value)
