"""Faults of what a request stores: messages, partitions and offsets."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    BINARY,
    JSON,
    boundary,
    condition,
    make_overriding,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.partitioning import chosen_partition
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.requests import Partitioning
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.kinds import BALANCED, PARTITION_ID

_MOST_STORED = 99
_TOLD = 7
_ALL = f"{BINARY} {JSON} {ANSWERS}"
_OFFSETS = (
    "poll.auto-commit poll.strategy-next poll.consumer poll.group poll.empty disk.offsets "
    "http.offsets status.refused"
)

Choose = Callable[[Topic, int], int]


def _append(change: Callable[[Sequence[Sent]], Sequence[Sent]]) -> Override:
    """Return an override that changes the messages of each request before they are stored."""

    def append(
        original: Original, partition: Partition, sent: Sequence[Sent], *others: object
    ) -> None:
        original(partition, change(sent), *others)

    return around(Partition, "append", append)


def _without_last(sent: Sequence[Sent]) -> Sequence[Sent]:
    return sent[:-1] if len(sent) > 1 else sent


def _headers_of_first(sent: Sequence[Sent]) -> Sequence[Sent]:
    return [*sent[:1], *(replace(each, headers=None) for each in sent[1:])]


def _named(choose: Choose) -> Settings:
    """Return settings under which a request that names a partition goes to another one."""

    def choose_named(topic: Topic, partitioning: Partitioning) -> int:
        chosen = chosen_partition(topic, partitioning)
        is_there = chosen in topic.partitions
        return choose(topic, chosen) if partitioning.kind == PARTITION_ID and is_there else chosen

    return {"store.choose": choose_named}


def _last_as_first(topic: Topic, chosen: int) -> int:
    return 1 if chosen == len(topic.partitions) else chosen


def _one_request_late() -> Choose:
    """Return a function that returns the partition which the request before has named."""
    named: dict[Topic, int] = {}

    def choose(topic: Topic, chosen: int) -> int:
        before = named.get(topic, chosen)
        named[topic] = chosen
        return before

    return choose


def _balanced_to_first(topic: Topic, partitioning: Partitioning) -> int:
    return 1 if partitioning.kind == BALANCED else chosen_partition(topic, partitioning)


def _seven_if_none(stored: int | None) -> int | None:
    return _TOLD if stored is None else stored


def _store_once(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    if partition.stored_offset(kind, consumer) is None:
        original(partition, kind, consumer, offset)


def _store_greatest(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    before = partition.stored_offset(kind, consumer) or 0
    original(
        partition, kind, consumer, offset if offset > partition.count else max(before, offset)
    )


FAULTS: tuple[Preset, ...] = (
    missing(
        "send-last-lost",
        "the last message of a request with several messages is lost",
        make_overriding(_append(_without_last)),
        breaks="send.layout",
        may_break=_ALL,
    ),
    boundary(
        "send-99-at-most",
        "of a request with more than 99 messages, only the first 99 are stored",
        make_overriding(_append(lambda sent: sent[:_MOST_STORED])),
        breaks="send.layout",
        may_break=_ALL,
    ),
    condition(
        "send-headers-of-first",
        "only the first message of a request keeps its headers",
        make_overriding(_append(_headers_of_first)),
        breaks="send.layout",
        may_break=_ALL,
    ),
    wrong_value(
        "partition-always-first",
        "a request that names a partition is stored in the first one",
        _named(lambda topic, chosen: 1),
        breaks="send.partitioning",
        may_break=_ALL,
    ),
    boundary(
        "partition-last-as-first",
        "a request that names the last partition is stored in the first one",
        _named(_last_as_first),
        breaks="send.partitioning",
        may_break=_ALL,
    ),
    condition(
        "partition-of-request-before",
        "a request that names a partition is stored in the one that the request before named",
        _named(_one_request_late()),
        breaks="send.partitioning",
        may_break=_ALL,
    ),
    missing(
        "balanced-to-first",
        "requests with balanced partitioning all go to the first partition",
        {"store.choose": _balanced_to_first},
        breaks="send.spread",
        may_break="send.key-hash",
    ),
    wrong_value(
        "never-stored-is-seven",
        "the offset of a consumer that stored none is 7",
        {"poll.stored": _seven_if_none},
        breaks="poll.never-stored",
        may_break=_OFFSETS,
    ),
    missing(
        "stored-offset-not-replaced",
        "a consumer's second offset is not stored in the place of the first",
        make_overriding(around(Partition, "store_offset", _store_once)),
        breaks="poll.stored-offset",
        may_break=_OFFSETS,
    ),
    boundary(
        "stored-offset-only-grows",
        "a consumer's offset is not stored if it is lower than the one before",
        make_overriding(around(Partition, "store_offset", _store_greatest)),
        breaks="poll.stored-offset",
        may_break=_OFFSETS,
    ),
)
