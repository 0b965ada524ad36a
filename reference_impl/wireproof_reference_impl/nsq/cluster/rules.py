"""Choices of the cluster, with their defaults."""

from typing import NamedTuple


class TopicDemand(NamedTuple):
    """A topic's number of partitions and replicas; with `spread`, partitions may share a node."""

    partitions: int
    replicas: int
    spread: bool


def enough_nodes(wanted: TopicDemand, nodes: int) -> bool:
    """Return True if there are enough nodes for a topic: one for every replica of a partition.

    Topics created with orderedmulti or multipart may have several partitions on one node.
    """
    needed = wanted.replicas if wanted.spread else wanted.partitions * wanted.replicas
    return needed <= nodes
