"""Topics and their partitions on this node."""

from collections.abc import Sequence
from itertools import accumulate

from wireproof_reference_impl.nsq.behaviour import Behaviour, ChannelStart
from wireproof_reference_impl.nsq.core.backlog import Backlog
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.log import Log, TopicMeta
from wireproof_reference_impl.nsq.delivery.timers import Timers
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage, PublishResult
from wireproof_reference_impl.nsq.wire.record import read as read_record
from wireproof_reference_impl.nsq.wire.refusal import Refusal


class Partition:
    """One partition of a topic on a node: its log, its channels and its internal ids.

    In a cluster one node leads it; its followers, on other nodes, copy every record. `stale`: its
    log or a channel's position may have changed since it was last stored.
    """

    def __init__(
        self, topic: "Topic", number: int, *, log: Log, behaviour: Behaviour, timers: Timers
    ) -> None:
        self.topic = topic
        self.number = number
        self.log = log
        self.channels: dict[str, Channel] = {}
        self._attended: dict[Channel, None] = {}
        self.stale = True
        self.leads = True
        self.writable = True
        self.followers: tuple[Partition, ...] = ()
        self._behaviour = behaviour
        self._timers = timers
        self._next_id = self._id_after(log.count)

    def publish(self, entries: Sequence[NewMessage], now_ns: int) -> PublishResult:
        """Store messages, all or none, and pass them to every channel with a client.

        Channels without a client read them from the log when a client comes.

        Raises:
            OSError: the messages could not be stored.
        """
        ids = self.next_ids(len(entries))
        records = self._records(entries, ids, now_ns)
        offset = self.log.append_all(records)
        self.stale = True
        self._next_id += len(records) * self._behaviour.publish.id_step
        for follower in self.followers:
            for record in records:
                follower.copy(record)
        # Without a client nothing is kept in memory; whoever comes later reads from the log.
        if self._attended:
            attended = tuple(self._attended)
            sizes = list(map(len, records))
            offsets = accumulate(sizes, initial=offset)
            numbers = range(self.log.count - len(entries), self.log.count)
            for entry, *place in zip(entries, ids, offsets, sizes, numbers, strict=False):
                self._hand_out(entry, place, attended, now_ns)
        trace_id = entries[0].trace_id if len(entries) == 1 else 0
        return PublishResult(ids[0], trace_id, offset, self.log.end - offset)

    def channel(self, name: str) -> Channel:
        """Return the channel with this name; create it if it does not exist."""
        channel = self.channels.get(name)
        if channel is None:
            channel = self.open_channel(name, *self._start())
        return channel

    def open_channel(self, name: str, offset: int, number: int) -> Channel:
        """Add a channel that starts at a position (offset, number of messages) in the log."""
        backlog = self.backlog(offset, number)
        channel = Channel(
            name,
            backlog,
            attended=self._attended,
            behaviour=self._behaviour,
            timers=self._timers,
        )
        channel.extend = self.topic.extend
        channel.ordered = self.topic.ordered
        self.channels[name] = channel
        self.stale = True
        return channel

    def forget_channels(self) -> None:
        """Drop all channels, because another node leads now."""
        self.channels.clear()
        self._attended.clear()
        self.stale = True

    def follow(self) -> None:
        """Become a follower: disconnect clients, and stop copying records to others."""
        self.leads = False
        self.followers = ()
        for channel in self.channels.values():
            channel.send_away()

    def remove_channel(self, name: str) -> None:
        """Remove a channel, and disconnect its clients."""
        removed = self.channels.pop(name)
        self._attended.pop(removed, None)
        removed.send_away()
        self.stale = True

    def lead(self, *, writable: bool, followers: Sequence["Partition"]) -> None:
        """Become the leader: serve clients, and copy new records to followers."""
        self.leads = True
        self.writable = writable
        self.followers = tuple(followers)
        due = self._id_after(self.log.count)
        self._next_id = self._behaviour.cluster.next_id(self._id_after(0), due)

    def copy(self, record: bytes) -> None:
        """Append a record that was copied from the leader."""
        self.log.append(record)
        self.stale = True

    def serve(self, now_ns: int) -> None:
        """Send every message that can be sent now, on all channels."""
        for channel in tuple(self._attended):
            channel.serve(now_ns)

    @property
    def attended(self) -> bool:
        """Return True if any channel has a client."""
        return bool(self._attended)

    def close(self) -> None:
        """Close the log of the partition."""
        self.log.close()

    def _id_after(self, count: int) -> int:
        rules = self._behaviour.publish
        return rules.first_id(self.number) + count * rules.id_step

    def backlog(self, offset: int, number: int) -> Backlog:
        """Return the undelivered messages of a channel that starts at a position in the log."""
        return Backlog(self.log, offset=offset, number=number, read=self._read)

    def _read(self, record: bytes, offset: int, number: int) -> Message:
        message = read_record(record, offset, number)
        if message.header is None:
            return message
        try:
            return message._replace(tag=self._behaviour.publish.header(message.header).tag)
        except Refusal:
            return message

    def _start(self) -> tuple[int, int]:
        start = self._behaviour.order.channel_start
        if start is ChannelStart.FIRST_FROM_START and not self.channels:
            return 0, 0
        return self.log.end, self.log.count

    def next_ids(self, count: int) -> Sequence[int]:
        """Return the internal ids of the next messages.

        Clause: smart.message-id.increasing
        """
        step = self._behaviour.publish.id_step
        return range(self._next_id, self._next_id + count * step, step)

    def _records(
        self, entries: Sequence[NewMessage], ids: Sequence[int], now_ns: int
    ) -> list[bytes]:
        build, extend = self._behaviour.disk.build, self.topic.extend
        version = self._behaviour.publish.ext_version
        return [
            build(entry, now_ns, internal_id=internal_id, extend=extend, version=version)
            for entry, internal_id in zip(entries, ids, strict=True)
        ]

    def _hand_out(
        self, entry: NewMessage, place: Sequence[int], channels: Sequence[Channel], now_ns: int
    ) -> None:
        """Pass a stored message to the channels, with its id, offset, size and number."""
        internal_id, offset, size, number = place
        version = 0 if entry.header is None else self._behaviour.publish.ext_version
        message = Message(
            now_ns,
            internal_id,
            entry.trace_id,
            version,
            entry.header,
            entry.body,
            offset,
            size,
            number,
            entry.tag,
            not self.topic.extend,
        )
        for channel in channels:
            channel.backlog.add(message)


