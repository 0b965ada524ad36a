"""Faults of upgrading a topic: its old messages, and its rules."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.core.commands import publish_ext
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest, support_rule
from wireproof_reference_impl.nsq.faulty.consuming.consume import with_body
from wireproof_reference_impl.nsq.faulty.consuming.subscribe import lenient, rule_extend
from wireproof_reference_impl.nsq.faulty.shared_overrides import storing_header, taking_header
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around

_INDICATOR = packed.EXTEND_INDICATOR
_ATTEMPTS_AT = 12
_HEAD = 4 + packed.MESSAGE_HEAD_BYTES


def _with_part(records: list[bytes], part: bytes, attempts: int) -> list[bytes]:
    """Add an ext part to records that have none."""
    rewritten: list[bytes] = []
    for record in records:
        _, timestamp_ns, _, internal_id, trace_id = packed.read_record(record)
        rest = part + record[_HEAD:]
        rewritten.append(
            packed.record(
                timestamp_ns, attempts, internal_id=internal_id, trace_id=trace_id, rest=rest
            )
        )
    return rewritten


def _indicated_records(records: list[bytes]) -> list[bytes]:
    """Set the indicator in old records, which have no ext part."""
    return [
        record[:_ATTEMPTS_AT] + _INDICATOR.to_bytes(2) + record[_ATTEMPTS_AT + 2 :]
        for record in records
    ]


def _override_rewrite(rewritten: Callable[[list[bytes]], list[bytes]]) -> tuple[Override, ...]:
    """Return overrides under which an upgrade rewrites the old records."""

    def upgrade(original: Original, node: Node, topic: Topic) -> None:
        original(node, topic)
        for partition in topic.partitions.values():
            _rewrite(node, partition, rewritten)

    return (around(Node, "upgrade", upgrade),)


def _rewrite(
    node: Node, partition: Partition, rewritten: Callable[[list[bytes]], list[bytes]]
) -> None:
    """Replace a partition's records; every channel starts at their beginning."""
    records = rewritten([record for _, record in partition.log.read_from(0)])
    partition.log.close()
    partition.log = node.storage.replace_log(partition.topic.name, partition.number, records)
    for channel in partition.channels.values():
        channel.backlog = partition.backlog(0, 0)
        channel.next_held = None
        channel.returned.clear()
    partition.stale = True


@missing("upgrade.old-messages", _override_rewrite)
def upgrade_loses_records(records: list[bytes]) -> list[bytes]:
    """Upgrading a topic to ext deletes its stored messages."""
    return []


@boundary("upgrade.old-messages", _override_rewrite)
def upgrade_keeps_one_record(records: list[bytes]) -> list[bytes]:
    """Upgrading a topic to ext keeps only the last of its stored messages."""
    return records[-1:]


@wrong_value("disk.upgraded upgrade.old-messages")
def upgrade_indicates_old_records() -> Change:
    """Upgrading a topic to ext sets the indicator bits in old records, which have no ext part."""
    return _override_rewrite(_indicated_records)


@boundary("disk.upgraded upgrade.old-messages", _override_rewrite)
def upgrade_indicates_the_first_record(records: list[bytes]) -> list[bytes]:
    """Upgrading a topic to ext sets the indicator bits in its first record, which has no ext
    part.
    """
    return _indicated_records(records[:1]) + records[1:]


@wrong_value("upgrade.old-messages", _override_rewrite)
def upgrade_empties_records(records: list[bytes]) -> list[bytes]:
    """Upgrading a topic to ext overwrites the bodies of its stored messages with zeros."""
    return [record[:_HEAD] + bytes(len(record) - _HEAD) for record in records]


@extra("disk.upgraded upgrade.old-messages", _override_rewrite)
def upgrade_versions_old_records(records: list[bytes]) -> list[bytes]:
    """Upgrading a topic to ext inserts an ext version into old records without the indicator
    bits.
    """
    return _with_part(records, b"\0", 0)


@extra("disk.upgraded upgrade.old-messages", _override_rewrite)
def upgrade_gives_headers_to_old_records(records: list[bytes]) -> list[bytes]:
    """Upgrading a topic to ext gives its stored messages an empty JSON header."""
    return _with_part(records, packed.extend_part(4, b"{}"), _INDICATOR)


@condition("upgrade.accept upgrade.old-messages", around(Topic, "upgrade"))
def upgrade_not_done_when_used(original: Original, topic: Topic) -> None:
    """Upgrading a topic that has messages is answered with success but not done."""
    if not topic.message_count:
        original(topic)


@wrong_value("upgrade.accept", taking_header)
def upgrade_refuses_headers_when_used(data: bytes, topic: TopicKind) -> bool:
    """A topic that had messages before its upgrade to ext still refuses headers."""
    return topic.extend and not topic.old_messages


@missing("upgrade.accept", storing_header)
def upgrade_loses_headers(header: bytes, topic: TopicKind) -> bytes | None:
    """Headers published after a topic's upgrade to ext are lost."""
    return header if topic.born_extend else None


@condition("upgrade.accept", around(publish_ext, "read_header"))
def upgrade_of_the_first_partition_alone(
    original: Original, connection: Connection, partition: Partition, data: bytes
) -> object:
    """After a topic's upgrade to ext, all its partitions but the first refuse headers."""
    topic = partition.topic
    if partition.number and topic.extend and not topic.born_extend:
        raise publish_ext.not_supported(topic)
    return original(connection, partition, data)


@missing("upgrade.old-messages", setting("delivery.extend"))
def upgrade_old_layout_for_old(message: Message) -> bytes:
    """Messages from before a topic's upgrade to ext are delivered without an ext part."""
    return b"" if message.old else message_parts.short_extend_part(message)


@wrong_value("upgrade.old-messages", with_body)
def upgrade_old_read_as_new(message: Message) -> bytes:
    """Messages from before a topic's upgrade to ext lose their first byte."""
    return message.body[1:] if message.old else message.body


@wrong_value("upgrade.subscribe-rules", rule_extend)
def upgrade_keeps_old_rules(wish: SubscribeRequest) -> Refusal | None:
    """After its upgrade to ext, a topic still refuses and accepts subscribers as before."""
    return support_rule(wish._replace(topic_extend=wish.born_extend))


@missing("upgrade.subscribe-rules", lenient)
def upgrade_needs_no_support(wish: SubscribeRequest) -> Refusal | None:
    """A topic upgraded to ext accepts clients without extend_support."""
    upgraded = wish.topic_extend and not wish.born_extend
    return None if upgraded else support_rule(wish)


@condition("upgrade.subscribe-rules", lenient)
def upgrade_needs_no_support_with_tag(wish: SubscribeRequest) -> Refusal | None:
    """A topic upgraded to ext accepts clients with a desired tag without extend_support."""
    upgraded = wish.topic_extend and not wish.born_extend
    return None if upgraded and wish.identity.desired_tag else support_rule(wish)


FAULTS = list_faults(__name__)
