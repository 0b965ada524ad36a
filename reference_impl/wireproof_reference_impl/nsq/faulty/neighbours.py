"""Finds the partition of a channel, and other channels near it."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.overrides import Original, around

_PARTITIONS: WeakKeyDictionary[Channel, Partition] = WeakKeyDictionary()


def _note_calls(
    original: Original, partition: Partition, name: str, offset: int, number: int
) -> Channel:
    channel: Channel = original(partition, name, offset, number)
    _PARTITIONS[channel] = partition
    return channel


NOTED = around(Partition, "open_channel", _note_calls)
"""The override without which nothing is known here."""


def partition_of(channel: Channel) -> Partition:
    """Return the partition that a channel belongs to."""
    return _PARTITIONS[channel]


def other_clients(channel: Channel) -> Sequence[Subscriber]:
    """Return the clients of the other channels of the channel's partition."""
    others = (each for each in _PARTITIONS[channel].channels.values() if each is not channel)
    return [subscriber for other in others for subscriber in other.subscribers]


def namesakes(channel: Channel) -> Sequence[Channel]:
    """Return the channels with the same name in the topic's other partitions on this node."""
    own = _PARTITIONS[channel]
    others = (partition for partition in own.topic.partitions.values() if partition is not own)
    return [other.channels[channel.name] for other in others if channel.name in other.channels]
