"""Faults of counting deliveries."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_received
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    extra,
    late,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.oms import names

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


@missing("delivery-count.again", _reject)
def rejected_lost(delivery: Delivery) -> bool:
    """A message whose consumption failed is not delivered again."""
    return True


@boundary("delivery-count.again", _reject)
def rejected_twice_lost(delivery: Delivery) -> bool:
    """A message whose consumption failed twice is not delivered again."""
    return delivery.count > 1


@late("delivery-count.again", around(Group, "reject"))
def rejected_a_minute_late(
    original: Original, group: Group, delivery: Delivery, now: int
) -> object:
    """A message whose consumption failed is delivered again after a minute."""
    return original(group, delivery, now + _MINUTE_MS)


@condition("message.qos-default delivery-count.again", _reject)
def rejected_without_qos_lost(delivery: Delivery) -> bool:
    """A message without a qos whose consumption failed is not delivered again."""
    return names.QOS not in delivery.message.sent.header


@missing("delivery-count.present")
def count_dropped() -> Change:
    """Consumers are not told a deliveryCount."""
    return _drop_from(1)


@condition("delivery-count.present")
def count_dropped_again() -> Change:
    """A message delivered again has no deliveryCount."""
    return _drop_from(2)


@wrong_value("delivery-count.present", change_received)
def count_as_text(told: JsonObject, message: Message, count: int) -> None:
    """The deliveryCount is a string."""
    told[names.DELIVERY_COUNT] = str(count)


@wrong_value("delivery-count.grows", _tell)
def count_constant(count: int) -> int:
    """The deliveryCount is always 1."""
    return 1


@wrong_value("delivery-count.grows", _tell)
def count_by_two(count: int) -> int:
    """The deliveryCount grows by 2."""
    return 2 * count - 1


@boundary("delivery-count.grows", _tell)
def count_ends_at_2(count: int) -> int:
    """The deliveryCount grows up to 2."""
    return min(count, 2)


@extra("delivery-count.grows", _tell)
def count_doubled(count: int) -> int:
    """The deliveryCount doubles with each delivery."""
    return 1 << (count - 1)


@boundary("delivery-count.not-negative", _tell)
def count_from_below_0(count: int) -> int:
    """The deliveryCount of the first delivery is -1."""
    return count - 2


@wrong_value("delivery-count.not-negative delivery-count.grows", _tell)
def count_downwards(count: int) -> int:
    """The deliveryCount counts down from 0."""
    return 1 - count


@wrong_value("delivery-count.not-negative", _tell)
def count_unset_is_lowest(count: int) -> int:
    """The deliveryCount of the first delivery is the lowest Integer."""
    return -(2**31) if count == 1 else count


FAULTS = list_faults(__name__)
