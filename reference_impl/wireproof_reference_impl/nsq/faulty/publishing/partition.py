"""Faults of partitions: messages in the wrong one, and PUB and SUB that name one."""

from collections.abc import Callable, Sequence
from weakref import WeakSet

from wireproof_reference_impl.faults import Change, list_faults
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
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, extra, wrong_value
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Effect
from wireproof_spec.nsq.error_codes import E_BAD_TOPIC
from wireproof_spec.nsq.names import OK, PUB, is_valid_name


def _stray(choose: Choose) -> Effect:
    """Return an effect that stores messages in the wrong partition; its twin also does so late."""
    late = Effect(overrides=(TOGETHER, storing_elsewhere_late(choose)))
    return Effect(overrides=_stray_at_once(choose).overrides, late=late)


def _stray_at_once(choose: Choose) -> Effect:
    return Effect(overrides=(TOGETHER, storing_elsewhere(choose)))


def _is_traced(entries: Sequence[NewMessage]) -> bool:
    return any(entry.trace_id for entry in entries)


def _bodies(change: Callable[[bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides that change the bodies of PUB before they are stored."""

    def store_changed(
        connection: Connection, entries: Sequence[NewMessage]
    ) -> Sequence[NewMessage]:
        if connection.command != PUB:
            return entries
        return [entry._replace(body=change(entry.body)) for entry in entries]

    return (change_stored(store_changed),)


@condition("smart.partition.stored-once", change_stored)
def publish_in_a_row_stored_twice(
    connection: Connection, entries: Sequence[NewMessage]
) -> Sequence[NewMessage]:
    """A PUB that is followed by another command in the same write is stored twice."""
    more_waits = connection.command == PUB and connection.place < len(connection.buffer)
    return [*entries, *entries] if more_waits else entries


@boundary("smart.partition.stored-once", change_stored)
def publish_last_in_a_row_stored_twice(
    connection: Connection, entries: Sequence[NewMessage]
) -> Sequence[NewMessage]:
    """The last PUB of several in the same write is stored twice."""
    is_last = connection.command == PUB and connection.place == len(connection.buffer)
    in_a_row = is_last and connection.buffer.count(b"PUB ") > 1
    return [*entries, *entries] if in_a_row else entries


@extra("smart.partition.stored-once", around(Partition, "publish"))
def publish_every_fifth_stored_twice(
    original: Original, partition: Partition, entries: Sequence[NewMessage], now_ns: int
) -> object:
    """Every fifth single message of a partition is stored twice."""
    stored = original(partition, entries, now_ns)
    if len(entries) == 1 and partition.log.count % 6 == 5:
        original(partition, entries, now_ns)
    return stored


@wrong_value("smart.partition.own-messages smart.order.partition", _stray)
def partition_first_for_all(partition: Partition, entries: Sequence[NewMessage]) -> int:
    """Every publish goes to the first partition, whichever partition it names."""
    return 0


@condition("smart.partition.own-messages", _stray)
def partition_every_fourth_astray(partition: Partition, entries: Sequence[NewMessage]) -> int:
    """Every fourth message for a partition goes to the neighbouring partition."""
    return partition.number ^ (partition.log.count % 4 == 3)


@condition("smart.partition.batch", _stray_at_once)
def partition_batches_to_the_first(partition: Partition, entries: Sequence[NewMessage]) -> int:
    """Batches go to the first partition, whichever partition they name."""
    return 0 if len(entries) > 1 else partition.number


@wrong_value("smart.trace.partition", _stray)
def partition_traced_to_the_first(partition: Partition, entries: Sequence[NewMessage]) -> int:
    """Traced messages go to the first partition, whichever partition they name."""
    return 0 if _is_traced(entries) else partition.number


@wrong_value("smart.trace.partition", _stray)
def partition_traced_to_the_second(partition: Partition, entries: Sequence[NewMessage]) -> int:
    """Traced messages go to the second partition, whichever partition they name."""
    return 1 if _is_traced(entries) else partition.number


@condition("smart.trace.partition", _stray)
def partition_odd_trace_ids_astray(partition: Partition, entries: Sequence[NewMessage]) -> int:
    """Messages with odd trace ids go to the partition next to the one they name."""
    return partition.number ^ (entries[0].trace_id % 2)


@wrong_value(
    "smart.partition.subscribe smart.partition.own-messages smart.order.partition",
    around(subscribe, "find_partition"),
    also=(TOGETHER,),
)
def partition_subscribed_to_the_first(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> object:
    """Every subscription is to the first partition, whichever partition it names."""
    if len(words) > 3 and words[3].isdigit():
        words = [*words[:3], b"0", *words[4:]]
    return original(connection, words)


@boundary("smart.partition.subscribe", replace_function(subscribe_rules, "is_channel_name"))
def channel_of_one_letter_refused(name: str) -> bool:
    """A channel of one letter is refused."""
    return is_valid_name(name) and len(name) > 1


@condition("smart.partition.subscribe", around(subscribe, "_check_words"))
def sub_unidentified_as_a_bad_topic(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> None:
    """SUB without IDENTIFY is refused with the code of illegal topic names."""
    if not connection.identified:
        raise Refusal(E_BAD_TOPIC, "SUB without IDENTIFY")
    original(connection, words)


@boundary("smart.partition.names", replace_function(subscribe_rules, "is_channel_name"))
def channel_of_64_letters_refused(name: str) -> bool:
    """A channel of 64 letters is refused."""
    return is_valid_name(name) and len(name) < 64


@condition("smart.partition.names", replace_function(subscribe_rules, "is_channel_name"))
def channel_ephemeral_refused(name: str) -> bool:
    """An ephemeral channel is refused."""
    return is_valid_name(name) and "#" not in name


@wrong_value("smart.partition.names", replace_function(publish, "is_valid_name"))
def pub_to_an_ephemeral_topic_other_code(name: str) -> bool:
    """PUB to a missing topic of an ephemeral name is refused with the code of illegal names."""
    return is_valid_name(name) and "#" not in name


@boundary("smart.partition.publish", _bodies)
def pub_last_byte_lost(data: bytes) -> bytes:
    """PUB bodies above 4096 bytes lose their last byte."""
    return data[:-1] if len(data) > 4096 else data


@condition("smart.partition.publish", _bodies)
def pub_leading_blanks_lost(data: bytes) -> bytes:
    """PUB bodies lose spaces and line feeds at their start."""
    return data.lstrip(b"\n\r ") or data


@extra("smart.partition.publish")
def pub_ok_with_line_feed() -> Change:
    """PUB of more than 200 bytes is answered with OK and a line feed."""
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


FAULTS = list_faults(__name__)
