"""The server: creates, finds and deletes streams, topics, partitions, groups and clients."""

from collections.abc import Callable, Iterable

from msgspec import Struct, field

from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.streams.client import Client, Joined
from wireproof_reference_impl.iggy.streams.group import Group
from wireproof_reference_impl.iggy.streams.host import Host
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.partitions import Partitions
from wireproof_reference_impl.iggy.streams.storage import (
    KeptTopic,
    NoFiles,
    PartitionFiles,
    Storage,
)
from wireproof_reference_impl.iggy.streams.topic import (
    Stream,
    Topic,
    find_by_identifier,
    is_taken,
    missing_stream,
)
from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.identifier import Identifier
from wireproof_reference_impl.iggy.wire.requests import TopicPath
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_spec.iggy.limits import MAX_PARTITIONS


class ServerEnvironment(Struct, frozen=True):
    """What the server is given: storage, source of ids, start time, machine and segment size."""

    storage: Storage
    new_id: Callable[[], int]
    started_us: int = 0
    host: Host = field(default_factory=Host)
    segment_size: int = 1 << 30


class Server:
    """The state of the Iggy server that all connections share: streams, topics, clients."""

    def __init__(self, behaviour: Behaviour, around: ServerEnvironment) -> None:
        self.behaviour = behaviour
        self.around = around
        self.streams: dict[int, Stream] = {}
        self.clients: dict[int, Client] = {}
        self._storage = around.storage
        for kept in around.storage.streams():
            stream = Stream(kept.id, kept.name, created_us=around.started_us)
            self.streams[kept.id] = stream
            for topic in kept.topics:
                self._load(stream, topic)

    def stream(self, who: Identifier) -> Stream:
        """Return the stream with this number or name.

        Raises:
            Refusal: no stream has that number or name.
        """
        return find_by_identifier(who, self.streams, lambda each: each.name, missing_stream)

    def topic(self, place: TopicPath) -> Topic:
        """Return the topic at this path of stream and topic.

        Raises:
            Refusal: stream or topic is not there.
        """
        return self.stream(place.stream).topic(place.topic)

    def create_stream(self, number: int, name: str, now_us: int) -> Stream:
        """Create and return a stream.

        Raises:
            Refusal: its number or its name is taken.
        """
        name = self.behaviour.store.name(name)
        if number in self.streams:
            reason = f"Stream with ID: {number} already exists."
            raise Refusal(status.STREAM_ID_ALREADY_EXISTS, reason)
        if is_taken(name, self.streams.values()):
            reason = f"Stream with name: {name} already exists."
            raise Refusal(status.STREAM_NAME_ALREADY_EXISTS, reason)
        self._storage.add_stream(number, name)
        stream = self.streams[number] = Stream(number, name, created_us=now_us)
        return stream

    def delete_stream(self, who: Identifier) -> None:
        """Delete a stream with all in it.

        Raises:
            Refusal: the stream does not exist.
        """
        stream = self.stream(who)
        self._storage.remove_stream(stream.id)
        del self.streams[stream.id]
        self._forget(lambda joined: joined.stream == stream.id)

    def create_topic(
        self, who: Identifier, number: int, name: str, *, partitions: int, now_us: int
    ) -> Topic:
        """Create and return a topic with this number of partitions."""
        stream = self.stream(who)
        kept = self.behaviour.store.name(name)
        none = self._partitions(stream.id, number)
        topic = Topic(stream.id, number, kept, partitions=none, created_us=now_us)
        stream.add(topic)
        try:
            self._storage.add_topic(stream.id, number, topic.name)
            self._resize(topic, partitions)
        except OSError:
            del stream.topics[number]
            raise
        return topic

    def delete_topic(self, place: TopicPath) -> None:
        """Delete a topic with all in it.

        Raises:
            Refusal: stream or topic is not there.
        """
        topic = self.topic(place)
        self._storage.remove_topic(topic.stream, topic.id)
        del self.streams[topic.stream].topics[topic.id]
        self._forget(lambda joined: joined[:2] == (topic.stream, topic.id))

    def create_partitions(self, place: TopicPath, count: int) -> None:
        """Add this number of partitions to a topic.

        Raises:
            Refusal: the topic is not there, or would have too many.
        """
        topic = self.topic(place)
        if len(topic.partitions) + count > MAX_PARTITIONS:
            raise Refusal(status.TOO_MANY_PARTITIONS, "Too many partitions")
        self._resize(topic, len(topic.partitions) + count)

    def delete_partitions(self, place: TopicPath, count: int) -> None:
        """Delete this number of partitions of a topic, the highest first, or all it has.

        Raises:
            Refusal: the topic is not there.
        """
        topic = self.topic(place)
        self._resize(topic, max(0, len(topic.partitions) - count))

    def create_group(self, place: TopicPath, number: int) -> Group:
        """Create and return a consumer group of a topic.

        Raises:
            Refusal: the topic is not there, or its number is taken.
        """
        topic = self.topic(place)
        if number in topic.groups:
            where = f"for topic with ID: {topic.id} already exists."
            reason = f"Consumer group with ID: {number} {where}"
            raise Refusal(status.CONSUMER_GROUP_ALREADY_EXISTS, reason)
        self._storage.add_group(topic.stream, topic.id, number)
        group = topic.groups[number] = Group(number, topic.id, len(topic.partitions))
        return group

    def delete_group(self, place: TopicPath, number: int) -> None:
        """Delete a consumer group.

        Raises:
            Refusal: the group does not exist.
        """
        topic = self.topic(place)
        group = topic.group(number)
        self._storage.remove_group(topic.stream, topic.id, number)
        del topic.groups[group.id]
        self._forget(lambda joined: joined == (topic.stream, topic.id, number))

    def join(self, place: TopicPath, number: int, client: Client) -> None:
        """Add a client to a consumer group.

        Raises:
            Refusal: the group is not there.
        """
        topic = self.topic(place)
        topic.group(number).join(client.id)
        joined = Joined(topic.stream, topic.id, number)
        if joined not in client.groups:
            client.groups.append(joined)

    def leave(self, place: TopicPath, number: int, client: Client) -> None:
        """Remove a client from a consumer group; it need not be a member.

        Raises:
            Refusal: the group is not there.
        """
        topic = self.topic(place)
        topic.group(number).leave(client.id)
        joined = Joined(topic.stream, topic.id, number)
        client.groups = [group for group in client.groups if group != joined]

    def client(self, number: int) -> Client:
        """Return the connected client with this id.

        Raises:
            Refusal: no client has that id.
        """
        if number not in self.clients:
            reason = f"Client with ID: {number} was not found."
            raise Refusal(status.CLIENT_NOT_FOUND, reason)
        return self.clients[number]

    def disconnect(self, client: Client) -> None:
        """Remove a client from the server and from its consumer groups."""
        self.clients.pop(client.id, None)
        for joined in client.groups:
            stream = self.streams.get(joined.stream)
            topic = None if stream is None else stream.topics.get(joined.topic)
            group = None if topic is None else topic.groups.get(joined.group)
            if group is not None:
                group.leave(client.id)

    def _resize(self, topic: Topic, partitions: int) -> None:
        self._storage.resize_topic(topic.stream, topic.id, partitions)
        topic.partitions.resize(partitions)
        topic.deal()

    def _partitions(
        self, stream: int, topic: int, *, used: Iterable[int] = (), count: int = 0
    ) -> Partitions:
        def open_partition(number: int, files: PartitionFiles) -> Partition:
            size = self.around.segment_size
            return Partition(number, files, behaviour=self.behaviour.log, segment_size=size)

        return Partitions(
            lambda number: open_partition(number, self._storage.partition(stream, topic, number)),
            lambda number: open_partition(number, NoFiles()),
            used=used,
            count=count,
        )

    def _load(self, stream: Stream, kept: KeptTopic) -> None:
        there = self._partitions(stream.id, kept.id, used=kept.used, count=kept.partitions)
        started_us = self.around.started_us
        topic = Topic(stream.id, kept.id, kept.name, partitions=there, created_us=started_us)
        stream.topics[kept.id] = topic
        for number in kept.groups:
            topic.groups[number] = Group(number, topic.id, len(topic.partitions))

    def _forget(self, gone: Callable[[Joined], bool]) -> None:
        for client in self.clients.values():
            client.groups = [group for group in client.groups if not gone(group)]
