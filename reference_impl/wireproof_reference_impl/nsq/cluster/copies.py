"""The copies of a partition: which nodes hold one, which leads, how the others catch up."""

from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, PartitionReplicas
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.core.topic import Partition


def hold(topic: ClusterTopic, place: PartitionReplicas, member: Member) -> None:
    """Add a copy of a partition to a node."""
    settings = topic.settings
    numbers = range(place.number, place.number + 1)
    held = member.node.create(
        topic.name, numbers, extend=settings.extend, ordered=settings.ordered
    )
    held.channels_made = settings.channels_made
    if settings.extend and not held.extend:
        member.node.upgrade(held)


def assign(topic: ClusterTopic, place: PartitionReplicas) -> None:
    """Let each node that holds a partition act as its leader or as a follower."""
    leader = place.leader
    followers = [replica for replica in place.replicas if replica is not leader]
    for member in followers:
        topic.partition(place, member).follow()
    if leader is not None:
        topic.partition(place, leader).lead(
            writable=place.writable,
            followers=[
                topic.partition(place, follower)
                for follower in followers
                if follower in place.in_sync
            ],
        )


def add(topic: ClusterTopic, place: PartitionReplicas, member: Member, *, led: Partition) -> None:
    """Add a copy of a partition to a node, with every record of the leader."""
    hold(topic, place, member)
    copy_missing(led, topic.partition(place, member))
    place.replicas.append(member)
    place.in_sync.add(member)


def drop_surplus(topic: ClusterTopic, place: PartitionReplicas, now_ns: int) -> None:
    """Remove a partition from nodes in excess of its replica count."""
    surplus = place.replicas[topic.settings.replicas :]
    del place.replicas[topic.settings.replicas :]
    for member in surplus:
        place.in_sync.discard(member)
        member.node.remove(member.node.topics[topic.name], place.number, now_ns)


def leave_behind(place: PartitionReplicas, member: Member) -> bool:
    """Remove a node from a partition's in-sync set, unless it is the only one.

    Return True if it was removed.
    """
    if place.in_sync <= {member}:
        return False
    place.in_sync.discard(member)
    return True


def catch_up(topic: ClusterTopic, place: PartitionReplicas) -> bool:
    """Append missing records to the copies on nodes that are up; return True if any were."""
    led = topic.get_leading(place)
    if led is None:
        return False
    behind = [replica for replica in place.replicas if replica.up and replica not in place.in_sync]
    for member in behind:
        copy_missing(led, topic.partition(place, member))
        place.in_sync.add(member)
    return bool(behind)


def lead_with_the_longest(topic: ClusterTopic, place: PartitionReplicas) -> None:
    """Make the node with the longest copy of a partition the leader; of equals, one in sync."""
    first = place.replicas[0]
    place.replicas.sort(key=lambda each: each not in place.in_sync)
    place.replicas.sort(key=lambda each: -topic.partition(place, each).log.end)
    if place.replicas[0] is not first:
        hand_over(topic, place, old=first, new=place.replicas[0])
    for member in place.replicas[1:]:
        topic.partition(place, member).forget_channels()


def hand_over(topic: ClusterTopic, place: PartitionReplicas, *, old: Member, new: Member) -> None:
    """Move a partition's channels to another node, each from where all messages are finished."""
    left = topic.partition(place, old)
    for name, channel in left.channels.items():
        moved = new.node.adopt(topic.partition(place, new), name, channel.read_confirmed())
        moved.ordered = channel.ordered
    left.follow()
    left.forget_channels()


def copy_missing(led: Partition, behind: Partition) -> None:
    """Append the leader's records that a copy lacks; a copy longer by a fault lacks none."""
    if behind.log.end >= led.log.end:
        return
    for _, record in led.log.read_from(behind.log.end):
        behind.copy(record)
