"""The commands of the tagged generation, by code, as far as a session of crate 0.6.202 needs."""

from collections.abc import Mapping

from wireproof_reference_impl.iggy.core import tagged_bodies
from wireproof_reference_impl.iggy.core.commands import messages, reading, streams, system
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.checks import check_client, check_stream, check_topic
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.identifier import read_identifier
from wireproof_reference_impl.iggy.wire.requests import Consumer
from wireproof_reference_impl.iggy.wire.status import INVALID_CREDENTIALS, Refusal
from wireproof_spec.iggy import commands

USER_NAME = PASSWORD = "iggy"
"""What the tagged server lets in out of the box."""
USER_ID = 1

WITHOUT_LOGIN = frozenset({commands.PING, commands.LOGIN_USER})

_FIRST_PARTITION = 1


def _get_me(session: CommandContext) -> bytes:
    return tagged_bodies.client(session.client)


def _get_client(fields: Fields) -> Action:
    number = fields.u32()
    fields.expect_end()
    check_client(number)
    return _or_nothing(lambda session: tagged_bodies.client(session.server.client(number)))


def _get_clients(session: CommandContext) -> bytes:
    return tagged_bodies.clients(session.server.clients.values())


def _login_user(fields: Fields) -> Action:
    name, password = _short_text(fields), _short_text(fields)
    for _ in ("version", "context"):
        reading.text(fields.take(fields.u32()))

    def act(session: CommandContext) -> bytes:
        if (name, password) != (USER_NAME, PASSWORD):
            raise Refusal(INVALID_CREDENTIALS, "Invalid credentials")
        session.client.user = USER_ID
        return USER_ID.to_bytes(4, "little")

    return act


def _get_stream(fields: Fields) -> Action:
    who = read_identifier(fields)
    return _or_nothing(lambda session: tagged_bodies.stream(session.server.stream(who)))


def _get_streams(session: CommandContext) -> bytes:
    return tagged_bodies.streams(session.server.streams.values())


def _create_stream(fields: Fields) -> Action:
    wanted, name = fields.u32(), _short_text(fields)
    check_stream(wanted or 1, name)

    def act(session: CommandContext) -> bytes:
        number = wanted or _first_free(session.server.streams)
        stream = session.server.create_stream(number, name, session.now_us)
        return tagged_bodies.stream(stream)

    return act


def _get_topic(fields: Fields) -> Action:
    place = reading.place(fields)
    return _or_nothing(lambda session: tagged_bodies.topic(session.server.topic(place)))


def _get_topics(fields: Fields) -> Action:
    who = read_identifier(fields)
    return lambda session: tagged_bodies.topics(session.server.stream(who).topics.values())


def _create_topic(fields: Fields) -> Action:
    """Create a topic; compression, expiry, size and replication are read and ignored."""
    stream, wanted, partitions = read_identifier(fields), fields.u32(), fields.u32()
    fields.take(1 + 8 + 8 + 1)
    name = _short_text(fields)
    check_topic(wanted or 1, name, partitions)

    def act(session: CommandContext) -> bytes:
        number = wanted or _first_free(session.server.stream(stream).topics)
        topic = session.server.create_topic(
            stream, number, name, partitions=partitions, now_us=session.now_us
        )
        return tagged_bodies.topic(topic)

    return act


def _or_nothing(act: Action) -> Action:
    """Return an action that answers with an empty body instead of refusing."""

    def find(session: CommandContext) -> bytes:
        try:
            return act(session)
        except Refusal:
            return b""

    return find


def stored_offset_body(consumer: Consumer, partition: Partition, stored: int | None) -> bytes:
    """Return the answer about a stored offset: partition, current offset and stored offset."""
    return tagged_bodies.consumer_offset(partition, stored)


def _consumer(fields: Fields) -> Consumer:
    return Consumer(reading.consumer_kind(fields), read_identifier(fields))


def _partition(fields: Fields) -> int:
    return fields.u32() or _FIRST_PARTITION


def _short_text(fields: Fields) -> str:
    return reading.text(fields.take(fields.u8()))


def _first_free(taken: Mapping[int, object]) -> int:
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


COMMANDS: Mapping[int, Handler] = {
    commands.PING: system.plain(system.ping),
    commands.GET_ME: system.plain(_get_me),
    commands.GET_CLIENT: _get_client,
    commands.GET_CLIENTS: system.plain(_get_clients),
    commands.LOGIN_USER: _login_user,
    commands.POLL_MESSAGES: messages.poll_messages(_consumer, _partition),
    commands.SEND_MESSAGES: messages.send_messages,
    commands.GET_CONSUMER_OFFSET: messages.get_consumer_offset(
        _consumer, _partition, stored_offset_body
    ),
    commands.STORE_CONSUMER_OFFSET: messages.store_consumer_offset(_consumer, _partition),
    commands.GET_STREAM: _get_stream,
    commands.GET_STREAMS: system.plain(_get_streams),
    commands.CREATE_STREAM: _create_stream,
    commands.DELETE_STREAM: streams.delete_stream,
    commands.GET_TOPIC: _get_topic,
    commands.GET_TOPICS: _get_topics,
    commands.CREATE_TOPIC: _create_topic,
    commands.DELETE_TOPIC: streams.delete_topic,
    commands.CREATE_PARTITIONS: streams.create_partitions,
    commands.DELETE_PARTITIONS: streams.delete_partitions,
}
"""What each code asks for; groups, users and counts of the server's are left out."""
