"""Faults of partitions: messages in the wrong one, and PUB and SUB that name one."""

from collections.abc import Callable, Sequence
from weakref import WeakSet

from wireproof_reference_impl.nsq.core.commands import publish, subscribe
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.faulty.shared_overrides import (
    Choose,
    change_stored,
    storing_elsewhere,
    storing_elsewhere_late,
)
from wireproof_reference_impl.nsq.faulty.together import TOGETHER
from wireproof_reference_impl.nsq.preset import (
    CONDITION,
    PUBLISHERS,
    READERS,
    TRACED,
    WRONG_VALUE,
    Preset,
    boundary,
    condition,
    extra,
    fault,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.names import OK, PUB, is_valid_name


def _stray(name: str, text: str, choose: Choose, *, breaks: str, way: str) -> Preset:
    """Return a fault that stores messages in the wrong partition, and its late twin."""
    return fault(
        name,
        text,
        breaks=breaks,
        may_break=_TRACED_STRAYED if breaks == _TRACE else _STRAYED,
        overrides=(TOGETHER, storing_elsewhere(choose)),
        way=way,
        late_overrides=(TOGETHER, storing_elsewhere_late(choose)),
    )


def _first(partition: Partition, entries: Sequence[NewMessage]) -> int:
    return 0


def _every_fourth_next_door(partition: Partition, entries: Sequence[NewMessage]) -> int:
    return partition.number ^ (partition.log.count % 4 == 3)


def _batches_first(partition: Partition, entries: Sequence[NewMessage]) -> int:
    return 0 if len(entries) > 1 else partition.number


def _is_traced(entries: Sequence[NewMessage]) -> bool:
    return any(entry.trace_id for entry in entries)


def _traced_first(partition: Partition, entries: Sequence[NewMessage]) -> int:
    return 0 if _is_traced(entries) else partition.number


def _traced_last(partition: Partition, entries: Sequence[NewMessage]) -> int:
    return 1 if _is_traced(entries) else partition.number


def _odd_trace_ids_next_door(partition: Partition, entries: Sequence[NewMessage]) -> int:
    return partition.number ^ (entries[0].trace_id % 2)


def _always_first(original: Original, connection: Connection, words: Sequence[bytes]) -> object:
    if len(words) > 3 and words[3].isdigit():
        words = [*words[:3], b"0", *words[4:]]
    return original(connection, words)


def _line_feed_above_200() -> tuple[Override, ...]:
    large = WeakSet[Connection]()

    def store(
        original: Callable[..., PublishResult],
        connection: Connection,
        partition: Partition,
        entries: Sequence[NewMessage],
    ) -> PublishResult:
        stored = original(connection, partition, entries)
        if connection.command == PUB and stored.size > 200:
            large.add(connection)
        return stored

    def respond(original: Original, connection: Connection, data: bytes) -> None:
        is_large = data == OK and connection in large
        large.discard(connection)
        original(connection, OK + b"\n" if is_large else data)

    return (around(publish, "store", store), around(Connection, "respond", respond))


def _bodies(change: Callable[[bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides that change the bodies of PUB before they are stored."""

    def store_changed(
        connection: Connection, entries: Sequence[NewMessage]
    ) -> Sequence[NewMessage]:
        if connection.command != PUB:
            return entries
        return [each._replace(body=change(each.body)) for each in entries]

    return (change_stored(store_changed),)


def _twice_in_a_row(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
    more_waits = connection.command == PUB and connection.place < len(connection.buffer)
    return [*entries, *entries] if more_waits else entries


def _last_in_a_row(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
    is_last = connection.command == PUB and connection.place == len(connection.buffer)
    in_a_row = is_last and connection.buffer.count(b"PUB ") > 1
    return [*entries, *entries] if in_a_row else entries


def _every_fifth_twice(
    original: Original, partition: Partition, entries: Sequence[NewMessage], now_ns: int
) -> object:
    stored = original(partition, entries, now_ns)
    if len(entries) == 1 and partition.log.count % 6 == 5:
        original(partition, entries, now_ns)
    return stored


def _last_byte_lost_above_4096(data: bytes) -> bytes:
    return data[:-1] if len(data) > 4096 else data


def _leading_blanks_lost(data: bytes) -> bytes:
    return data.lstrip(b"\n\r ") or data


def _short_names(name: str) -> bool:
    return is_valid_name(name) and len(name) < 64


def _lasting_names(name: str) -> bool:
    return is_valid_name(name) and "#" not in name


_OWN = "smart.partition.own-messages"
_TRACE = "smart.trace.partition"
_ORDER = "smart.order.partition"
_SUBSCRIBE = "smart.partition.subscribe"
_PUBLISH = "smart.partition.publish"
_STRAYED = (
    f"{_OWN} {_TRACE} {_ORDER} {_SUBSCRIBE} {_PUBLISH} smart.partition.required "
    "smart.partition.stored-once smart.partition.subscribe-blank smart.trace.layout "
    "smart.history.kept smart.history.order smart.order.again smart.order.in-order "
    "smart.order.is-must smart.order.layout smart.order.left smart.order.rdy"
)
_TRACED_STRAYED = f"{_STRAYED} {TRACED} smart.trace.offset smart.connection.ready-again"


FAULTS: tuple[Preset, ...] = (
    condition(
        "publish-in-a-row-stored-twice",
        "a PUB that is followed by another command in the same write is stored twice",
        breaks="smart.partition.stored-once",
        may_break=f"{_PUBLISH} {_OWN}",
        overrides=(change_stored(_twice_in_a_row),),
    ),
    boundary(
        "publish-last-in-a-row-stored-twice",
        "the last PUB of several in the same write is stored twice",
        breaks="smart.partition.stored-once",
        may_break=f"{_PUBLISH} {_OWN}",
        overrides=(change_stored(_last_in_a_row),),
    ),
    extra(
        "publish-every-fifth-stored-twice",
        "every fifth single message of a partition is stored twice",
        breaks="smart.partition.stored-once",
        may_break=f"{_STRAYED} {_TRACED_STRAYED} {READERS} {PUBLISHERS}",
        overrides=(around(Partition, "publish", _every_fifth_twice),),
    ),
    _stray(
        "partition-first-for-all",
        "every publish goes to the first partition, whichever partition it names",
        _first,
        breaks=f"{_OWN} {_ORDER}",
        way=WRONG_VALUE,
    ),
    _stray(
        "partition-every-fourth-astray",
        "every fourth message for a partition goes to the neighbouring partition",
        _every_fourth_next_door,
        breaks=_OWN,
        way=CONDITION,
    ),
    _stray(
        "partition-batches-to-the-first",
        "batches go to the first partition, whichever partition they name",
        _batches_first,
        breaks=_OWN,
        way=CONDITION,
    ),
    _stray(
        "partition-traced-to-the-first",
        "traced messages go to the first partition, whichever partition they name",
        _traced_first,
        breaks=_TRACE,
        way=WRONG_VALUE,
    ),
    _stray(
        "partition-traced-to-the-second",
        "traced messages go to the second partition, whichever partition they name",
        _traced_last,
        breaks=_TRACE,
        way=WRONG_VALUE,
    ),
    _stray(
        "partition-odd-trace-ids-astray",
        "messages with odd trace ids go to the partition next to the one they name",
        _odd_trace_ids_next_door,
        breaks=_TRACE,
        way=CONDITION,
    ),
    wrong_value(
        "partition-subscribed-to-the-first",
        "every subscription is to the first partition, whichever partition it names",
        breaks=f"{_SUBSCRIBE} {_OWN} {_ORDER}",
        may_break=f"{_STRAYED} smart.partition.sub-missing",
        overrides=(TOGETHER, around(subscribe, "find_partition", _always_first)),
    ),
    boundary(
        "channel-of-64-letters-refused",
        "a channel of 64 letters is refused",
        breaks=_SUBSCRIBE,
        overrides=(replace_function(subscribe_rules, "is_channel_name", _short_names),),
    ),
    condition(
        "channel-ephemeral-refused",
        "an ephemeral channel is refused",
        breaks=_SUBSCRIBE,
        may_break="consume.layout",
        overrides=(replace_function(subscribe_rules, "is_channel_name", _lasting_names),),
    ),
    boundary(
        "pub-last-byte-lost",
        "PUB bodies above 4096 bytes lose their last byte",
        breaks=_PUBLISH,
        may_break="smart.order.layout smart.order.in-order smart.order.increasing "
        "consume.plain-topic",
        overrides=_bodies(_last_byte_lost_above_4096),
    ),
    condition(
        "pub-leading-blanks-lost",
        "PUB bodies lose spaces and line feeds at their start",
        breaks=_PUBLISH,
        may_break="smart.order.layout consume.plain-topic",
        overrides=_bodies(_leading_blanks_lost),
    ),
    extra(
        "pub-ok-with-line-feed",
        "PUB of more than 200 bytes is answered with OK and a line feed",
        breaks=_PUBLISH,
        may_break="smart.partition.pub-failed",
        overrides=_line_feed_above_200(),
    ),
)
