"""Faults of messages on disk and of upgrading a topic."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core import delivery, packed, record
from wireproof_reference_impl.nsq.core.message import Entry, Message
from wireproof_reference_impl.nsq.core.refusal import Refusal
from wireproof_reference_impl.nsq.core.subscribe_rules import Wish, support_rule
from wireproof_reference_impl.nsq.core.upgrading import TopicKind, Upgradable
from wireproof_reference_impl.nsq.preset import Preset, fault

_INDICATOR = packed.EXTEND_INDICATOR
_ATTEMPTS_AT = 12
_HEAD = 4 + packed.MESSAGE_HEAD_BYTES
_LARGE = 200

Rest = Callable[[Entry, int], bytes]


def _stored(rest: Rest) -> Settings:
    """Return settings under which the bytes behind the id of a record on an ext topic are so."""

    def build(
        entry: Entry, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        return packed.record(
            timestamp_ns,
            _INDICATOR if extend else 0,
            internal_id=internal_id,
            trace_id=entry.trace_id,
            rest=rest(entry, version) if extend else entry.body,
        )

    return {"disk.build": build}


def _indicated(attempts: Callable[[Entry, bool], int]) -> Settings:
    """Return settings under which records have these attempts, given the kind of topic."""

    def build(
        entry: Entry, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        part = record.extend_part(entry, version) if extend else b""
        return packed.record(
            timestamp_ns,
            attempts(entry, extend),
            internal_id=internal_id,
            trace_id=entry.trace_id,
            rest=part + entry.body,
        )

    return {"disk.build": build}


def _with_header(part: Rest) -> Settings:
    """Return settings under which the ext part of records with a header is so."""

    def rest(entry: Entry, version: int) -> bytes:
        if entry.header is None:
            return record.extend_part(entry, version) + entry.body
        return part(entry, version) + entry.body

    return _stored(rest)


def _header(entry: Entry) -> bytes:
    return entry.header or b""


def _little_endian(entry: Entry, version: int) -> bytes:
    return pack("<BH", version, len(_header(entry))) + _header(entry)


def _wide_length(entry: Entry, version: int) -> bytes:
    return pack(">BI", version, len(_header(entry))) + _header(entry)


def _no_length(entry: Entry, version: int) -> bytes:
    return bytes([version]) + _header(entry)


def _ids_swapped(
    entry: Entry, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
) -> bytes:
    return record.build(
        entry._replace(trace_id=internal_id),
        timestamp_ns,
        internal_id=entry.trace_id,
        extend=extend,
        version=version,
    )


def _on_large_plain(attempts: int, part: bytes = b"") -> Settings:
    """Return settings under which records of plain topics with larger bodies are so."""

    def build(
        entry: Entry, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        if extend or len(entry.body) < _LARGE:
            return record.build(
                entry, timestamp_ns, internal_id=internal_id, extend=extend, version=version
            )
        return packed.record(
            timestamp_ns,
            attempts,
            internal_id=internal_id,
            trace_id=entry.trace_id,
            rest=part + entry.body,
        )

    return {"disk.build": build}


def _with_part(records: list[bytes], part: bytes, attempts: int) -> list[bytes]:
    """Put an ext part into records that have none."""
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


def _emptied_records(records: list[bytes]) -> list[bytes]:
    return [each[:_HEAD] + bytes(len(each) - _HEAD) for each in records]


def _rewriting(rewritten: Callable[[list[bytes]], list[bytes]]) -> Settings:
    """Return settings under which an upgrade makes the old records anew."""
    return {"upgrade.records": rewritten}


def _only_for_born(header: bytes, topic: TopicKind) -> bytes | None:
    """Keep headers only on topics that had the extend feature from the start."""
    return header if topic.born_extend else None


def _no_records(records: list[bytes]) -> list[bytes]:
    return []


def _last_record(records: list[bytes]) -> list[bytes]:
    return records[-1:]


def _when_empty(topic: Upgradable) -> None:
    """Upgrade a topic without messages; answer and do nothing for any other."""
    if not topic.message_count:
        topic.upgrade()


def _headers_when_empty(data: bytes, topic: TopicKind) -> bool:
    return topic.extend and not topic.old_messages


def _old_layout_for_old(message: Message) -> bytes:
    return b"" if message.old else delivery.short_extend_part(message)


def _old_read_as_new(message: Message) -> bytes:
    """Take the first byte of an old body for the version of its ext part."""
    return message.body[1:] if message.old else message.body


def _born_kind(wish: Wish) -> Refusal | None:
    return support_rule(wish._replace(topic_extend=wish.born_extend))


def _need_forgotten(wish: Wish) -> Refusal | None:
    upgraded = wish.topic_extend and not wish.born_extend
    return None if upgraded else support_rule(wish)


def _need_forgotten_with_tag(wish: Wish) -> Refusal | None:
    upgraded = wish.topic_extend and not wish.born_extend
    return None if upgraded and wish.identity.desired_tag else support_rule(wish)


_LAYOUT = "disk.layout"
_INDICATED = "disk.indicator"
_PLAIN = "disk.plain-record"
_UPGRADED = "disk.upgraded"
_ACCEPT = "upgrade.accept"
_OLD = "upgrade.old-messages"
_RULES = "upgrade.subscribe-rules"

FAULTS: tuple[Preset, ...] = (
    fault(
        "disk-length-little-endian",
        "the length of ext is stored in little-endian byte order",
        breaks=_LAYOUT,
        may_break="disk.indicator disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_with_header(_little_endian),
    ),
    fault(
        "disk-length-of-4-bytes",
        "the length of ext takes 4 bytes on disk",
        breaks=_LAYOUT,
        may_break="disk.upgraded upgrade.subscribe-rules",
        settings=_with_header(_wide_length),
    ),
    fault(
        "disk-length-missing",
        "the ext data is stored without its length",
        breaks=_LAYOUT,
        may_break="disk.indicator disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_with_header(_no_length),
    ),
    fault(
        "disk-ext-behind-body",
        "the ext part is stored behind the body",
        breaks=_LAYOUT,
        may_break=(
            "disk.indicator disk.no-ext-record disk.upgraded upgrade.accept "
            "upgrade.subscribe-rules"
        ),
        settings=_stored(lambda entry, version: entry.body + record.extend_part(entry, version)),
    ),
    fault(
        "disk-ids-swapped",
        "the trace id is stored before the internal id",
        breaks=_LAYOUT,
        may_break="consume.no-header disk.no-ext-record upgrade.accept upgrade.subscribe-rules",
        settings={"disk.build": _ids_swapped},
    ),
    fault(
        "disk-indicator-missing",
        "no record has the indicator",
        breaks=_INDICATED,
        may_break="disk.layout disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_indicated(lambda entry, extend: 0),
    ),
    fault(
        "disk-indicator-in-low-bits",
        "the indicator is stored in the low bits of attempts",
        breaks=_INDICATED,
        may_break="disk.layout disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_indicated(lambda entry, extend: _INDICATOR >> 12 if extend else 0),
    ),
    fault(
        "disk-indicator-not-with-header",
        "records with a header lack the indicator",
        breaks=_INDICATED,
        may_break="disk.layout disk.no-ext-record disk.upgraded upgrade.subscribe-rules",
        settings=_indicated(
            lambda entry, extend: _INDICATOR if extend and entry.header is None else 0
        ),
    ),
    fault(
        "disk-indicator-on-plain",
        "records of plain topics with bodies from 200 bytes on have the indicator",
        breaks=_PLAIN,
        may_break="disk.upgraded",
        settings=_on_large_plain(_INDICATOR),
    ),
    fault(
        "disk-version-on-plain",
        "records of plain topics with bodies from 200 bytes on have a version of ext",
        breaks=_PLAIN,
        may_break="disk.upgraded",
        settings=_on_large_plain(0, b"\0"),
    ),
    fault(
        "disk-ext-part-on-plain",
        "records of plain topics with bodies from 200 bytes on stand as on an ext topic",
        breaks=_PLAIN,
        may_break="disk.upgraded",
        settings=_on_large_plain(_INDICATOR, b"\0"),
    ),
    fault(
        "upgrade-loses-records",
        "an upgrade removes the old records",
        breaks=_OLD,
        settings=_rewriting(_no_records),
    ),
    fault(
        "upgrade-keeps-one-record",
        "an upgrade keeps only the last of the old records",
        breaks=_OLD,
        settings=_rewriting(_last_record),
    ),
    fault(
        "upgrade-indicates-old-records",
        "an upgrade sets the indicator on old records that have no ext part",
        breaks=f"{_UPGRADED} {_OLD}",
        settings=_rewriting(_indicated_records),
    ),
    fault(
        "upgrade-empties-records",
        "an upgrade overwrites the bodies of old records with zeros",
        breaks=_OLD,
        settings=_rewriting(_emptied_records),
    ),
    fault(
        "upgrade-versions-old-records",
        "an upgrade puts a version of ext into old records and no indicator",
        breaks=f"{_UPGRADED} {_OLD}",
        settings=_rewriting(lambda records: _with_part(records, b"\0", 0)),
    ),
    fault(
        "upgrade-gives-headers-to-old-records",
        "an upgrade gives old records an empty JSON header",
        breaks=f"{_UPGRADED} {_OLD}",
        settings=_rewriting(
            lambda records: _with_part(records, packed.extend_part(4, b"{}"), _INDICATOR)
        ),
    ),
    fault(
        "upgrade-not-done-when-used",
        "the upgrade of a topic that has messages is answered and not done",
        breaks=f"{_ACCEPT} {_OLD}",
        settings={"upgrade.apply": _when_empty},
    ),
    fault(
        "upgrade-refuses-headers-when-used",
        "an upgraded topic that had messages still refuses headers",
        breaks=_ACCEPT,
        may_break="upgrade.old-messages",
        settings={"publish.takes_header": _headers_when_empty},
    ),
    fault(
        "upgrade-loses-headers",
        "headers published after an upgrade are lost",
        breaks=_ACCEPT,
        may_break=(
            "disk.upgraded upgrade.old-messages upgrade.open-subscription upgrade.subscribe-rules"
        ),
        settings={"publish.stored_header": _only_for_born},
    ),
    fault(
        "upgrade-old-layout-for-old",
        "messages from before an upgrade are delivered without an ext part",
        breaks=_OLD,
        settings={"delivery.extend": _old_layout_for_old},
    ),
    fault(
        "upgrade-old-read-as-new",
        "messages from before an upgrade lose their first byte",
        breaks=_OLD,
        may_break="consume.plain-topic subscribe.support-refused subscribe.tag-ignored",
        settings={"delivery.body": _old_read_as_new},
    ),
    fault(
        "upgrade-keeps-old-rules",
        "after an upgrade the subscribe rules of a plain topic still hold",
        breaks=_RULES,
        settings={"subscribe.rule": _born_kind},
    ),
    fault(
        "upgrade-needs-no-support",
        "an upgraded topic takes clients without extend_support",
        breaks=_RULES,
        settings={"subscribe.rule": _need_forgotten},
    ),
    fault(
        "upgrade-needs-no-support-with-tag",
        "an upgraded topic takes clients with a desired tag without extend_support",
        breaks=_RULES,
        settings={"subscribe.rule": _need_forgotten_with_tag},
    ),
)
