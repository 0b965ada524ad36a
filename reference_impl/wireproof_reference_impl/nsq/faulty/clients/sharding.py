"""Faults of a producer in order: partitions of sharding ids, and those that nobody leads."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import answers, partitioning
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import Refused
from wireproof_reference_impl.nsq.client.core.effects import Failure
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.publishing import _silent_if
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around


def _place_at(at: Callable[[int], int]) -> Override:
    numbers = count()

    def call(original: Original, key: bytes, partition_num: int) -> object:
        return at(next(numbers)) % partition_num

    return around(partitioning, "shard", call)


def _no_refresh(original: Original, self: Producer, job: Job) -> None:
    place = self._choose(job) if job.message.key is not None else None
    if job.message.key is not None and self.lookups.topology.places and place is None:
        self.settle(job, Failure("no leader"))
    else:
        original(self, job)


@missing("client-publish.shards")
def key_means_nothing() -> Change:
    """All messages in order go to the first partition."""
    return constant(partitioning, "shard", 0)


@wrong_value("client-publish.shards", around(partitioning, "shard"))
def key_by_length(_: Original, key: bytes, partition_num: int) -> object:
    """The partition of a sharding id is its length."""
    return len(key) % partition_num


@wrong_value("client.shard", _place_at)
def key_in_turn(number: int) -> int:
    """Messages in order go to the partitions in turn, four at a time."""
    return number // 5


@wrong_value("client.shard", _place_at)
def key_ignored(number: int) -> int:
    """Messages in order go to the partitions in turn, whatever their sharding ids."""
    return number


@condition("client.shard", around(partitioning, "place_of_key"))
def key_follows_leader(original: Original, topology: Topology, key: bytes) -> object:
    """The partition of a sharding id depends on the addresses of the leaders."""
    place = original(topology, key)
    if isinstance(place, Place) and len(topology.leaders) > 1:
        shift = topology.leaders[0][1] > topology.leaders[1][1]
        number = ((place.partition or 0) + shift) % len(topology.leaders)
        return Place(number, topology.leaders[number])
    return place


@wrong_value(
    "client.complete client.shard-refresh client.shard-unavailable",
    around(partitioning, "place_of_key"),
)
def partitions_counted(original: Original, topology: Topology, key: bytes) -> object:
    """The partitions that have a leader are taken for all."""
    return original(replace(topology, partition_num=0), key)


@extra(
    "client.complete client.shard-refresh client.shard-unavailable",
    around(partitioning, "place_of_key"),
)
def other_partition_taken(original: Original, topology: Topology, key: bytes) -> object:
    """A sharding id whose partition nobody leads goes to another partition."""
    return original(topology, key) or (topology.places[0] if topology.places else None)


@missing("client.complete client.shard-refresh client.shard-unavailable", _silent_if)
def unavailable_untold(self: Producer, job: Job, failure: Failure) -> bool:
    """The user is told nothing when nobody leads the partition of a sharding id."""
    return job.message.key is not None and not failure.code


@missing("client.shard-refresh")
def unavailable_not_refreshed() -> Change:
    """No lookup follows when nobody leads the partition of a sharding id."""
    return around(Producer, "dispatch", _no_refresh)


@boundary("client.shard-refresh", around(Producer, "dispatch"))
def unavailable_refreshed_late(original: Original, self: Producer, job: Job) -> None:
    """The lookup comes five minutes later when nobody leads the partition of a sharding id."""
    _no_refresh(original, self, job)
    if job.is_settled:
        self.host.after(300.0, lambda: self.lookups.refresh(lambda: None))


@missing("client.shard-retry", around(Lane, "_repeat"))
def ordered_not_repeated(original: Original, self: Lane, job: Job, failure: Failure) -> None:
    """An ordered publish is not repeated."""
    if job.message.key is None:
        original(self, job, failure)
    else:
        self._producer.settle(job, failure)
        self._release()


def _remember_refusal(original: Original, self: Lane, job: Job, event: object) -> None:
    vars(self)["stays"] = job.message.key is not None and isinstance(event, Refused)
    original(self, job, event)


def _stay_if_refused(original: Original, self: Lane, place: Place) -> None:
    if not vars(self).get("stays"):
        original(self, place)


@condition("client.shard-retry")
def ordered_repeated_there() -> Change:
    """An ordered publish is repeated at the node that has refused it."""
    return (
        around(Lane, "_judge", _remember_refusal),
        around(Lane, "move", _stay_if_refused),
    )


@missing("client-publish.no-key", around(answers, "find_fault"))
def no_key_allowed(original: Original, message: Publish) -> object:
    """An ordered publish with an empty sharding id is sent."""
    return "" if message.key == b"" else original(message)


@missing("client-publish.no-key", around(Producer, "publish"))
def no_key_unordered(original: Original, self: Producer, ticket: int, message: Publish) -> None:
    """An ordered publish with an empty sharding id goes to any partition."""
    original(self, ticket, replace(message, key=message.key or None))


FAULTS = list_faults(__name__)
