"""Faults of what a request stores: messages, partitions and offsets."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.partitioning import chosen_partition
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.requests import Partitioning
from wireproof_reference_impl.iggy.wire.status import invalid_command
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.kinds import BALANCED, PARTITION_ID

_MOST_STORED = 99
_TOLD = 7

Choose = Callable[[Topic, int], int]


def _append(change: Callable[[Sequence[Sent]], Sequence[Sent]]) -> Override:
    """Return an override that changes the messages of each request before they are stored."""

    def append(
        original: Original, partition: Partition, sent: Sequence[Sent], *others: object
    ) -> None:
        original(partition, change(sent), *others)

    return around(Partition, "append", append)


def _named(choose: Choose) -> Settings:
    """Return settings under which a request that names a partition goes to another one."""

    def choose_named(topic: Topic, partitioning: Partitioning) -> int:
        chosen = chosen_partition(topic, partitioning)
        is_there = chosen in topic.partitions
        return choose(topic, chosen) if partitioning.kind == PARTITION_ID and is_there else chosen

    return {"store.choose": choose_named}


@missing("send.layout", _append)
def send_last_lost(sent: Sequence[Sent]) -> Sequence[Sent]:
    """The last message of a request with several messages is lost."""
    return sent[:-1] if len(sent) > 1 else sent


@boundary("send.layout", _append)
def send_99_at_most(sent: Sequence[Sent]) -> Sequence[Sent]:
    """Of a request with more than 99 messages, only the first 99 are stored."""
    return sent[:_MOST_STORED]


@condition("send.layout", _append)
def send_headers_of_first(sent: Sequence[Sent]) -> Sequence[Sent]:
    """Only the first message of a request keeps its headers."""
    return [*sent[:1], *(replace(each, headers=None) for each in sent[1:])]


@wrong_value("send.partitioning", _named)
def partition_always_first(topic: Topic, chosen: int) -> int:
    """A request that names a partition is stored in the first one."""
    return 1


@boundary("send.partitioning", _named)
def partition_last_as_first(topic: Topic, chosen: int) -> int:
    """A request that names the last partition is stored in the first one."""
    return 1 if chosen == len(topic.partitions) else chosen


def _one_request_late() -> Choose:
    """Return a function that returns the partition which the request before has named."""
    named: dict[Topic, int] = {}

    def choose(topic: Topic, chosen: int) -> int:
        before = named.get(topic, chosen)
        named[topic] = chosen
        return before

    return choose


@condition("send.partitioning")
def partition_of_request_before() -> Change:
    """A request that names a partition is stored in the one that the request before named."""
    return _named(_one_request_late())


@extra("send.partitioning")
def partition_by_turns() -> Change:
    """Requests that name a partition are stored in the partitions by turns."""
    return _named(lambda topic, chosen: topic.take_turn())


@missing("send.partitioning", setting("store.choose"))
def balanced_refused(topic: Topic, partitioning: Partitioning) -> int:
    """A request with balanced partitioning is refused."""
    if partitioning.kind == BALANCED:
        raise invalid_command()
    return chosen_partition(topic, partitioning)


@missing("send.spread", setting("store.choose"))
def balanced_to_first(topic: Topic, partitioning: Partitioning) -> int:
    """Requests with balanced partitioning all go to the first partition."""
    return 1 if partitioning.kind == BALANCED else chosen_partition(topic, partitioning)


@wrong_value("poll.never-stored", setting("poll.stored"))
def never_stored_is_seven(stored: int | None) -> int | None:
    """The offset of a consumer that stored none is 7."""
    return _TOLD if stored is None else stored


@missing("poll.stored-offset", around(Partition, "store_offset"))
def stored_offset_not_replaced(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    """A consumer's second offset is not stored in the place of the first."""
    if partition.stored_offset(kind, consumer) is None:
        original(partition, kind, consumer, offset)


@boundary("poll.stored-offset", around(Partition, "store_offset"))
def stored_offset_only_grows(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    """A consumer's offset is not stored if it is lower than the one before."""
    before = partition.stored_offset(kind, consumer) or 0
    original(
        partition, kind, consumer, offset if offset > partition.count else max(before, offset)
    )


FAULTS = list_faults(__name__)
