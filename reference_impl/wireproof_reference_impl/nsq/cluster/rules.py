"""Choices of the cluster, each as it is by default."""

from collections.abc import Sequence
from typing import NamedTuple

from wireproof_reference_impl.nsq.core.refusal import Refusal
from wireproof_spec.nsq import error_codes


class Wanted(NamedTuple):
    """How much room a topic asks for; `spread` lets partitions share a node."""

    partitions: int
    replicas: int
    spread: bool


def enough_nodes(wanted: Wanted, nodes: int) -> bool:
    """Tell whether a topic fits: a node for every replica of every partition.

    Topics made with orderedmulti or multipart may have several partitions on one node.
    """
    needed = wanted.replicas if wanted.spread else wanted.partitions * wanted.replicas
    return needed <= nodes


def whole_record(record: bytes) -> bytes | None:
    """Return what a follower keeps of a record: all of it."""
    return record


class Role(NamedTuple):
    """What a node is to a partition when a publish comes for it.

    `followed` and `led` tell what it has been to it, `barred` that it was unwritable once.
    """

    command: bytes
    leads: bool
    writable: bool
    followed: bool = False
    led: bool = False
    barred: bool = False


def by_role(role: Role) -> Refusal | None:
    """Return why a publish is refused: another node leads, or no messages are taken.

    Clause: smart.cluster
    """
    if not role.leads:
        return Refusal(error_codes.E_FAILED_ON_NOT_LEADER, fatal=False)
    if not role.writable:
        return Refusal(error_codes.E_FAILED_ON_NOT_WRITABLE, fatal=False)
    return None


def nowhere(here: Sequence[int]) -> int | None:
    """Return which partition of this node takes what is for one it does not keep: none."""
    return None


def next_id(first: int, due: int) -> int:
    """Return the internal id with which a leader begins: the one that is due."""
    return due
