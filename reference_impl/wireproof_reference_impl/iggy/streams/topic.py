"""Streams and topics, and look-up by number or name."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from wireproof_reference_impl.iggy.streams.group import Group
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.partitions import Partitions
from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.identifier import Identifier
from wireproof_reference_impl.iggy.wire.status import Refusal

T = TypeVar("T")


class Topic:
    """One topic: its partitions, numbered from 1 without gaps, and its consumer groups."""

    def __init__(
        self, stream: int, number: int, name: str, *, partitions: Partitions, created_us: int
    ) -> None:
        self.stream = stream
        self.id = number
        self.name = name
        self.created_us = created_us
        self.partitions = partitions
        self.groups: dict[int, Group] = {}
        self._turn = 0

    @property
    def size(self) -> int:
        """Return the size of the topic's messages in bytes."""
        return self.partitions.size

    @property
    def count(self) -> int:
        """Return the number of messages in the topic."""
        return self.partitions.messages

    def partition(self, number: int) -> Partition:
        """Return the partition with this number.

        Raises:
            Refusal: no partition has that number.
        """
        found = self.partitions.get(number)
        if found is None:
            reason = f"Partition with ID: {number} was not found."
            raise Refusal(status.PARTITION_NOT_FOUND, reason)
        return found

    def needs_partitions(self) -> None:
        """Check that the topic has a partition.

        Raises:
            Refusal: the topic has no partition.
        """
        if not self.partitions:
            raise Refusal(
                status.NO_PARTITIONS,
                f"Topic with ID: {self.id} for stream with ID: {self.stream} has no partitions.",
            )

    def take_turn(self) -> int:
        """Return the partition for the next request with balanced partitioning."""
        self._turn = self._turn % len(self.partitions) + 1
        return self._turn

    def group(self, number: int) -> Group:
        """Return the consumer group with this number.

        Raises:
            Refusal: no group has that number.
        """
        found = self.groups.get(number)
        if found is None:
            reason = (
                f"Consumer group with ID: {number} for topic with ID: {self.id} was not found."
            )
            raise Refusal(status.CONSUMER_GROUP_NOT_FOUND, reason)
        return found

    def deal(self) -> None:
        """Distribute the topic's partitions again among the members of every group."""
        for group in self.groups.values():
            group.deal(len(self.partitions))


class Stream:
    """One stream and its topics."""

    def __init__(self, number: int, name: str, *, created_us: int) -> None:
        self.id = number
        self.name = name
        self.created_us = created_us
        self.topics: dict[int, Topic] = {}

    @property
    def size(self) -> int:
        """Return the size of the stream's messages in bytes."""
        return sum(topic.size for topic in self.topics.values())

    @property
    def count(self) -> int:
        """Return the number of messages in the stream."""
        return sum(topic.count for topic in self.topics.values())

    def topic(self, who: Identifier) -> Topic:
        """Return the topic with this number or name.

        Raises:
            Refusal: no topic has that number or name.
        """
        return find_by_identifier(who, self.topics, lambda each: each.name, self._refuse_missing)

    def add(self, topic: Topic) -> None:
        """Add a topic to the stream.

        Raises:
            Refusal: its number or its name is taken.
        """
        where = f"for stream with ID: {self.id} already exists."
        if topic.id in self.topics:
            reason = f"Topic with ID: {topic.id} {where}"
            raise Refusal(status.TOPIC_ID_ALREADY_EXISTS, reason)
        if is_taken(topic.name, self.topics.values()):
            reason = f"Topic with name: {topic.name} {where}"
            raise Refusal(status.TOPIC_NAME_ALREADY_EXISTS, reason)
        self.topics[topic.id] = topic

    def _refuse_missing(self, who: Identifier) -> Refusal:
        where = f"for stream with ID: {self.id} was not found."
        if isinstance(who, int):
            return Refusal(status.TOPIC_ID_NOT_FOUND, f"Topic with ID: {who} {where}")
        return Refusal(status.TOPIC_NAME_NOT_FOUND, f"Topic with name: {who} {where}")


def find_by_identifier(
    who: Identifier,
    among: Mapping[int, T],
    name: Callable[[T], str],
    missing: Callable[[Identifier], Refusal],
) -> T:
    """Return the stream or topic with this number, or with exactly this stored name.

    Raises:
        Refusal: nothing has that number or name; `missing` makes the refusal.
    """
    if isinstance(who, int):
        if who in among:
            return among[who]
    else:
        for each in among.values():
            if name(each) == who:
                return each
    raise missing(who)


def is_taken(name: str, among: Iterable[Stream] | Iterable[Topic]) -> bool:
    """Return True if one of these streams or topics has this name."""
    return name in [each.name for each in among]


def missing_stream(who: Identifier) -> Refusal:
    """Return the refusal of a request that names an unknown stream."""
    if isinstance(who, int):
        return Refusal(status.STREAM_ID_NOT_FOUND, f"Stream with ID: {who} was not found.")
    return Refusal(status.STREAM_NAME_NOT_FOUND, f"Stream with name: {who} was not found.")
