"""Consumer groups: requests about them, and the responses of a published server."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ul, Record, field
from wireproof_spec.grammar.lengths import Count, Each, Many
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier


class GroupRequest(Struct, frozen=True, gc=False):
    """The payload to get, create, delete, join or leave a consumer group; no group has id 0."""

    stream: Identifier
    topic: Identifier
    group_id: int


class ConsumerGroup(Struct, frozen=True, gc=False):
    """A consumer group in a response: its id, and how many partitions and members it has."""

    id: int
    partitions_count: int
    members_count: int


class ConsumerGroups(Struct, frozen=True, gc=False):
    """The response that lists all consumer groups of a topic; the list has no count."""

    groups: tuple[ConsumerGroup, ...]


class GroupMember(Struct, frozen=True, gc=False):
    """A member of a consumer group: its client id, and the partitions assigned to it."""

    id: int
    partitions: tuple[int, ...]


class ConsumerGroupDetails(Struct, frozen=True, gc=False):
    """The response that describes one consumer group and its members, in any order."""

    group: ConsumerGroup
    members: tuple[GroupMember, ...]


GROUP_REQUEST = Schema(
    "group request",
    "iggy.poll.group",
    GroupRequest,
    Record(
        GroupRequest,
        field("stream", IDENTIFIER.shape),
        field("topic", IDENTIFIER.shape),
        field("group_id", Int32ul),
    ),
)
"""`stream`, `topic`, 4-byte `group_id`."""

CONSUMER_GROUP = Schema(
    "consumer group",
    "iggy.poll.group",
    ConsumerGroup,
    Record(
        ConsumerGroup,
        field("id", Int32ul),
        field("partitions_count", Int32ul),
        field("members_count", Int32ul),
    ),
)
"""`id`, `partitions_count`, `members_count`, 4 bytes each."""

GROUP_MEMBER = Schema(
    "group member",
    "iggy.poll.group",
    GroupMember,
    Record(
        GroupMember,
        field("id", Int32ul),
        field("partitions_count", Count(Int32ul, of="partitions")),
        field("partitions", Many(Int32ul, count=this.partitions_count)),
    ),
)
"""4-byte `id`, 4-byte `partitions_count`, so many times 4 bytes."""

CONSUMER_GROUPS = Schema(
    "consumer groups",
    "iggy.poll.group",
    ConsumerGroups,
    Record(ConsumerGroups, field("groups", Each(CONSUMER_GROUP.shape))),
)
"""Groups one after the other."""

CONSUMER_GROUP_DETAILS = Schema(
    "consumer group details",
    "iggy.poll.group",
    ConsumerGroupDetails,
    Record(
        ConsumerGroupDetails,
        field("group", CONSUMER_GROUP.shape),
        field("members", Each(GROUP_MEMBER.shape)),
    ),
)
"""A group, then its members."""
