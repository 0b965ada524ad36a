"""Streams and topics: their ids count from 0, and are used again after a deletion."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_spec.iggy.apache.bodies import resources
from wireproof_spec.iggy.apache.checksum import partition_of_key
from wireproof_spec.iggy.apache.user_headers import TypedBytes, UserHeader, text_header
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.header_kinds import BOOL, STRING, UINT32, UINT64
from wireproof_spec.iggy.kinds import BALANCED, PARTITION_ID

_NEVER = (1 << 64) - 1
_NO_COMPRESSION = 1


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


DEFAULTS: Mapping[str, TypedBytes] = {
    "compression_algorithm": TypedBytes(STRING, b"none"),
    "enforce_fsync": TypedBytes(BOOL, b"\x00"),
    "max_topic_size": TypedBytes(UINT64, _u64(_NEVER)),
    "message_expiry": TypedBytes(UINT64, _u64(_NEVER)),
    "messages_required_to_save": TypedBytes(UINT32, (1024).to_bytes(4, "little")),
    "preallocate_segments": TypedBytes(BOOL, b"\x00"),
    "segment_size": TypedBytes(UINT64, _u64(1 << 30)),
    "size_of_messages_required_to_save": TypedBytes(UINT64, _u64(1 << 20)),
}
"""The options of a topic, with those that the measured server has without a request."""

ALSO_KNOWN = frozenset({"durability", "consumer_offset_durability"})
"""Options that a request may name besides: clients of crate 0.11.0 always send them."""


class Group:
    """A consumer group: the client ids of its members, in the order of joining."""

    def __init__(self, number: int, name: str) -> None:
        self.id = number
        self.name = name
        self.generation = 0
        self.members: list[int] = []
        self._turns: dict[int, int] = {}

    def join(self, client: int) -> None:
        """Add a client that is no member."""
        if client not in self.members:
            self.members.append(client)
            self.generation += 1

    def leave(self, client: int) -> None:
        """Remove a client that is a member."""
        if client in self.members:
            self.members.remove(client)
            self.generation += 1

    def share(self, client: int, partitions: int) -> Sequence[int]:
        """Return the partitions of a client: none of one that is no member."""
        if client not in self.members:
            return ()
        return range(self.members.index(client), partitions, len(self.members))

    def take_turn(self, client: int, share: Sequence[int]) -> int:
        """Return that partition of a client which comes next."""
        turn = self._turns.get(client, 0)
        self._turns[client] = turn + 1
        return share[turn % len(share)]


class Topic:
    """One topic: its partitions, numbered from 0 without gaps."""

    def __init__(
        self,
        stream: int,
        number: int,
        name: str,
        *,
        created_us: int,
        options: tuple[UserHeader, ...] = (),
    ) -> None:
        self.stream = stream
        self.id = number
        self.name = name
        self.created_us = created_us
        self.options = options
        self.partitions: list[Partition] = []
        self.groups: dict[int, Group] = {}
        self.turn = 0

    def choose(self, partitioning: Partitioning) -> int:
        """Return the number of the partition for a request's messages.

        Balanced: in turns, one for each request. A key: its XXH32 modulo the partitions.
        """
        if partitioning.kind == PARTITION_ID:
            return int.from_bytes(partitioning.value, "little")
        count = max(1, len(self.partitions))
        if partitioning.kind == BALANCED:
            self.turn += 1
            return (self.turn - 1) % count
        return partition_of_key(partitioning.value, count)

    def effective(self) -> tuple[UserHeader, ...]:
        """Return all options in force, sorted by key."""
        given = {option.key.value.decode(): option.value for option in self.options}
        every = {**DEFAULTS, **given}
        return tuple(
            text_header(key, value.kind, value.value) for key, value in sorted(every.items())
        )

    def describe(self) -> resources.Topic:
        """Return the topic as a reply names it."""
        return resources.Topic(
            id=self.id,
            created_at=self.created_us,
            partitions_count=len(self.partitions),
            message_expiry=_NEVER,
            compression=_NO_COMPRESSION,
            max_topic_size=_NEVER,
            size_bytes=sum(partition.size for partition in self.partitions),
            messages_count=sum(partition.next_offset for partition in self.partitions),
            name=self.name,
            options=self.options,
            effective=self.effective(),
        )

    def details(self, *, is_new: bool = False) -> resources.TopicDetails:
        """Return the topic with its partitions; a new one has no segment yet."""
        partitions = tuple(
            resources.Partition(
                partition.id,
                partition.created_us,
                0 if is_new else 1,
                partition.newest,
                partition.size,
                partition.next_offset,
            )
            for partition in self.partitions
        )
        return resources.TopicDetails(self.describe(), partitions)


class Stream:
    """One stream and its topics."""

    def __init__(self, number: int, name: str, *, created_us: int) -> None:
        self.id = number
        self.name = name
        self.created_us = created_us
        self.topics: dict[int, Topic] = {}

    def describe(self) -> resources.Stream:
        """Return the stream as a reply names it."""
        topics = [topic.describe() for topic in self.topics.values()]
        return resources.Stream(
            id=self.id,
            created_at=self.created_us,
            topics_count=len(topics),
            size_bytes=sum(topic.size_bytes for topic in topics),
            messages_count=sum(topic.messages_count for topic in topics),
            name=self.name,
        )

    def details(self) -> resources.StreamDetails:
        """Return the stream with its topics."""
        topics = sorted(self.topics.values(), key=lambda each: each.id)
        return resources.StreamDetails(
            self.describe(), tuple(topic.describe() for topic in topics)
        )


Named = TypeVar("Named", Stream, Topic, Group)


def find(who: Identifier, among: Mapping[int, Named]) -> Named | None:
    """Return the stream, topic or group with this number or name, or None."""
    if who.number is not None:
        return among.get(who.number)
    return next((each for each in among.values() if each.name.encode() == who.value), None)


def lowest_free(taken: Iterable[int]) -> int:
    """Return the lowest number that is not taken."""
    numbers = set(taken)
    return next(each for each in range(len(numbers) + 1) if each not in numbers)
