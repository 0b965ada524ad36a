"""Faults of consumer groups: their replies, members, partitions and offsets."""

from collections.abc import Sequence

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import groups, messages, replies
from wireproof_reference_impl.iggy.apache.groups import OfConsumer
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.topics import Group, Topic
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    Reply,
    condition,
    extra,
    instead,
    missing,
    replied,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.bodies.groups import Assignment
from wireproof_spec.iggy.apache.header import ReplyHeader
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.kinds import GROUP_KIND

_DONE = bytes(4)


@missing("group.result", replied)
def joined_without_result(header: ReplyHeader, body: bytes) -> Reply:
    """The reply to a client that joins a consumer group has no body."""
    is_one = header.operation == operations.JOIN_CONSUMER_GROUP and body == _DONE
    return header, b"" if is_one else body


@wrong_value("group.result", replied)
def left_with_entry(header: ReplyHeader, body: bytes) -> Reply:
    """The result section for a client that leaves a consumer group has a count without entry."""
    is_one = header.operation == operations.LEAVE_CONSUMER_GROUP and body == _DONE
    return header, b"\x01\0\0\0" if is_one else body


@extra("group.result-rejected", instead(replies, "rejection"))
def group_rejection_with_payload(original: Original, code: int) -> bytes:
    """Behind the rejection of a request about a consumer group stands a byte."""
    is_one = code >= statuses.CONSUMER_GROUP_ID_NOT_FOUND
    rejection: bytes = original(code)
    return rejection + b"!" * is_one


@wrong_value("group.result-rejected", instead(replies, "rejection"))
def group_rejection_of_code_zero(original: Original, code: int) -> object:
    """The rejection of a request about a consumer group has the error code 0."""
    return original(0 if code >= statuses.CONSUMER_GROUP_ID_NOT_FOUND else code)


@missing("group.member group.left", instead(Group, "share"))
def last_partition_of_no_member(
    original: Original, group: Group, client: int, partitions: int
) -> object:
    """No member of a consumer group has the last partition of a topic of several."""
    return original(group, client, max(1, partitions - 1))


@condition("group.member group.left group.unset", instead(messages, "commit"))
def group_polls_store_nothing(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    """A poll of a member that is to store its offset stores none."""
    if consumer.kind != GROUP_KIND:
        original(partition, consumer, offset)


@missing("group.unset", instead(groups, "resolve"))
def unset_partition_of_group_unresolved(
    original: Original, node: Node, request: OfConsumer, **how: bool
) -> object:
    """A poll of a member that names no partition finds nothing."""
    is_one = request.consumer.kind == GROUP_KIND and not request.partition.flag
    return None if is_one else original(node, request, **how)


@missing("group.left", instead(Group, "leave"))
def members_never_leave(original: Original, group: Group, client: int) -> None:
    """A member of a consumer group that is gone keeps its partitions."""


@condition("group.left", instead(Node, "leave_groups"))
def closed_members_stay(original: Original, node: Node, client: int) -> None:
    """A member of a consumer group whose connection has ended keeps its partitions."""


@missing("group.offset", instead(groups, "resolve"))
def offset_for_each_member(
    original: Original, node: Node, request: OfConsumer, **how: bool
) -> object:
    """Each member of a consumer group has an offset of its own."""
    return _with_number(original(node, request, **how), node.asking & 0xFFFFFFFF)


@missing("group.own-offset", instead(groups, "resolve"))
def groups_share_offset(
    original: Original, node: Node, request: OfConsumer, **how: bool
) -> object:
    """All consumer groups of a topic share one stored offset."""
    return _with_number(original(node, request, **how), 0)


def _with_number(request: OfConsumer | None, number: int) -> OfConsumer | None:
    if request is None or request.consumer.kind != GROUP_KIND:
        return request
    return replace(request, consumer=Consumer(GROUP_KIND, numeric(number)))


@condition("group.own-offset", instead(groups, "forget"))
def deleted_group_keeps_offset(original: Original, topic: Topic, group: Group) -> None:
    """A consumer group has the offset of a group of its number that was deleted."""


@extra("group.stranger", instead(Group, "share"))
def strangers_are_members(
    original: Original, group: Group, client: int, partitions: int
) -> Sequence[int]:
    """A client that is no member of a consumer group polls all partitions in its name."""
    if client not in group.members:
        return range(partitions)
    share: Sequence[int] = original(group, client, partitions)
    return share


@wrong_value("group.described", instead(groups, "describe"))
def group_without_members_described(original: Original, topic: Topic, group: Group) -> object:
    """The description of a consumer group says that it has no member."""
    return replace(original(topic, group), members_count=0)


@wrong_value("group.sync", instead(groups, "assign"))
def all_partitions_assigned(
    original: Original, topic: Topic, group: Group, client: int
) -> Assignment:
    """The reply to a sync names all partitions to each member."""
    return Assignment(group.generation, tuple(range(len(topic.partitions))))


FAULTS = list_faults(__name__)
