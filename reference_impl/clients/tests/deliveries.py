"""What was sent against what was received and stored."""

from collections import defaultdict
from collections.abc import Iterable

from client_program import ClientProgram, Said
from served_cluster import Cluster


def wait_received(consumer: ClientProgram, due: Iterable[str]) -> list[Said]:
    """Wait until every body was received and return all deliveries."""
    wanted = set(due)
    consumer.wait(
        lambda: wanted <= {each.body for each in consumer.said("received")},
        f"delivery of {len(wanted)} bodies",
    )
    return consumer.said("received")


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
    """Tell whether every key has one partition, and its first deliveries the order sent."""
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


def places_rise(received: Iterable[Said]) -> bool:
    """Tell whether ids of every partition increase, and each message begins where one ended."""
    last: dict[str, Said] = {}
    for each in received:
        before = last.get(each.partition, each)
        if before is not each and not (
            before.id < each.id and before.offset + before.size == each.offset
        ):
            return False
        last[each.partition] = each
    return True
