"""The commands of the published generation, by code."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.core import bodies, stats
from wireproof_reference_impl.iggy.core.checks import (
    check_client,
    check_group,
    check_partitions,
    check_sent,
    check_stream,
    check_topic,
)
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.connection import Action, Handler, Session
from wireproof_reference_impl.iggy.core.fields import Fields
from wireproof_reference_impl.iggy.core.identifier import read_identifier
from wireproof_reference_impl.iggy.core.messages import (
    consumer_number,
    poll,
    send,
    store_offset,
    stored_offset,
)
from wireproof_reference_impl.iggy.core.requests import (
    Consumer,
    Place,
    PollMessages,
    SendMessages,
)
from wireproof_reference_impl.iggy.core.status import invalid_command

GroupAct = Callable[[Session, Place, int], object]


def _plain(act: Callable[[Session], bytes]) -> Handler:
    """Return the handler of a command without fields."""

    def handler(fields: Fields) -> Action:
        fields.nothing()
        return act

    return handler


def _kill(session: Session) -> bytes:
    raise invalid_command()


def _get_client(fields: Fields) -> Action:
    number = fields.u32()
    fields.nothing()
    check_client(number)
    return lambda session: bodies.client(session.server.client(number))


def _poll_messages(fields: Fields) -> Action:
    request = PollMessages(
        consumer=_consumer(fields),
        place=reading.place(fields),
        partition=fields.u32(),
        strategy=reading.strategy(fields),
        value=fields.u64(),
        count=fields.u32(),
        auto_commit=fields.u8() == 1,
    )

    def act(session: Session) -> bytes:
        found = poll(session.server, request, session.client)
        return bodies.polled(found, session.server.behaviour)

    return act


def _send_messages(fields: Fields) -> Action:
    request = SendMessages(
        reading.place(fields), reading.partitioning(fields), reading.messages(fields)
    )
    check_sent(request)

    def act(session: Session) -> bytes:
        send(session.server, request, session.now_us)
        return b""

    return act


def _get_consumer_offset(fields: Fields) -> Action:
    consumer, place, partition = _consumer(fields), reading.place(fields), fields.u32()

    def act(session: Session) -> bytes:
        _, stored = stored_offset(session.server, place, consumer, partition)
        return bodies.consumer_offset(consumer_number(consumer), stored)

    return act


def _store_consumer_offset(fields: Fields) -> Action:
    consumer, place = _consumer(fields), reading.place(fields)
    partition, offset = fields.u32(), fields.u64()

    def act(session: Session) -> bytes:
        store_offset(
            session.server,
            place,
            consumer,
            partition=partition,
            offset=offset,
            client=session.client,
        )
        return b""

    return act


def _get_stream(fields: Fields) -> Action:
    who = read_identifier(fields)
    return lambda session: bodies.stream(session.server.stream(who))


def _create_stream(fields: Fields) -> Action:
    number, name = fields.u32(), reading.text(fields.rest())
    check_stream(number, name)

    def act(session: Session) -> bytes:
        session.server.create_stream(number, name, session.now_us)
        return b""

    return act


def _delete_stream(fields: Fields) -> Action:
    who = read_identifier(fields)

    def act(session: Session) -> bytes:
        session.server.delete_stream(who)
        return b""

    return act


def _get_topic(fields: Fields) -> Action:
    place = reading.place(fields)
    return lambda session: bodies.topic(session.server.topic(place))


def _get_topics(fields: Fields) -> Action:
    who = read_identifier(fields)
    return lambda session: bodies.topics(session.server.stream(who).topics.values())


def _create_topic(fields: Fields) -> Action:
    stream, number, partitions = read_identifier(fields), fields.u32(), fields.u32()
    name = reading.text(fields.rest())
    check_topic(number, name, partitions)

    def act(session: Session) -> bytes:
        session.server.create_topic(
            stream, number, name, partitions=partitions, now_us=session.now_us
        )
        return b""

    return act


def _delete_topic(fields: Fields) -> Action:
    place = reading.place(fields)

    def act(session: Session) -> bytes:
        session.server.delete_topic(place)
        return b""

    return act


def _create_partitions(fields: Fields) -> Action:
    place, count = reading.place(fields), fields.u32()
    check_partitions(count)

    def act(session: Session) -> bytes:
        session.server.create_partitions(place, count)
        return b""

    return act


def _delete_partitions(fields: Fields) -> Action:
    place, count = reading.place(fields), fields.u32()
    check_partitions(count)

    def act(session: Session) -> bytes:
        session.server.delete_partitions(place, count)
        return b""

    return act


def _get_group(fields: Fields) -> Action:
    place, number = _group(fields)
    return lambda session: bodies.group(session.server.topic(place).group(number))


def _get_groups(fields: Fields) -> Action:
    place = reading.place(fields)
    return lambda session: bodies.groups(session.server.topic(place).groups.values())


def _with_group(do: GroupAct) -> Handler:
    def handler(fields: Fields) -> Action:
        place, number = _group(fields)

        def act(session: Session) -> bytes:
            do(session, place, number)
            return b""

        return act

    return handler


def _group(fields: Fields) -> tuple[Place, int]:
    place, number = reading.place(fields), fields.u32()
    check_group(number)
    return place, number


def _consumer(fields: Fields) -> Consumer:
    return Consumer(reading.consumer_kind(fields), fields.u32())


PING = 1
COMMANDS: Mapping[int, Handler] = {
    0: _plain(_kill),
    PING: _plain(lambda session: b""),
    10: _plain(lambda session: bodies.stats(stats.count(session.server, session.now_us))),
    20: _plain(lambda session: bodies.client(session.client)),
    21: _get_client,
    22: _plain(lambda session: bodies.clients(session.server.clients.values())),
    100: _poll_messages,
    101: _send_messages,
    120: _get_consumer_offset,
    121: _store_consumer_offset,
    200: _get_stream,
    201: _plain(lambda session: bodies.streams(session.server.streams.values())),
    202: _create_stream,
    203: _delete_stream,
    300: _get_topic,
    301: _get_topics,
    302: _create_topic,
    303: _delete_topic,
    402: _create_partitions,
    403: _delete_partitions,
    600: _get_group,
    601: _get_groups,
    602: _with_group(lambda session, place, group: session.server.create_group(place, group)),
    603: _with_group(lambda session, place, group: session.server.delete_group(place, group)),
    604: _with_group(
        lambda session, place, group: session.server.join(place, group, session.client)
    ),
    605: _with_group(
        lambda session, place, group: session.server.leave(place, group, session.client)
    ),
}
"""What each code asks for."""
