"""Consumer groups of a topic: requests about them, and what a server answers.

The pages show the requests alone; the answers are those of server 0.9.0-edge.5.
"""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ul, Int64ul, Record, field
from wireproof_spec.grammar.lengths import Count, Each, Many
from wireproof_spec.iggy.apache.bodies.places import topic_fields
from wireproof_spec.iggy.bodies.consumer_groups import GROUP_MEMBER, GroupMember
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier
from wireproof_spec.iggy.bodies.text_fields import short_text
from wireproof_spec.iggy.names import NAME_BOUNDS


class CreateGroup(Struct, frozen=True, gc=False):
    """The body of a request to create a consumer group."""

    stream: Identifier
    topic: Identifier
    name: str


class GroupRequest(Struct, frozen=True, gc=False):
    """The body of a request to get, delete, join, leave or sync a consumer group."""

    stream: Identifier
    topic: Identifier
    group: Identifier


class Group(Struct, frozen=True, gc=False):
    """A consumer group in a reply: how many partitions its topic has, and how many members it."""

    id: int
    partitions_count: int
    members_count: int
    name: str


class GroupDetails(Struct, frozen=True, gc=False):
    """The reply to a request for one group: the group, and its members."""

    group: Group
    members: tuple[GroupMember, ...]


class Groups(Struct, frozen=True, gc=False):
    """The reply to a request for all groups of a topic."""

    groups: tuple[Group, ...]


class Assignment(Struct, frozen=True, gc=False):
    """The reply to a sync: the partitions of the member that asks."""

    generation: int
    partitions: tuple[int, ...]


CREATE_GROUP = Schema(
    "apache create_consumer_group",
    "iggy.apache.reply.result",
    CreateGroup,
    Record(CreateGroup, *topic_fields(), *short_text("name", bounds=NAME_BOUNDS)),
)
"""`stream`, `topic`, 1-byte `name_length`, `name`."""
GROUP_REQUEST = Schema(
    "apache group request",
    "iggy.apache.reply.result",
    GroupRequest,
    Record(GroupRequest, *topic_fields(), field("group", IDENTIFIER.shape)),
)
"""`stream`, `topic`, `group`."""
GROUP = Schema(
    "apache consumer group",
    "iggy.apache.group.described",
    Group,
    Record(
        Group,
        field("id", Int32ul),
        field("partitions_count", Int32ul),
        field("members_count", Int32ul),
        *short_text("name"),
    ),
)
"""`id`, `partitions_count`, `members_count` (4 bytes each), 1-byte `name_length`, `name`."""
GROUP_DETAILS = Schema(
    "apache consumer group details",
    "iggy.apache.group.described",
    GroupDetails,
    Record(GroupDetails, field("group", GROUP.shape), field("members", Each(GROUP_MEMBER.shape))),
)
"""A group, then for each member 4-byte `id`, 4-byte `partitions_count`, so many times 4 bytes."""
GROUPS = Schema(
    "apache consumer groups",
    "iggy.apache.group.described",
    Groups,
    Record(Groups, field("groups", Each(GROUP.shape))),
)
"""Groups one after the other."""
ASSIGNMENT = Schema(
    "apache assignment",
    "iggy.apache.group.sync",
    Assignment,
    Record(
        Assignment,
        field("generation", Int64ul),
        field("partitions_count", Count(Int32ul, of="partitions")),
        field("partitions", Many(Int32ul, count=this.partitions_count)),
    ),
)
"""8-byte `generation`, 4-byte `partitions_count`, so many times 4 bytes."""
