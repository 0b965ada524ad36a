"""Commands about streams, topics and partitions."""

from wireproof_reference_impl.iggy.core import bodies
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.session import Action, CommandContext
from wireproof_reference_impl.iggy.wire.checks import check_partitions, check_stream, check_topic
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.identifier import read_identifier


def get_streams(session: CommandContext) -> bytes:
    """Return the response body that lists all streams."""
    return bodies.streams(session.server.streams.values())


def get_stream(fields: Fields) -> Action:
    """Return the action that answers a request with one stream."""
    who = read_identifier(fields)
    return lambda session: bodies.stream(session.server.stream(who))


def create_stream(fields: Fields) -> Action:
    """Return the action that creates the stream of a request."""
    number, name = fields.u32(), reading.text(fields.rest())
    check_stream(number, name)

    def act(session: CommandContext) -> bytes:
        session.server.create_stream(number, name, session.now_us)
        return b""

    return act


def delete_stream(fields: Fields) -> Action:
    """Return the action that deletes the stream of a request."""
    who = read_identifier(fields)

    def act(session: CommandContext) -> bytes:
        session.server.delete_stream(who)
        return b""

    return act


def get_topic(fields: Fields) -> Action:
    """Return the action that answers a request with one topic."""
    place = reading.place(fields)
    return lambda session: bodies.topic(session.server.topic(place))


def get_topics(fields: Fields) -> Action:
    """Return the action that answers a request with all topics of a stream."""
    who = read_identifier(fields)
    return lambda session: bodies.topics(session.server.stream(who).topics.values())


def create_topic(fields: Fields) -> Action:
    """Return the action that creates the topic of a request."""
    stream, number, partitions = read_identifier(fields), fields.u32(), fields.u32()
    name = reading.text(fields.rest())
    check_topic(number, name, partitions)

    def act(session: CommandContext) -> bytes:
        session.server.create_topic(
            stream, number, name, partitions=partitions, now_us=session.now_us
        )
        return b""

    return act


def delete_topic(fields: Fields) -> Action:
    """Return the action that deletes the topic of a request."""
    place = reading.place(fields)

    def act(session: CommandContext) -> bytes:
        session.server.delete_topic(place)
        return b""

    return act


def create_partitions(fields: Fields) -> Action:
    """Return the action that adds partitions to the topic of a request."""
    place, count = reading.place(fields), fields.u32()
    check_partitions(count)

    def act(session: CommandContext) -> bytes:
        session.server.create_partitions(place, count)
        return b""

    return act


def delete_partitions(fields: Fields) -> Action:
    """Return the action that deletes the highest partitions of a topic."""
    place, count = reading.place(fields), fields.u32()
    check_partitions(count)

    def act(session: CommandContext) -> bytes:
        session.server.delete_partitions(place, count)
        return b""

    return act