class Topic:
    """A topic on a node: its kind, and those of its partitions that the node holds."""

    def __init__(self, name: str, *, extend: bool, ordered: bool) -> None:
        self.name = name
        self.extend = extend
        self.born_extend = extend
        self.old_messages = 0
        self.ordered = ordered
        self.channels_made = True
        self.partitions: dict[int, Partition] = {}

    @property
    def message_count(self) -> int:
        """Return how many messages of the topic were ever stored on this node."""
        return sum(partition.log.count for partition in self.partitions.values())

    @property
    def meta(self) -> TopicMeta:
        """Return what is stored of the topic besides its records."""
        return TopicMeta(self.name, tuple(self.partitions), self.extend, self.ordered)

    def partition(self, number: int | None) -> Partition | None:
        """Return a partition (without a number, the first one led here), or None if missing."""
        if number is None:
            led = (partition for partition in self.partitions.values() if partition.leads)
            return next(led, next(iter(self.partitions.values()), None))
        return self.partitions.get(number)

    def upgrade(self) -> None:
        """Give the topic the extend feature; this cannot be undone.

        Clause: ext.upgrade.accept
        """
        if not self.extend:
            self.old_messages = self.message_count
        self.extend = True
        for partition in self.partitions.values():
            for channel in partition.channels.values():
                channel.extend = True
