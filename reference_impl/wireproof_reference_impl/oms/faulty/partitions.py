"""Faults of partitions and of grouping by message key."""

from collections.abc import Callable
from itertools import count as counting
from typing import cast

from wireproof_reference_impl.oms.core import partitioning
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.refusal import Refusal
from wireproof_reference_impl.oms.core.sent import Sent
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_sent,
    change_told,
    condition,
    missing,
    wrap,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names

CHOSEN = "partition.delivered-from"
UNKNOWN = "partition.unknown"
NO_WRAP = "partition.no-wrap"
NUMBERS = "partition.numbering"
_HIDDEN = "hiddenPartition"
ANY = f"{CHOSEN} round-trip.unchanged round-trip.claimed"


def _drop_partition(attributes: JsonObject) -> None:
    attributes.pop(names.PARTITION, None)


def _hide_partition(attributes: JsonObject) -> None:
    """Keep the sender's partition under a name that the broker does not know."""
    if names.PARTITION in attributes:
        attributes[_HIDDEN] = attributes.pop(names.PARTITION)


def _tell_hidden(told: JsonObject, message: Message) -> None:
    if _HIDDEN in told:
        told[names.PARTITION] = told.pop(_HIDDEN)


def _choose(change: Callable[[int, int], int]) -> Override:
    """Return an override that changes an existing partition that a sender chose."""

    def wrong(original: Original, wanted: int, *, count: int, first: int) -> int:
        chosen = cast(int, original(wanted, count=count, first=first))
        return change(chosen, count)

    return around(partitioning, "existing_partition", wrong)


def _replace_unknown(change: Callable[[int, int], int]) -> Override:
    """Return an override by which an unknown partition is replaced by a partition that exists."""

    def wrong(original: Original, wanted: int, *, count: int, first: int) -> int:
        try:
            return cast(int, original(wanted, count=count, first=first))
        except Refusal:
            return change(wanted - first, count)

    return around(partitioning, "existing_partition", wrong)


def _accept_below_first() -> Override:
    """Return an override by which the partition before the first is the last."""

    def wrong(original: Original, wanted: int, *, count: int, first: int) -> object:
        wanted = first + count - 1 if wanted == first - 1 else wanted
        return original(wanted, count=count, first=first)

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


def _last_is_first(chosen: int, count: int) -> int:
    return 0 if chosen == count - 1 else chosen


def _with_key_by_key(original: Original, sent: Sent, **named: int) -> object:
    """Return the partition of the message key, if there is one, whatever the sender chose."""
    key = sent.text(names.MESSAGE_KEY)
    if key is None:
        return original(sent, **named)
    return partitioning.partition_of_key(key, named["count"])


def _by_turns() -> Override:
    turns = counting()

    def choose(key: str, count: int) -> int:
        return next(turns) % count

    return replace_function(partitioning, "partition_of_key", choose)


FAULTS: tuple[Preset, ...] = (
    missing(
        "partition-ignored",
        "a partition that the sender chose is ignored",
        change_sent(_drop_partition),
        breaks=f"{CHOSEN} {UNKNOWN}",
        may_break=f"{ANY} {NO_WRAP} {NUMBERS}",
    ),
    missing(
        "partition-told-only",
        "a partition that the sender chose is told to consumers, but not used",
        change_sent(_hide_partition),
        change_told(_tell_hidden),
        breaks=f"{CHOSEN} {UNKNOWN}",
        may_break=f"{ANY} {NO_WRAP} {NUMBERS}",
    ),
    wrong_value(
        "partition-one-further",
        "a message is stored in the partition after the one that its sender chose",
        _choose(lambda chosen, count: (chosen + 1) % count),
        breaks=CHOSEN,
        may_break=ANY,
    ),
    boundary(
        "partition-last-is-first",
        "a message for the last partition is stored in the first",
        _choose(_last_is_first),
        breaks=CHOSEN,
        may_break=ANY,
    ),
    condition(
        "partition-of-key-first",
        "a message with a message key is stored in the key's partition, also if another is chosen",
        around(partitioning, "choose_partition", _with_key_by_key),
        breaks=CHOSEN,
        may_break=ANY,
    ),
    missing(
        "partition-unknown-by-remainder",
        "an unknown partition is replaced by its remainder",
        _replace_unknown(lambda wanted, count: wanted % count),
        breaks=UNKNOWN,
        may_break=f"{NO_WRAP} {NUMBERS}",
    ),
    wrong_value(
        "partition-unknown-is-first",
        "a message for an unknown partition is stored in the first",
        _replace_unknown(lambda wanted, count: 0),
        breaks=UNKNOWN,
        may_break=f"{NO_WRAP} {NUMBERS}",
    ),
    boundary(
        "partition-below-first-is-last",
        "a message for partition -1 is stored in the last",
        _accept_below_first(),
        breaks=UNKNOWN,
        may_break=f"{NUMBERS}",
    ),
    boundary(
        "partition-after-last-is-last",
        "a message for a partition beyond the last is stored in the last",
        _replace_unknown(lambda wanted, count: count - 1 if wanted > 0 else 0),
        breaks=UNKNOWN,
        may_break=f"{NO_WRAP} {NUMBERS}",
    ),
    wrong_value(
        "partition-16-bits",
        "partition numbers are kept in 16 bits",
        *_narrow(16),
        breaks=NO_WRAP,
        may_break=f"{UNKNOWN} {NUMBERS}",
    ),
    wrong_value(
        "partition-8-bits",
        "partition numbers are kept in 8 bits",
        *_narrow(8),
        breaks=NO_WRAP,
        may_break=f"{UNKNOWN} {NUMBERS}",
    ),
    boundary(
        "partition-15-bits",
        "partition numbers are kept in 15 bits",
        *_narrow(15),
        breaks=NO_WRAP,
        may_break=f"{UNKNOWN} {NUMBERS}",
    ),
    missing(
        "key-spread",
        "messages of one message key are spread over the partitions",
        _by_turns(),
        breaks="message-key.one-partition",
    ),
)
