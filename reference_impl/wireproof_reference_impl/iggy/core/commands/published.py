"""The commands of the published generation, by code."""

from collections.abc import Mapping

from wireproof_reference_impl.iggy.core import bodies
from wireproof_reference_impl.iggy.core.commands import groups, messages, reading, streams, system
from wireproof_reference_impl.iggy.core.session import Handler
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.requests import Consumer, consumer_number
from wireproof_spec.iggy import commands


def read_consumer(fields: Fields) -> Consumer:
    """Read a consumer from a payload: kind and number."""
    return Consumer(reading.consumer_kind(fields), fields.u32())


def read_partition(fields: Fields) -> int:
    """Read the number of a partition from a payload."""
    return fields.u32()


def _offset(consumer: Consumer, partition: Partition, stored: int | None) -> bytes:
    return bodies.consumer_offset(consumer_number(consumer), stored)


COMMANDS: Mapping[int, Handler] = {
    commands.KILL: system.plain(system.kill),
    commands.PING: system.plain(system.ping),
    commands.GET_STATS: system.plain(system.get_stats),
    commands.GET_ME: system.plain(system.get_me),
    commands.GET_CLIENT: system.get_client,
    commands.GET_CLIENTS: system.plain(system.get_clients),
    commands.POLL_MESSAGES: messages.poll_messages(read_consumer, read_partition),
    commands.SEND_MESSAGES: messages.send_messages,
    commands.GET_CONSUMER_OFFSET: messages.get_consumer_offset(
        read_consumer, read_partition, _offset
    ),
    commands.STORE_CONSUMER_OFFSET: messages.store_consumer_offset(read_consumer, read_partition),
    commands.GET_STREAM: streams.get_stream,
    commands.GET_STREAMS: system.plain(streams.get_streams),
    commands.CREATE_STREAM: streams.create_stream,
    commands.DELETE_STREAM: streams.delete_stream,
    commands.GET_TOPIC: streams.get_topic,
    commands.GET_TOPICS: streams.get_topics,
    commands.CREATE_TOPIC: streams.create_topic,
    commands.DELETE_TOPIC: streams.delete_topic,
    commands.CREATE_PARTITIONS: streams.create_partitions,
    commands.DELETE_PARTITIONS: streams.delete_partitions,
    commands.GET_CONSUMER_GROUP: groups.get_group,
    commands.GET_CONSUMER_GROUPS: groups.get_groups,
    commands.CREATE_CONSUMER_GROUP: groups.create_group,
    commands.DELETE_CONSUMER_GROUP: groups.delete_group,
    commands.JOIN_CONSUMER_GROUP: groups.join_group,
    commands.LEAVE_CONSUMER_GROUP: groups.leave_group,
}
"""What each code asks for."""
