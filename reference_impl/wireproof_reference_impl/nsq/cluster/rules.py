"""Choices of the cluster, each as it is by default."""

from typing import NamedTuple


class TopicDemand(NamedTuple):
    """How much room a topic asks for; `spread` lets partitions share a node."""

    partitions: int
    replicas: int
    spread: bool


def enough_nodes(wanted: TopicDemand, nodes: int) -> bool:
    """Return True if a topic fits: a node for every replica of every partition.

    Topics made with orderedmulti or multipart may have several partitions on one node.
    """
    needed = wanted.replicas if wanted.spread else wanted.partitions * wanted.replicas
    return needed <= nodes
