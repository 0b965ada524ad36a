"""Faults of counting deliveries."""

from collections.abc import Callable

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_received,
    condition,
    extra,
    late,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names

AGAIN = "delivery-count.again"
PRESENT = "delivery-count.present"
NOT_NEGATIVE = "delivery-count.not-negative"
GROWS = "delivery-count.grows"
_MINUTE_MS = 60_000
ANY = f"{PRESENT} {NOT_NEGATIVE} {GROWS} delivery-count.base round-trip.claimed"


def _tell(told: Callable[[int], int]) -> Override:
    """Return an override by which the `count`th delivery tells another number."""

    def wrong(count: int, behaviour: Behaviour) -> int:
        return told(count)

    return replace_function(documents, "told_count", wrong)


def _drop_from(first: int) -> Override:
    """Return an override by which no count is told from the delivery with this number on."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if count >= first:
            del told[names.DELIVERY_COUNT]

    return change_received(wrong)


def _reject(is_lost: Callable[[Delivery], bool]) -> Override:
    """Return an override by which some rejected messages are not delivered again."""

    def wrong(original: Original, group: Group, delivery: Delivery, now: int) -> object:
        return group.settle(delivery) if is_lost(delivery) else original(group, delivery, now)

    return around(Group, "reject", wrong)


def _a_minute_later(original: Original, group: Group, delivery: Delivery, now: int) -> object:
    return original(group, delivery, now + _MINUTE_MS)


def _as_text(told: JsonObject, message: Message, count: int) -> None:
    told[names.DELIVERY_COUNT] = str(count)


FAULTS: tuple[Preset, ...] = (
    missing(
        "rejected-lost",
        "a message whose consumption failed is not delivered again",
        _reject(lambda delivery: True),
        breaks=AGAIN,
        may_break=f"{ANY} round-trip.trace-id",
    ),
    boundary(
        "rejected-twice-lost",
        "a message whose consumption failed twice is not delivered again",
        _reject(lambda delivery: delivery.count > 1),
        breaks=AGAIN,
        may_break=f"{ANY} round-trip.trace-id",
    ),
    late(
        "rejected-a-minute-late",
        "a message whose consumption failed is delivered again after a minute",
        around(Group, "reject", _a_minute_later),
        breaks=AGAIN,
        may_break=f"{ANY} round-trip.trace-id",
    ),
    condition(
        "rejected-without-qos-lost",
        "a message without a qos whose consumption failed is not delivered again",
        _reject(lambda delivery: names.QOS not in delivery.message.sent.header),
        breaks=f"message.qos-default {AGAIN}",
        may_break=f"{ANY} round-trip.trace-id",
    ),
    missing(
        "count-dropped",
        "consumers are not told a deliveryCount",
        _drop_from(1),
        breaks=PRESENT,
        may_break=ANY,
    ),
    condition(
        "count-dropped-again",
        "a message delivered again has no deliveryCount",
        _drop_from(2),
        breaks=PRESENT,
        may_break=ANY,
    ),
    wrong_value(
        "count-as-text",
        "the deliveryCount is a string",
        change_received(_as_text),
        breaks=PRESENT,
        may_break=ANY,
    ),
    wrong_value(
        "count-constant",
        "the deliveryCount is always 1",
        _tell(lambda count: 1),
        breaks=GROWS,
    ),
    wrong_value(
        "count-by-two",
        "the deliveryCount grows by 2",
        _tell(lambda count: 2 * count - 1),
        breaks=GROWS,
    ),
    boundary(
        "count-ends-at-2",
        "the deliveryCount grows up to 2",
        _tell(lambda count: min(count, 2)),
        breaks=GROWS,
    ),
    extra(
        "count-doubled",
        "the deliveryCount doubles with each delivery",
        _tell(lambda count: 2 ** (count - 1)),
        breaks=GROWS,
    ),
    boundary(
        "count-from-below-0",
        "the deliveryCount of the first delivery is -1",
        _tell(lambda count: count - 2),
        breaks=NOT_NEGATIVE,
        may_break=ANY,
    ),
    wrong_value(
        "count-downwards",
        "the deliveryCount counts down from 0",
        _tell(lambda count: 1 - count),
        breaks=f"{NOT_NEGATIVE} {GROWS}",
        may_break=ANY,
    ),
    wrong_value(
        "count-unset-is-lowest",
        "the deliveryCount of the first delivery is the lowest Integer",
        _tell(lambda count: -(2**31) if count == 1 else count),
        breaks=NOT_NEGATIVE,
        may_break=ANY,
    ),
)
