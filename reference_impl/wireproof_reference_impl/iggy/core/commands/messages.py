"""Commands about messages and offsets; each generation reads consumers in its own way."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core import bodies
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.messages import poll, send, store_offset, stored_offset
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.checks import check_sent
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.requests import Consumer, PollMessages, SendMessages
from wireproof_reference_impl.iggy.wire.status import invalid_command
from wireproof_spec.iggy.kinds import AUTO_COMMIT

ReadConsumer = Callable[[Fields], Consumer]

ReadPartition = Callable[[Fields], int]

OffsetBody = Callable[[Consumer, Partition, int | None], bytes]
"""Makes the answer about a stored offset; None was never stored."""


def poll_messages(consumer: ReadConsumer, partition: ReadPartition) -> Handler:
    """Return the handler of polls, which may ignore bytes after the fields of a poll."""

    def handler(fields: Fields) -> Action:
        request = PollMessages(
            consumer=consumer(fields),
            place=reading.place(fields),
            partition=partition(fields),
            strategy=reading.strategy(fields),
            value=fields.u64(),
            count=fields.u32(),
            auto_commit=fields.u8() == AUTO_COMMIT,
        )
        has_more = bool(fields.left)

        def act(session: CommandContext) -> bytes:
            if has_more and not session.server.behaviour.poll.takes_trailing:
                raise invalid_command()
            found = poll(session.server, request, session.client)
            return bodies.encode_polled(found, session.server.behaviour.message)

        return act

    return handler


def send_messages(fields: Fields) -> Action:
    """Return the action that stores the messages of a request, all or none."""
    request = SendMessages(
        reading.place(fields), reading.read_partitioning(fields), reading.messages(fields)
    )
    check_sent(request)

    def act(session: CommandContext) -> bytes:
        send(session.server, request, session.now_us)
        return b""

    return act


def get_consumer_offset(
    read_consumer: ReadConsumer, read_partition: ReadPartition, body: OffsetBody
) -> Handler:
    """Return the handler of requests for a consumer's stored offset."""

    def handler(fields: Fields) -> Action:
        consumer, place = read_consumer(fields), reading.place(fields)
        partition = read_partition(fields)

        def act(session: CommandContext) -> bytes:
            found, stored = stored_offset(session.server, place, consumer, partition)
            return body(consumer, found, stored)

        return act

    return handler


def store_consumer_offset(read_consumer: ReadConsumer, read_partition: ReadPartition) -> Handler:
    """Return the handler of requests that store a consumer's offset."""

    def handler(fields: Fields) -> Action:
        consumer, place = read_consumer(fields), reading.place(fields)
        partition, offset = read_partition(fields), fields.u64()

        def act(session: CommandContext) -> bytes:
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

    return handler
