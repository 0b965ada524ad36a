"""The node: the state that all connections share, and the log position of what was done."""

from typing import TypeAlias

from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.refusals import Denied, Rejected
from wireproof_reference_impl.iggy.apache.session import Registered
from wireproof_reference_impl.iggy.apache.topics import Stream, Topic, find, lowest_free
from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.core.server import ServerEnvironment
from wireproof_reference_impl.iggy.streams.storage import KeptTopic
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.bodies.places import OptionalPartition
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.user_headers import UserHeader
from wireproof_spec.iggy.bodies.identifier import Identifier

CLUSTER = 0x462DA7E87BC20E8DB8BA2787C805BB21
"""The cluster id of the measured server, which a single node has by default."""


Place: TypeAlias = tuple[str, int]
"""A host and a port."""
NOWHERE: Place = ("127.0.0.1", 0)


class Node:
    """The state of a server of generation `apache`: streams, sessions, and the log position."""

    def __init__(
        self, behaviour: Behaviour, around: ServerEnvironment, envelope: Envelope = OWN
    ) -> None:
        self.behaviour = behaviour
        self.around = around
        self.envelope = envelope
        self.op = 0
        """The log position of the last replicated operation."""
        self.connections = 0
        self.asking = 0
        """The client id that logged in on the connection whose request is served."""
        self.streams: dict[int, Stream] = {}
        self.registered: dict[int, Registered] = {}
        """Logged-in clients by client id."""
        self.tokens: set[str] = set()
        self.addresses: tuple[Place, Place] = (NOWHERE, NOWHERE)
        """Where the node listens for TCP and for HTTP: each a host and a port."""
        for kept in around.storage.streams():
            stream = Stream(kept.id, kept.name, created_us=around.started_us)
            self.streams[kept.id] = stream
            for topic in kept.topics:
                self._load(stream, topic)

    def commit(self) -> int:
        """Advance the log by one operation, and return its position."""
        self.op += 1
        return self.op

    def stream(self, who: Identifier) -> Stream:
        """Return the stream with this number or name.

        Raises:
            Denied: no stream has that number or name.
        """
        found = find(who, self.streams)
        if found is None:
            raise Denied(statuses.STREAM_ID_NOT_FOUND)
        return found

    def topic(self, stream: Identifier, topic: Identifier) -> Topic:
        """Return the topic of a stream, each by number or name.

        Raises:
            Denied: stream or topic do not exist.
        """
        found = find(topic, self.stream(stream).topics)
        if found is None:
            raise Denied(statuses.TOPIC_ID_NOT_FOUND)
        return found

    def partition(
        self, stream: Identifier, topic: Identifier, partition: OptionalPartition
    ) -> Partition:
        """Return a partition; one that is left out is that with number 0.

        Raises:
            Denied: stream, topic or partition do not exist.
        """
        return partition_of(self.topic(stream, topic), partition.partition_id)

    def create_stream(self, name: str, now_us: int) -> Stream:
        """Create and return a stream.

        Raises:
            Rejected: the name is taken.
        """
        if any(each.name == name for each in self.streams.values()):
            raise Rejected(statuses.STREAM_NAME_ALREADY_EXISTS)
        number = lowest_free(self.streams)
        self.around.storage.add_stream(number, name)
        stream = self.streams[number] = Stream(number, name, created_us=now_us)
        return stream

    def delete_stream(self, who: Identifier) -> None:
        """Delete a stream with all in it.

        Raises:
            Denied: the stream does not exist.
        """
        stream = self.stream(who)
        self.around.storage.remove_stream(stream.id)
        del self.streams[stream.id]

    def create_topic(
        self,
        who: Identifier,
        name: str,
        *,
        partitions: int,
        now_us: int,
        options: tuple[UserHeader, ...] = (),
    ) -> Topic:
        """Create and return a topic with this number of partitions.

        Raises:
            Denied: the stream does not exist.
            Rejected: the name is taken.
        """
        stream = self.stream(who)
        if any(each.name == name for each in stream.topics.values()):
            raise Rejected(statuses.TOPIC_NAME_ALREADY_EXISTS)
        number = lowest_free(stream.topics)
        self.around.storage.add_topic(stream.id, number, name)
        self.around.storage.resize_topic(stream.id, number, partitions)
        topic = Topic(stream.id, number, name, created_us=now_us, options=options)
        self._open(topic, partitions)
        stream.topics[number] = topic
        return topic

    def delete_topic(self, stream: Identifier, topic: Identifier) -> None:
        """Delete a topic with all in it.

        Raises:
            Denied: stream or topic do not exist.
        """
        found = self.topic(stream, topic)
        self.around.storage.remove_topic(found.stream, found.id)
        del self.streams[found.stream].topics[found.id]

    def leave_groups(self, client: int) -> None:
        """Remove a client that is gone from all groups."""
        for stream in self.streams.values():
            for topic in stream.topics.values():
                for group in topic.groups.values():
                    group.leave(client)

    def _open(self, topic: Topic, partitions: int) -> None:
        topic.partitions = [
            Partition(
                number,
                self.around.storage.partition(topic.stream, topic.id, number),
                created_us=topic.created_us,
                segment_size=self.around.segment_size,
            )
            for number in range(partitions)
        ]

    def _load(self, stream: Stream, kept: KeptTopic) -> None:
        topic = Topic(stream.id, kept.id, kept.name, created_us=self.around.started_us)
        self._open(topic, max((kept.partitions, *(each + 1 for each in kept.used))))
        stream.topics[kept.id] = topic


def partition_of(topic: Topic, number: int) -> Partition:
    """Return the partition of a topic with this number.

    Raises:
        Denied: there is none.
    """
    if number >= len(topic.partitions):
        raise Denied(statuses.PARTITION_NOT_FOUND)
    return topic.partitions[number]
