"""Sending and polling messages, and stored offsets."""

from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.streams.client import Client
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.checks import check_sent
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.requests import (
    Consumer,
    PollMessages,
    SendMessages,
    TopicPath,
    consumer_number,
)
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_spec.iggy.kinds import CONSUMER_KIND


def send(server: Server, request: SendMessages, now_us: int) -> None:
    """Store the messages of a request on the server, all or none.

    Raises:
        Refusal: the messages are invalid, or the stream, topic or partition does not exist.
    """
    check_sent(request, server.behaviour.store.limits)
    topic = server.topic(request.place)
    topic.needs_partitions()
    number = server.behaviour.store.choose(topic, request.partitioning)
    topic.partition(number).append(request.messages, now_us, server.around.new_id)


def poll(server: Server, request: PollMessages, client: Client | None) -> Polled:
    """Return the messages that a poll finds; a group member reads its partitions in turn.

    Raises:
        Refusal: the request asks for no message, or the partition does not exist.
    """
    if not request.count:
        raise Refusal(status.INVALID_MESSAGES_COUNT, "Invalid messages count")
    topic = server.topic(request.place)
    topic.needs_partitions()
    partition = topic.partition(_partition(topic, request, client))
    behaviour = server.behaviour.poll
    start = behaviour.starts[request.strategy](partition, request)
    messages: list[Message] = []
    if start is not None:
        messages = behaviour.delivered(partition.read(start, request.count))
    if messages and request.auto_commit:
        commit(partition, request.consumer, messages[-1].offset)
    return Polled(partition.id, partition.current_offset, messages)


def commit(partition: Partition, consumer: Consumer, offset: int) -> None:
    """Store the offset of the last message of a poll with auto-commit."""
    partition.store_offset(consumer.kind, consumer_number(consumer), offset)


def stored_offset(
    server: Server, place: TopicPath, consumer: Consumer, partition: int
) -> tuple[Partition, int | None]:
    """Return a partition, and the offset that a consumer stored in it, or None.

    Raises:
        Refusal: the partition is not there.
    """
    found = server.topic(place).partition(partition)
    stored = found.stored_offset(consumer.kind, consumer_number(consumer))
    return found, server.behaviour.poll.stored(stored)


def store_offset(
    server: Server,
    place: TopicPath,
    consumer: Consumer,
    *,
    partition: int,
    offset: int,
    client: Client | None,
) -> None:
    """Store a consumer's offset; a group's is for the partition that its member read last.

    Raises:
        Refusal: the partition is not there, or has no such offset.
    """
    topic = server.topic(place)
    number = consumer_number(consumer)
    if consumer.kind != CONSUMER_KIND and client is not None:
        partition = topic.group(number).member(client.id).current
    topic.partition(partition).store_offset(consumer.kind, number, offset)


def _partition(topic: Topic, request: PollMessages, client: Client | None) -> int:
    if request.consumer.kind == CONSUMER_KIND or client is None:
        return request.partition
    group = topic.group(consumer_number(request.consumer))
    return group.member(client.id).take_turn()
