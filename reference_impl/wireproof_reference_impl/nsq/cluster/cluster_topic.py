"""A topic of the cluster, and the nodes that hold its partitions."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.cluster.rules import TopicDemand
from wireproof_reference_impl.nsq.core.topic import Partition


class Settings(Struct, frozen=True):
    """The settings of a topic at its creation; repeating the creation must use the same ones."""

    partitions: int
    replicas: int
    extend: bool = False
    ordered: bool = False
    multi_part: bool = False
    channels_made: bool = True
    load: int = 0
    sync_every: int = 0
    retention_days: int = 0

    @property
    def wanted(self) -> TopicDemand:
        """Return the number of replicas and partitions that the topic needs."""
        return TopicDemand(self.partitions, self.replicas, self.ordered or self.multi_part)


class PartitionReplicas:
    """The nodes that hold one partition, the leader first, and which of them are in sync."""

    def __init__(self, number: int, replicas: Sequence[Member]) -> None:
        self.number = number
        self.replicas = list(replicas)
        self.in_sync = set(replicas)
        self.writable = True

    @property
    def leader(self) -> Member | None:
        """The node that leads the partition; None if no node with every record is up."""
        for replica in self.replicas:
            if (
                replica.node.open and replica in self.in_sync
            ):  # not `up`: a list of nodes asks thousands
                return replica
        return None

    def lead_first(self) -> None:
        """Move the leading node, if there is one, to the front of the replicas."""
        leader = self.leader
        if leader is not None:
            self.replicas.sort(key=lambda each: each is not leader)


class ClusterTopic:
    """A topic of a cluster: its settings, and the replicas of its partitions.

    `registered` are the channels created by name, for topics where subscribing creates none.
    """

    def __init__(self, name: str, settings: Settings, places: Iterable[PartitionReplicas]) -> None:
        self.name = name
        self.settings = settings
        self.places = {place.number: place for place in places}
        self.paused_until_ns = 0
        self.registered: list[str] = []

    def upgrade(self) -> None:
        """Set the extend feature of the topic."""
        self.settings = replace(self.settings, extend=True)

    def partition(self, place: PartitionReplicas, member: Member) -> Partition:
        """Return a node's copy of a partition."""
        return member.node.topics[self.name].partitions[place.number]

    def get_leading(self, place: PartitionReplicas) -> Partition | None:
        """Return the leader's copy of a partition, or None without a leader."""
        return None if place.leader is None else self.partition(place, place.leader)


def spread(members: Sequence[Member], settings: Settings, first: int) -> list[PartitionReplicas]:
    """Return the replicas of a topic's partitions, assigned to the nodes in turn.

    A partition's followers are on the nodes after its leader.
    """
    return [
        PartitionReplicas(
            number,
            [members[(first + number + i) % len(members)] for i in range(settings.replicas)],
        )
        for number in range(settings.partitions)
    ]
