"""The coordinator: decides which node leads and which nodes follow each partition.

It runs in the process of the nodes and holds them as objects. There is no etcd, no election and no
protocol between nodes and lookup servers: what a real cluster finds out by messages is known here
at once. A leader passes every record to its followers before the publish is answered, so a
follower that was never away can become the leader at any time without losing acknowledged
messages. When the leader moves, the channels move with it, each from the offset up to which it has
finished everything. Clients of the old leader are disconnected, and the messages they held are
delivered again. A node that was away copies the missing records from the leader before it counts
as in sync. Like everything in the core, it is told the time and does no I/O.
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import Enum

from msgspec.structs import replace

from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.cluster import copies, rules, topic_rows
from wireproof_reference_impl.nsq.cluster.cluster_topic import (
    ClusterTopic,
    PartitionReplicas,
    Settings,
    spread,
)
from wireproof_reference_impl.nsq.cluster.member import Member


class Writes(Enum):
    """For which topics writing is disabled: lookups then name no node to producers.

    The values are those of the API.
    """

    NONE = "none"
    ORDERED = "ordered"
    ALL = "all"


class NoRoom(Exception):
    """Raised if a topic needs more nodes than there are."""


class Impossible(Exception):
    """Raised if the cluster cannot be changed as requested; the text says why."""


class Coordinator:
    """Manages a cluster of nodes in one process: its topics, leaders and replicas."""

    def __init__(
        self,
        members: Sequence[Member],
        behaviour: Behaviour,
        *,
        keep: topic_rows.Keep = topic_rows.keep_nothing,
    ) -> None:
        self.members = tuple(members)
        self.behaviour = behaviour
        self.topics: dict[str, ClusterTopic] = {}
        self.tombstones: set[tuple[str, Member]] = set()
        self.writes = Writes.NONE
        self._created = 0
        self._keep = keep
        for member in members:
            member.node.clustered = True

    @property
    def stable(self) -> bool:
        """Return True if every node of the cluster can be reached."""
        return all(member.up for member in self.members)

    def create(self, name: str, settings: Settings) -> None:
        """Create a topic.

        Raises:
            NoRoom: the topic needs more nodes than the cluster has.
            OSError: the topic could not be stored; no node keeps any part of it.
        """
        up = [member for member in self.members if member.up]
        if not up or not rules.enough_nodes(settings.wanted, len(up)):
            raise NoRoom(name)
        # A topic of as many partitions for each node is balanced anyway; that the first node leads
        # the first one makes it certain which partition is judged there.
        places = spread(up, settings, self._created if settings.partitions % len(up) else 0)
        self._created += 1
        topic = self.topics[name] = ClusterTopic(name, settings, places)
        try:
            self._save(topic)
            for place in places:
                for member in place.replicas:
                    copies.hold(topic, place, member)
        except OSError:
            self._give_up(topic)
            raise
        for place in places:
            copies.assign(topic, place)

    def delete(self, topic: ClusterTopic, now_ns: int) -> None:
        """Remove a topic from every node."""
        del self.topics[topic.name]
        self._keep({topic.name: None})
        self.tombstones = {
            tombstone for tombstone in self.tombstones if tombstone[0] != topic.name
        }
        for member in self.members:
            if topic.name in member.node.topics:
                member.node.delete(member.node.topics[topic.name], now_ns)

    def upgrade(self, topic: ClusterTopic, now_ns: int) -> None:
        """Upgrade a topic to ext on every node that holds a partition of it."""
        if topic.settings.extend:
            return
        topic.upgrade()
        self._save(topic)
        topic.paused_until_ns = now_ns + self.behaviour.lookup.upgrade_pause_ns
        for member in self.members:
            if topic.name in member.node.topics:
                member.node.upgrade(member.node.topics[topic.name])

    def move_leader(
        self, topic: ClusterTopic, place: PartitionReplicas, to: Member | None, now_ns: int
    ) -> None:
        """Make another node the leader of a partition.

        That is the given node, else the next replica, else the next node.

        Raises:
            Impossible: there is no leader or no other node, or the given node cannot lead.
        """
        old = place.leader
        if old is None:
            raise Impossible(f"no node leads partition {place.number} of {topic.name!r} now")
        new = to or self._next_leader(place, old)
        if new is old:
            raise Impossible("that node leads the partition already")
        if not new.up:
            raise Impossible("that node is down")
        if new not in place.replicas:
            copies.add(topic, place, new, led=topic.partition(place, old))
        place.replicas.sort(key=lambda each: each is not new)
        copies.hand_over(topic, place, old=old, new=new)
        copies.assign(topic, place)
        self._save(topic)
        copies.drop_surplus(topic, place, now_ns)
        self._settle(now_ns)

    def move_copy(
        self,
        topic: ClusterTopic,
        place: PartitionReplicas,
        *,
        old: Member,
        new: Member,
        now_ns: int,
    ) -> None:
        """Move a follower's copy of a partition to another node.

        Raises:
            Impossible: the partition has no leader to copy from.
        """
        led = topic.get_leading(place)
        if led is None:
            raise Impossible(f"no node leads partition {place.number} of {topic.name!r} now")
        copies.add(topic, place, new, led=led)
        place.replicas.remove(old)
        place.in_sync.discard(old)
        copies.assign(topic, place)
        self._save(topic)
        old.node.remove(old.node.topics[topic.name], place.number, now_ns)

    def expand(self, topic: ClusterTopic, partitions: int) -> None:
        """Add partitions to a topic.

        Raises:
            NoRoom: there are not enough nodes.
        """
        up = [member for member in self.members if member.up]
        settings = replace(topic.settings, partitions=partitions)
        if not rules.enough_nodes(settings.wanted, len(up)):
            raise NoRoom(topic.name)
        known = len(topic.places)
        first = self.members.index(topic.places[0].replicas[0])
        topic.settings = settings
        for place in spread(up, settings, first)[known:]:
            topic.places[place.number] = place
            for member in place.replicas:
                copies.hold(topic, place, member)
            copies.assign(topic, place)
        self._save(topic)

    def change(self, topic: ClusterTopic, settings: Settings, now_ns: int) -> None:
        """Change a topic's number of replicas, and whether subscribing creates channels."""
        topic.settings = settings
        self._save(topic)
        for member in self.members:
            if topic.name in member.node.topics:
                member.node.topics[topic.name].channels_made = settings.channels_made
        for place in topic.places.values():
            place.lead_first()
            self._fill(topic, place)
            copies.drop_surplus(topic, place, now_ns)
            copies.assign(topic, place)
        self._save(topic)

    def register(self, topic: ClusterTopic, channel: str) -> None:
        """Create a channel on every partition of a topic."""
        topic.registered.append(channel)
        self._save(topic)
        for place in topic.places.values():
            led = topic.get_leading(place)
            if led is not None and place.leader is not None:
                place.leader.node.channel(led, channel)

    def unregister(self, topic: ClusterTopic, channel: str, now_ns: int) -> None:
        """Remove a channel from every partition of a topic, and disconnect its clients."""
        topic.registered.remove(channel)
        self._save(topic)
        for place in topic.places.values():
            led = topic.get_leading(place)
            if led is not None and channel in led.channels:
                led.remove_channel(channel)
        self._settle(now_ns)

    def set_writable(
        self, topic: ClusterTopic, place: PartitionReplicas, *, writable: bool
    ) -> None:
        """Make a partition writable or read-only."""
        place.writable = writable
        copies.assign(topic, place)
        self._save(topic)

    def take_down(self, member: Member, now_ns: int) -> None:
        """Stop a node; nodes in sync take over its partitions."""
        if not member.up:
            return
        held = self._list_held(member)
        led = {place for _, place in held if place.leader is member}
        member.node.be_reachable(False)
        changed: dict[ClusterTopic, None] = {}
        for topic, place in held:
            if copies.leave_behind(place, member):
                changed[topic] = None
            if place in led and place.leader is not None:
                copies.hand_over(topic, place, old=member, new=place.leader)
                place.replicas.sort(key=lambda each: each is member)
                changed[topic] = None
            copies.assign(topic, place)
        self._save(*changed)
        self._settle(now_ns)

    def bring_up(self, member: Member, now_ns: int) -> None:
        """Start a stopped node; it copies the records it missed."""
        member.node.be_reachable(True)
        changed: dict[ClusterTopic, None] = {}
        for topic, place in self._list_held(member):
            if copies.catch_up(topic, place):
                changed[topic] = None
            copies.assign(topic, place)
        self._save(*changed)
        self._settle(now_ns)

    def restore(self, topics: Sequence[ClusterTopic], now_ns: int) -> None:
        """Restore the topics of an earlier run; other data on the nodes is removed.

        The node with the longest queue leads: the others were cut off when the run ended.
        """
        self._created = len(topics)
        self.topics = {topic.name: topic for topic in topics}
        for topic in topics:
            for place in topic.places.values():
                for member in place.replicas:
                    copies.hold(topic, place, member)
                copies.lead_with_the_longest(topic, place)
                place.in_sync = {place.replicas[0]}
                copies.catch_up(topic, place)
                copies.assign(topic, place)
        for member in self.members:
            self._remove_strangers(member, now_ns)

    def places(self) -> list[tuple[ClusterTopic, PartitionReplicas]]:
        """Return every partition of every topic, with its topic."""
        return [
            (topic, place) for topic in self.topics.values() for place in topic.places.values()
        ]

    def _fill(self, topic: ClusterTopic, place: PartitionReplicas) -> None:
        """Add replicas up to the wanted number, or to the number of nodes."""
        led = topic.get_leading(place)
        if led is None:
            return
        free = [each for each in self.members if each.up and each not in place.replicas]
        wanted = max(0, topic.settings.replicas - len(place.replicas))
        for member in free[:wanted]:
            copies.add(topic, place, member, led=led)

    def _next_leader(self, place: PartitionReplicas, old: Member) -> Member:
        after = self.members[old.number :] + self.members[: old.number - 1]
        able = [each for each in after if each.up]
        replicas = [each for each in able if each in place.in_sync]
        if not able:
            raise Impossible("there is no other node that could lead")
        return (replicas or able)[0]

    def _remove_strangers(self, member: Member, now_ns: int) -> None:
        for held in tuple(member.node.topics.values()):
            topic = self.topics.get(held.name)
            places = {} if topic is None else topic.places
            for number in tuple(held.partitions):
                if number not in places or member not in places[number].replicas:
                    member.node.remove(held, number, now_ns)

    def _list_held(self, member: Member) -> list[tuple[ClusterTopic, PartitionReplicas]]:
        """Return the partitions that a node has copies of."""
        return [place for place in self.places() if member in place[1].replicas]

    def _give_up(self, topic: ClusterTopic) -> None:
        """Remove a new topic that not every node could store."""
        del self.topics[topic.name]
        with suppress(OSError):
            self._keep({topic.name: None})
        for member in self.members:
            held = member.node.topics.pop(topic.name, None)
            for partition in held.partitions.values() if held else ():
                with suppress(OSError):
                    partition.close()

    def _save(self, *topics: ClusterTopic) -> None:
        if topics:
            self._keep(topic_rows.make_rows(topics))

    def _settle(self, now_ns: int) -> None:
        for member in self.members:
            member.node.settle(now_ns)
