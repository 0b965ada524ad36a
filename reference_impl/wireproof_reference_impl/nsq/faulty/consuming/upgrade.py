"""Faults of upgrading a topic: its old messages, and its rules."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest, support_rule
from wireproof_reference_impl.nsq.faulty.consuming.consume import with_body
from wireproof_reference_impl.nsq.faulty.consuming.subscribe import lenient, rule_extend
from wireproof_reference_impl.nsq.faulty.shared_overrides import storing_header, taking_header
from wireproof_reference_impl.nsq.preset import (
    CONDITION,
    MISSING,
    Preset,
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
    for each in records:
        _, timestamp_ns, _, internal_id, trace_id = packed.read_record(each)
        rest = part + each[_HEAD:]
        rewritten.append(
            packed.record(
                timestamp_ns, attempts, internal_id=internal_id, trace_id=trace_id, rest=rest
            )
        )
    return rewritten


def _indicated_records(records: list[bytes]) -> list[bytes]:
    """Set the indicator in old records, which have no ext part."""
    return [
        each[:_ATTEMPTS_AT] + _INDICATOR.to_bytes(2) + each[_ATTEMPTS_AT + 2 :] for each in records
    ]


def _first_indicated(records: list[bytes]) -> list[bytes]:
    return _indicated_records(records[:1]) + records[1:]


def _emptied_records(records: list[bytes]) -> list[bytes]:
    return [each[:_HEAD] + bytes(len(each) - _HEAD) for each in records]


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


def _only_for_born(header: bytes, topic: TopicKind) -> bytes | None:
    """Keep headers only on topics that had the extend feature from the start."""
    return header if topic.born_extend else None


def _no_records(records: list[bytes]) -> list[bytes]:
    return []


def _last_record(records: list[bytes]) -> list[bytes]:
    return records[-1:]


def _when_empty(original: Original, topic: Topic) -> None:
    if not topic.message_count:
        original(topic)


def _headers_when_empty(data: bytes, topic: TopicKind) -> bool:
    return topic.extend and not topic.old_messages


def _old_layout_for_old(message: Message) -> bytes:
    return b"" if message.old else message_parts.short_extend_part(message)


def _old_read_as_new(message: Message) -> bytes:
    """Read the first byte of an old body as the version of its ext part."""
    return message.body[1:] if message.old else message.body


def _born_kind(wish: SubscribeRequest) -> Refusal | None:
    return support_rule(wish._replace(topic_extend=wish.born_extend))


def _need_forgotten(wish: SubscribeRequest) -> Refusal | None:
    upgraded = wish.topic_extend and not wish.born_extend
    return None if upgraded else support_rule(wish)


def _need_forgotten_with_tag(wish: SubscribeRequest) -> Refusal | None:
    upgraded = wish.topic_extend and not wish.born_extend
    return None if upgraded and wish.identity.desired_tag else support_rule(wish)


_UPGRADED = "disk.upgraded"
_ACCEPT = "upgrade.accept"
_OLD = "upgrade.old-messages"
_RULES = "upgrade.subscribe-rules"

FAULTS: tuple[Preset, ...] = (
    missing(
        "upgrade-loses-records",
        "upgrading a topic to ext deletes its stored messages",
        breaks=_OLD,
        overrides=_override_rewrite(_no_records),
    ),
    boundary(
        "upgrade-keeps-one-record",
        "upgrading a topic to ext keeps only the last of its stored messages",
        breaks=_OLD,
        overrides=_override_rewrite(_last_record),
    ),
    wrong_value(
        "upgrade-indicates-old-records",
        "upgrading a topic to ext sets the indicator bits in old records, which have no ext part",
        breaks=f"{_UPGRADED} {_OLD}",
        overrides=_override_rewrite(_indicated_records),
    ),
    boundary(
        "upgrade-indicates-the-first-record",
        "upgrading a topic to ext sets the indicator bits in its first record, which has no ext "
        "part",
        breaks=f"{_UPGRADED} {_OLD}",
        overrides=_override_rewrite(_first_indicated),
    ),
    wrong_value(
        "upgrade-empties-records",
        "upgrading a topic to ext overwrites the bodies of its stored messages with zeros",
        breaks=_OLD,
        overrides=_override_rewrite(_emptied_records),
    ),
    extra(
        "upgrade-versions-old-records",
        "upgrading a topic to ext inserts an ext version into old records without the indicator "
        "bits",
        breaks=f"{_UPGRADED} {_OLD}",
        overrides=_override_rewrite(lambda records: _with_part(records, b"\0", 0)),
    ),
    extra(
        "upgrade-gives-headers-to-old-records",
        "upgrading a topic to ext gives its stored messages an empty JSON header",
        breaks=f"{_UPGRADED} {_OLD}",
        overrides=_override_rewrite(
            lambda records: _with_part(records, packed.extend_part(4, b"{}"), _INDICATOR)
        ),
    ),
    condition(
        "upgrade-not-done-when-used",
        "upgrading a topic that has messages is answered with success but not done",
        breaks=f"{_ACCEPT} {_OLD}",
        overrides=(around(Topic, "upgrade", _when_empty),),
    ),
    wrong_value(
        "upgrade-refuses-headers-when-used",
        "a topic that had messages before its upgrade to ext still refuses headers",
        breaks=_ACCEPT,
        may_break="upgrade.old-messages",
        overrides=(taking_header(_headers_when_empty),),
    ),
    missing(
        "upgrade-loses-headers",
        "headers published after a topic's upgrade to ext are lost",
        breaks=_ACCEPT,
        may_break=(
            "disk.upgraded upgrade.old-messages upgrade.open-subscription upgrade.subscribe-rules"
        ),
        overrides=(storing_header(_only_for_born),),
    ),
    missing(
        "upgrade-old-layout-for-old",
        "messages from before a topic's upgrade to ext are delivered without an ext part",
        breaks=_OLD,
        settings={"delivery.extend": _old_layout_for_old},
    ),
    wrong_value(
        "upgrade-old-read-as-new",
        "messages from before a topic's upgrade to ext lose their first byte",
        breaks=_OLD,
        may_break="consume.plain-topic subscribe.support-refused subscribe.tag-ignored",
        overrides=with_body(_old_read_as_new),
    ),
    wrong_value(
        "upgrade-keeps-old-rules",
        "after its upgrade to ext, a topic still refuses and accepts subscribers as before",
        breaks=_RULES,
        overrides=rule_extend(_born_kind),
    ),
    lenient(
        "upgrade-needs-no-support",
        "a topic upgraded to ext accepts clients without extend_support",
        _need_forgotten,
        way=MISSING,
        breaks=_RULES,
    ),
    lenient(
        "upgrade-needs-no-support-with-tag",
        "a topic upgraded to ext accepts clients with a desired tag without extend_support",
        _need_forgotten_with_tag,
        way=CONDITION,
        breaks=_RULES,
    ),
)
