"""What was sent against what was received and stored."""

from collections import defaultdict
from collections.abc import Iterable

from client_program import ClientProgram, Said
from served_cluster import Cluster

BETWEEN = 100
"""How many messages go out before, between and after what is done to a cluster."""


class Missing:
    """The bodies that were not received yet."""

    def __init__(self, consumer: ClientProgram, due: Iterable[str]) -> None:
        self._consumer = consumer
        self._due = set(due)

    def __str__(self) -> str:
        missing = sorted(self._now())
        return f"delivery of {len(missing)} of {len(self._due)} bodies: {missing[:5]}"

    def none(self) -> bool:
        """Return True if everything was received."""
        return not self._now()

    def _now(self) -> set[str]:
        return self._due - {each.body for each in self._consumer.said("received")}


def wait_received(consumer: ClientProgram, due: Iterable[str]) -> list[Said]:
    """Wait until every body was received and return all deliveries."""
    missing = Missing(consumer, due)
    consumer.wait(missing.none, missing)
    return consumer.said("received")


def await_more(producer: ClientProgram) -> None:
    """Wait until so many more messages are acknowledged."""
    due = len(producer.said("sent")) + BETWEEN
    producer.wait(lambda: len(producer.said("sent")) >= due, f"{due} acknowledged")


def all_sent(producer: ClientProgram) -> list[Said]:
    """Let the producer end and return what was acknowledged."""
    producer.finish()
    return producer.said("sent")


def bodies(lines: Iterable[Said]) -> list[str]:
    """Return the bodies, in order."""
    return [each.body for each in lines]


def traced(lines: Iterable[Said]) -> dict[str, tuple[int, int, int, int]]:
    """Return what tracing tells of each message: trace id, internal id, offset and size."""
    return {each.body: (each.trace, each.id, each.offset, each.size) for each in lines}


def counted(received: Iterable[Said]) -> dict[str, int]:
    """Return how many deliveries each partition made."""
    partitions = [each.partition for each in received]
    return {number: partitions.count(number) for number in sorted(set(partitions))}


def stored(cluster: Cluster, topic: str) -> dict[str, int]:
    """Return how many messages the leader of each partition keeps."""
    found = cluster.partitions(topic)
    return {number: found[number].message_count for number in sorted(found)}


def keys_of(sent: Iterable[Said]) -> dict[str, str]:
    """Return the sharding key of each body."""
    return {each.body: each.key for each in sent}


def in_order(sent: list[Said], received: Iterable[Said]) -> bool:
    """Return True if every key has one partition, and its first deliveries the order sent."""
    keys = keys_of(sent)
    partitions: dict[str, set[str]] = defaultdict(set)
    found: dict[str, list[str]] = defaultdict(list)
    due: dict[str, list[str]] = defaultdict(list)
    for each in received:
        key = keys[each.body]
        partitions[key].add(each.partition)
        if each.body not in found[key]:
            found[key].append(each.body)
    for each in sent:
        due[each.key].append(each.body)
    return found == due and all(len(each) == 1 for each in partitions.values())


def places_follow(received: Iterable[Said]) -> bool:
    """Return True if in each partition ids increase and each message begins where one ended.

    The topic is new, so the first message of a partition begins at 0.
    """
    ends: dict[str, int] = defaultdict(int)
    ids: dict[str, int] = defaultdict(int)
    for each in received:
        if each.offset != ends[each.partition] or each.id <= ids[each.partition]:
            return False
        ends[each.partition] = each.offset + each.size
        ids[each.partition] = each.id
    return True
