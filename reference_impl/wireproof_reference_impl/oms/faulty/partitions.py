"""Faults of partitions and of grouping by message key."""

from collections.abc import Callable
from itertools import count as counting

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core import partitioning
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.refusal import Refusal
from wireproof_reference_impl.oms.core.sent import Sent
from wireproof_reference_impl.oms.faulty.effect import (
    change_sent,
    change_stored,
    change_told,
    wrap,
)
from wireproof_reference_impl.oms.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.oms import names

CHOSEN = "partition.delivered-from"
NUMBERS = "partition.numbering"
_HIDDEN = "hiddenPartition"
ANY = f"{CHOSEN} round-trip.unchanged round-trip.claimed"


def _choose(change: Callable[[int, int], int]) -> Override:
    """Return an override that changes an existing partition that a sender chose."""

    def wrong(original: Original, wanted: int, *, count: int, first: int) -> int:
        chosen: int = original(wanted, count=count, first=first)
        return change(chosen, count)

    return around(partitioning, "existing_partition", wrong)


def _replace_unknown(change: Callable[[int, int], int]) -> Override:
    """Return an override by which an unknown partition is replaced by a partition that exists."""

    def wrong(original: Original, wanted: int, *, count: int, first: int) -> int:
        try:
            chosen: int = original(wanted, count=count, first=first)
        except Refusal:
            return change(wanted - first, count)
        return chosen

    return around(partitioning, "existing_partition", wrong)


def _narrow(bits: int) -> tuple[Override, ...]:
    """Return overrides by which partition numbers of senders are kept in fewer bits.

    Any number is accepted, and consumers are told what is left of it.
    """

    def tell(told: JsonObject, message: Message) -> None:
        wanted = message.sent.number(names.PARTITION)
        if wanted is not None:
            told[names.PARTITION] = wrap(wanted, bits)

    return (
        _replace_unknown(lambda wanted, count: wrap(wanted, bits) % count),
        change_told(tell),
    )


@missing("partition.delivered-from partition.unknown", change_sent)
def partition_ignored(attributes: JsonObject) -> None:
    """A partition that the sender chose is ignored."""
    attributes.pop(names.PARTITION, None)


def _hide_partition(attributes: JsonObject) -> None:
    """Keep the sender's partition under a name that the broker does not know."""
    if names.PARTITION in attributes:
        attributes[_HIDDEN] = attributes.pop(names.PARTITION)


def _tell_hidden(told: JsonObject, message: Message) -> None:
    if _HIDDEN in told:
        told[names.PARTITION] = told.pop(_HIDDEN)


@missing("partition.delivered-from partition.unknown")
def partition_told_only() -> Change:
    """A partition that the sender chose is told to consumers, but not used."""
    return (
        change_sent(_hide_partition),
        change_told(_tell_hidden),
    )


@wrong_value("partition.delivered-from", _choose)
def partition_one_further(chosen: int, count: int) -> int:
    """A message is stored in the partition after the one that its sender chose."""
    return (chosen + 1) % count


@boundary("partition.delivered-from", _choose)
def partition_last_is_first(chosen: int, count: int) -> int:
    """A message for the last partition is stored in the first."""
    return 0 if chosen == count - 1 else chosen


@condition("partition.delivered-from", around(partitioning, "choose_partition"))
def partition_of_key_first(original: Original, sent: Sent, **named: int) -> object:
    """A message with a message key is stored in the key's partition, also if another is chosen."""
    key = sent.text(names.MESSAGE_KEY)
    if key is None:
        return original(sent, **named)
    return partitioning.partition_of_key(key, named["count"])


@missing("partition.unknown", _replace_unknown)
def partition_unknown_by_remainder(wanted: int, count: int) -> int:
    """An unknown partition is replaced by its remainder."""
    return wanted % count


@wrong_value("partition.unknown", _replace_unknown)
def partition_unknown_is_first(wanted: int, count: int) -> int:
    """A message for an unknown partition is stored in the first."""
    return 0


@boundary("partition.unknown")
def partition_below_first_is_last() -> Change:
    """A message for partition -1 is stored in the last."""

    def wrong(original: Original, wanted: int, *, count: int, first: int) -> object:
        wanted = first + count - 1 if wanted == first - 1 else wanted
        return original(wanted, count=count, first=first)

    return around(partitioning, "existing_partition", wrong)


@boundary("partition.unknown", _replace_unknown)
def partition_after_last_is_last(wanted: int, count: int) -> int:
    """A message for a partition beyond the last is stored in the last."""
    return count - 1 if wanted > 0 else 0


@wrong_value("partition.no-wrap")
def partition_16_bits() -> Change:
    """Partition numbers are kept in 16 bits."""
    return _narrow(16)


@wrong_value("partition.no-wrap")
def partition_8_bits() -> Change:
    """Partition numbers are kept in 8 bits."""
    return _narrow(8)


@boundary("partition.no-wrap")
def partition_15_bits() -> Change:
    """Partition numbers are kept in 15 bits."""
    return _narrow(15)


@condition("partition.no-wrap", _replace_unknown)
def partition_placed_by_8_bits(wanted: int, count: int) -> int:
    """A message for an unknown partition is stored by the lowest 8 bits of the number."""
    return wrap(wanted, 8) % count


@condition("partition.no-wrap", _replace_unknown)
def partition_placed_by_16_bits(wanted: int, count: int) -> int:
    """A message for an unknown partition is stored by the lowest 16 bits of the number."""
    return wrap(wanted, 16) % count


@missing("message-key.one-partition")
def key_spread() -> Change:
    """Messages of one message key are spread over the partitions."""
    turns = counting()

    def choose(key: str, count: int) -> int:
        return next(turns) % count

    return replace_function(partitioning, "partition_of_key", choose)


def _first_if(is_moved: Callable[[Message], bool]) -> Override:
    """Return an override by which some messages come to the first partition."""
    return change_stored(
        lambda message: replace(message, partition=0) if is_moved(message) else message
    )


@condition("partition.delivered-from", _first_if)
def partition_lost_by_delay(message: Message) -> bool:
    """A delayed message is delivered from the first partition."""
    return message.due > message.born


@condition("partition.delivered-from", _first_if)
def partition_lost_by_commit(message: Message) -> bool:
    """A message that was prepared is delivered from the first partition."""
    return message.transaction_id is not None


FAULTS = list_faults(__name__)
