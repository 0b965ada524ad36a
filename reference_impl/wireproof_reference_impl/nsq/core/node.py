"""One broker: its topics, its clock, and the work to do before the next input."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.core.access import OPEN, Access
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.log import Storage, TopicMeta
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.delivery.timers import Timers
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.served import Schedule

_SAVE_EVERY_NS = 1_000_000_000


class Peer(Protocol):
    """The interface of a connection as the node needs it."""

    def leave(self, now_ns: int) -> None:
        """Return the connection's messages in flight to their channel."""


class Sender(Protocol):
    """The interface of a channel or partition that may have messages to send."""

    def serve(self, now_ns: int) -> None:
        """Send every message that can be sent now."""


class Node:
    """One node of the broker: its topics. After every event, call `settle`."""

    def __init__(
        self,
        storage: Storage,
        *,
        behaviour: Behaviour,
        limits: Limits,
        now_ns: int,
        access: Access = OPEN,
        schedule: Schedule | None = None,
    ) -> None:
        self.behaviour = behaviour
        self.limits = limits
        self.access = access
        self.started_ns = now_ns
        self.schedule = Schedule() if schedule is None else schedule
        self.timers = Timers(self.schedule)
        self.topics: dict[str, Topic] = {}
        self.connections: dict[Peer, None] = {}
        self.changed = self.schedule.changed
        self.open = True
        self.clustered = False
        self.halted = False
        self.storage = storage
        self._touched: dict[Sender, None] = {}
        self._leaving: list[Peer] = []
        self._saved: dict[Partition, dict[str, tuple[int, int]]] = {}
        for meta in storage.topics():
            self._load(meta)
        self.timers.at(now_ns + _SAVE_EVERY_NS, self._save_now_and_then)

    def find(self, topic: str, partition: int | None) -> Partition | None:
        """Return a partition of this node (the first one if no number is given), or None."""
        found = self.topics.get(topic)
        return None if found is None else found.partition(partition)

    def create(self, name: str, partitions: range, *, extend: bool, ordered: bool) -> Topic:
        """Return the topic with these partitions; create what is missing.

        A topic that exists stays of its kind.

        Raises:
            OSError: the topic could not be stored; nothing has changed.
        """
        topic = self.topics.get(name) or Topic(name, extend=extend, ordered=ordered)
        new = [number for number in partitions if number not in topic.partitions]
        try:
            for number in new:
                self._open(topic, number)
            self.storage.save_topic(topic.meta)
        except OSError:
            self._give_up(topic, new)
            raise
        self.topics[name] = topic
        return topic

    def channel(self, partition: Partition, name: str) -> Channel:
        """Return a channel of a partition; a new one is stored before it is used.

        Raises:
            OSError: the channel could not be stored.
        """
        channel = partition.channels.get(name)
        if channel is None:
            channel = partition.channel(name)
            place = channel.read_confirmed()
            self.storage.add_channel(partition.topic.name, partition.number, name, place)
        partition.stale = True
        return channel

    def adopt(self, partition: Partition, name: str, place: tuple[int, int]) -> Channel:
        """Open a channel of a partition at a position (offset, number of messages), and store it.

        Raises:
            OSError: the channel could not be stored.
        """
        channel = partition.open_channel(name, *place)
        self.storage.add_channel(partition.topic.name, partition.number, name, place)
        return channel

    @property
    def gathers(self) -> bool:
        """Return True if sending output for many inputs at once is cheaper."""
        return self.storage.gathers

    def commit(self) -> None:
        """Make stored messages durable, before they are acknowledged.

        Raises:
            OSError: the messages are not durable and must not be acknowledged.
        """
        self.storage.commit()

    def upgrade(self, topic: Topic) -> None:
        """Upgrade a topic to ext."""
        topic.upgrade()
        self.storage.save_topic(topic.meta)

    def delete(self, topic: Topic, now_ns: int) -> None:
        """Remove a topic with its messages, and disconnect its clients."""
        del self.topics[topic.name]
        for partition in topic.partitions.values():
            self._touched.pop(partition, None)
            for channel in partition.channels.values():
                channel.send_away()
        self.settle(now_ns)
        for partition in topic.partitions.values():
            self._saved.pop(partition, None)
            partition.close()
        self.storage.delete_topic(topic.name)

    def remove(self, topic: Topic, number: int, now_ns: int) -> None:
        """Remove one partition of a topic; the topic itself goes with its last partition."""
        if list(topic.partitions) == [number]:
            self.delete(topic, now_ns)
            return
        partition = topic.partitions.pop(number)
        self._touched.pop(partition, None)
        partition.follow()
        self.settle(now_ns)
        self._saved.pop(partition, None)
        partition.close()
        self.storage.replace_log(topic.name, number, ()).close()
        self.storage.save_topic(topic.meta)

    def be_reachable(self, reachable: bool) -> None:
        """Make the node reachable or unreachable; the shell opens or closes its sockets."""
        self.open = reachable
        self.changed[self] = None

    def touch(self, place: Sender) -> None:
        """Note that a channel or partition may have messages to send."""
        self._touched[place] = None

    def handle_leaving(self, peer: Peer) -> None:
        """Note that a connection has ended."""
        self._leaving.append(peer)

    def settle(self, now_ns: int) -> None:
        """Do what the last input caused: send messages, and remove closed connections."""
        while self._touched or self._leaving:
            touched, self._touched = self._touched, {}
            for place in touched:
                place.serve(now_ns)
            leaving, self._leaving = self._leaving, []
            for peer in leaving:
                self.connections.pop(peer, None)
                peer.leave(now_ns)

    def run_timers(self, now_ns: int) -> None:
        """Run the timers that are due."""
        self.timers.run(now_ns)
        self.settle(now_ns)

    def close(self) -> None:
        """Store all positions and close the logs."""
        self._save(self._partitions())
        for partition in self._partitions():
            partition.close()

    def _load(self, meta: TopicMeta) -> None:
        topic = Topic(meta.name, extend=meta.extend, ordered=meta.ordered)
        self.topics[meta.name] = topic
        for number in meta.partitions:
            partition = self._open(topic, number)
            for name, place in self.storage.positions(meta.name, number).items():
                partition.open_channel(name, *place)

    def _give_up(self, topic: Topic, new: Sequence[int]) -> None:
        """Remove partitions that could not be stored; their files, which may be older, stay."""
        for number in new:
            partition = topic.partitions.pop(number, None)
            if partition is not None:
                with suppress(OSError):
                    partition.close()

    def _open(self, topic: Topic, number: int) -> Partition:
        log = self.storage.open_log(topic.name, number)
        partition = Partition(topic, number, log=log, behaviour=self.behaviour, timers=self.timers)
        topic.partitions[number] = partition
        return partition

    def _save_now_and_then(self, now_ns: int) -> None:
        self.timers.at(now_ns + _SAVE_EVERY_NS, self._save_now_and_then)
        self.storage.sync()
        with suppress(OSError):  # what is kept then lags, and is tried again
            self._save([partition for partition in self._partitions() if partition.stale])

    def _save(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            partition.log.note_growth()
            positions = {name: each.read_confirmed() for name, each in partition.channels.items()}
            if positions != self._saved.get(partition, {}):
                self.storage.save_positions(partition.topic.name, partition.number, positions)
                self._saved[partition] = positions
            partition.stale = partition.attended

    def _partitions(self) -> list[Partition]:
        return [
            partition for topic in self.topics.values() for partition in topic.partitions.values()
        ]
