"""Consumer groups: who is a member, and which partition a member's request means."""

from typing import TypeVar

from msgspec.structs import replace

from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Denied, Rejected
from wireproof_reference_impl.iggy.apache.topics import Group, Topic, find, lowest_free
from wireproof_spec.decoding import Schema, decode, encode
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.bodies import groups as bodies
from wireproof_spec.iggy.apache.bodies.messages import (
    DeleteConsumerOffset,
    GetConsumerOffset,
    PollMessages,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.bodies.places import TOPIC_REQUEST, one_partition
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_groups import GroupMember
from wireproof_spec.iggy.bodies.identifier import Identifier, numeric
from wireproof_spec.iggy.kinds import GROUP_KIND
from wireproof_spec.wire_error import WireError

Body = TypeVar("Body")
OfConsumer = TypeVar(
    "OfConsumer", PollMessages, GetConsumerOffset, StoreConsumerOffset, DeleteConsumerOffset
)


def create(node: Node, body: bytes, now_us: int) -> bytes:
    """Create a group without members and return the payload that describes it."""
    request = _read(bodies.CREATE_GROUP, body)
    topic = _topic(node, request.stream, request.topic)
    if any(each.name == request.name for each in topic.groups.values()):
        raise Rejected(statuses.CONSUMER_GROUP_NAME_ALREADY_EXISTS)
    group = Group(lowest_free(topic.groups), request.name)
    topic.groups[group.id] = group
    return encode(bodies.GROUP, describe(topic, group))


def delete(node: Node, body: bytes, now_us: int) -> bytes:
    """Delete a group with the offsets that it has stored."""
    topic, group = _group(node, body)
    del topic.groups[group.id]
    forget(topic, group)
    return b""


def forget(topic: Topic, group: Group) -> None:
    """Delete the offsets that a group has stored."""
    for partition in topic.partitions:
        if partition.stored_offset(GROUP_KIND, group.id) is not None:
            partition.delete_offset(GROUP_KIND, group.id)


def join(node: Node, body: bytes, now_us: int) -> bytes:
    """Make the client a member of a group; one that is a member stays it."""
    _group(node, body)[1].join(node.asking)
    return b""


def leave(node: Node, body: bytes, now_us: int) -> bytes:
    """Remove the client from the members of a group."""
    group = _group(node, body)[1]
    if node.asking not in group.members:
        raise Rejected(statuses.CONSUMER_GROUP_MEMBER_NOT_FOUND)
    group.leave(node.asking)
    return b""


def get(node: Node, body: bytes) -> bytes:
    """Return the body that describes a group and its members; no bytes for an unknown one."""
    try:
        topic, group = _group(node, body)
    except Rejected:
        return b""
    members = tuple(
        GroupMember(number, tuple(group.share(member, len(topic.partitions))))
        for number, member in enumerate(group.members)
    )
    return encode(bodies.GROUP_DETAILS, bodies.GroupDetails(describe(topic, group), members))


def get_all(node: Node, body: bytes) -> bytes:
    """Return the body that describes all groups of a topic."""
    request = _read(TOPIC_REQUEST, body)
    topic = node.topic(request.stream, request.topic)
    every = (topic.groups[number] for number in sorted(topic.groups))
    return b"".join(encode(bodies.GROUP, describe(topic, each)) for each in every)


def sync(node: Node, body: bytes) -> bytes:
    """Return the body that names the partitions of the client; no bytes for an unknown group."""
    try:
        topic, group = _group(node, body)
    except Rejected:
        return b""
    return encode(bodies.ASSIGNMENT, assign(topic, group, node.asking))


def assign(topic: Topic, group: Group, client: int) -> bodies.Assignment:
    """Return the partitions of a client as a reply names them."""
    share = group.share(client, len(topic.partitions))
    return bodies.Assignment(group.generation, tuple(share))


def describe(topic: Topic, group: Group) -> bodies.Group:
    """Return a group as a reply names it."""
    return bodies.Group(group.id, len(topic.partitions), len(group.members), group.name)


def resolve(node: Node, request: OfConsumer, *, as_member: bool = True) -> OfConsumer | None:
    """Return a request with the number of its group, and with the partition that it means.

    A request for a consumer stays as it is. None if the group does not exist, or if `as_member`
    and the partition is not one of the client's.

    Raises:
        Denied: stream or topic do not exist.
    """
    if request.consumer.kind != GROUP_KIND:
        return request
    topic = node.topic(request.stream, request.topic)
    who = request.consumer.id
    group = topic.groups.get(who) if isinstance(who, int) else find(who, topic.groups)
    if group is None:
        return None
    place = request.partition
    if as_member:
        share = group.share(node.asking, len(topic.partitions))
        if not place.flag and share:
            place = one_partition(group.take_turn(node.asking, share))
        if place.partition_id not in share:
            return None
    return replace(request, consumer=Consumer(GROUP_KIND, numeric(group.id)), partition=place)


def _group(node: Node, body: bytes) -> tuple[Topic, Group]:
    request = _read(bodies.GROUP_REQUEST, body)
    topic = _topic(node, request.stream, request.topic)
    group = find(request.group, topic.groups)
    if group is None:
        raise Rejected(statuses.CONSUMER_GROUP_ID_NOT_FOUND)
    return topic, group


def _topic(node: Node, stream: Identifier, topic: Identifier) -> Topic:
    try:
        return node.topic(stream, topic)
    except Denied as denied:
        raise Rejected(denied.status) from None


def _read(schema: Schema[Body], body: bytes) -> Body:
    try:
        return decode(schema, body)
    except WireError:
        raise Denied(statuses.INVALID_COMMAND) from None
