"""Faults of a producer in order: partitions of sharding ids, and those that nobody leads."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client.core import answers, partitioning
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import Refused
from wireproof_reference_impl.nsq.client.core.effects import Failure
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.publishing import _silent_if
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    constant,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override

_SHARDS = "client.shard-unavailable client.complete client.shard-refresh client.lookup-all"


def _place_at(at: Callable[[int], int]) -> Override:
    numbers = count()

    def call(original: Original, key: bytes, partition_num: int) -> object:
        return at(next(numbers)) % partition_num

    return around(partitioning, "shard", call)


def _of_those_led(original: Original, topology: Topology, key: bytes) -> object:
    return original(replace(topology, partition_num=0), key)


def _or_any_other(original: Original, topology: Topology, key: bytes) -> object:
    return original(topology, key) or (topology.places[0] if topology.places else None)


def _by_leader(original: Original, topology: Topology, key: bytes) -> object:
    place = original(topology, key)
    if isinstance(place, Place) and len(topology.leaders) > 1:
        shift = topology.leaders[0][1] > topology.leaders[1][1]
        number = ((place.partition or 0) + shift) % len(topology.leaders)
        return Place(number, topology.leaders[number])
    return place


def _no_refresh(original: Original, self: Producer, job: Job) -> None:
    place = self._choose(job) if job.message.key is not None else None
    if job.message.key is not None and self.lookups.topology.places and place is None:
        self.settle(job, Failure("no leader"))
    else:
        original(self, job)


def _refresh_later(original: Original, self: Producer, job: Job) -> None:
    _no_refresh(original, self, job)
    if job.is_settled:
        self.host.after(300.0, lambda: self.lookups.refresh(lambda: None))


def _remember_refusal(original: Original, self: Lane, job: Job, event: object) -> None:
    vars(self)["stays"] = job.message.key is not None and isinstance(event, Refused)
    original(self, job, event)


def _stay_if_refused(original: Original, self: Lane, place: Place) -> None:
    if not vars(self).get("stays"):
        original(self, place)


def _no_keyed_repeat(original: Original, self: Lane, job: Job, failure: Failure) -> None:
    if job.message.key is None:
        original(self, job, failure)
    else:
        self._producer.settle(job, failure)
        self._release()


def _allow_no_key(original: Original, message: Publish) -> object:
    return "" if message.key == b"" else original(message)


def _no_key_is_none(original: Original, self: Producer, ticket: int, message: Publish) -> None:
    original(self, ticket, replace(message, key=message.key or None))


FAULTS = (
    missing(
        "key-means-nothing",
        "All messages in order go to the first partition.",
        "client-publish.shards",
        constant(partitioning, "shard", 0),
        may=_SHARDS,
    ),
    wrong_value(
        "key-by-length",
        "The partition of a sharding id is its length.",
        "client-publish.shards",
        around(partitioning, "shard", lambda _, key, partition_num: len(key) % partition_num),
        may=_SHARDS,
    ),
    wrong_value(
        "key-in-turn",
        "Messages in order go to the partitions in turn, four at a time.",
        "client.shard",
        _place_at(lambda number: number // 5),
        may=_SHARDS,
    ),
    wrong_value(
        "key-ignored",
        "Messages in order go to the partitions in turn, whatever their sharding ids.",
        "client.shard",
        _place_at(lambda number: number),
        may=_SHARDS,
    ),
    condition(
        "key-follows-leader",
        "The partition of a sharding id depends on the addresses of the leaders.",
        "client.shard",
        around(partitioning, "place_of_key", _by_leader),
        may=_SHARDS,
    ),
    wrong_value(
        "partitions-counted",
        "The partitions that have a leader are taken for all.",
        "client.complete client.shard-refresh client.shard-unavailable",
        around(partitioning, "place_of_key", _of_those_led),
        may="client.shard client.lookup-all",
    ),
    extra(
        "other-partition-taken",
        "A sharding id whose partition nobody leads goes to another partition.",
        "client.complete client.shard-refresh client.shard-unavailable",
        around(partitioning, "place_of_key", _or_any_other),
    ),
    missing(
        "unavailable-untold",
        "The user is told nothing when nobody leads the partition of a sharding id.",
        "client.complete client.shard-refresh client.shard-unavailable",
        _silent_if(lambda self, job, failure: job.message.key is not None and not failure.code),
        may="client-publish.no-key client.shard-retry",
    ),
    missing(
        "unavailable-not-refreshed",
        "No lookup follows when nobody leads the partition of a sharding id.",
        "client.shard-refresh",
        around(Producer, "dispatch", _no_refresh),
        may="client.lookup-all",
    ),
    boundary(
        "unavailable-refreshed-late",
        "The lookup comes five minutes later when nobody leads the partition of a sharding id.",
        "client.shard-refresh",
        around(Producer, "dispatch", _refresh_later),
        may="client.lookup-all",
    ),
    missing(
        "ordered-not-repeated",
        "An ordered publish is not repeated.",
        "client.shard-retry",
        around(Lane, "_repeat", _no_keyed_repeat),
        may="client.shard",
    ),
    condition(
        "ordered-repeated-there",
        "An ordered publish is repeated at the node that has refused it.",
        "client.shard-retry",
        around(Lane, "_judge", _remember_refusal),
        around(Lane, "move", _stay_if_refused),
        may="client.shard",
    ),
    missing(
        "no-key-allowed",
        "An ordered publish with an empty sharding id is sent.",
        "client-publish.no-key",
        around(answers, "find_fault", _allow_no_key),
    ),
    missing(
        "no-key-unordered",
        "An ordered publish with an empty sharding id goes to any partition.",
        "client-publish.no-key",
        around(Producer, "publish", _no_key_is_none),
        may="client.lookup-all",
    ),
)
