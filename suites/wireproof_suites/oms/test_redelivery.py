"""Counting deliveries: a consumer that fails, and is given the message again."""

from collections.abc import Sequence
from itertools import pairwise

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Delivery
from wireproof_kit.oms.adapter.system import System
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.steps import is_integer, take_again

NEEDS = ("delivery-count", "nack")
UNTOLD = "untold"


@case("oms/delivery-count/again", clause="oms.delivery-count.again", needs=("nack",), waiting=True)
def test_again(system: System) -> Observation:
    """A message whose consumption fails twice is delivered three times."""
    deliveries = take_again(system, 3)
    return deliveries if isinstance(deliveries, Observation) else observed("delivered")


@case("oms/delivery-count/present", clause="oms.delivery-count.present", needs=NEEDS, waiting=True)
def test_present(system: System) -> Observation:
    """A redelivered message has a deliveryCount of type Integer."""
    deliveries = take_again(system, 2)
    if isinstance(deliveries, Observation):
        return deliveries
    count = deliveries[1].attributes.get(names.DELIVERY_COUNT)
    if names.DELIVERY_COUNT not in deliveries[1].attributes:
        return observed("dropped")
    return observed("integer" if is_integer(count) else "other-type", note=repr(count))


@case(
    "oms/delivery-count/not-negative",
    clause="oms.delivery-count.not-negative",
    needs=NEEDS,
    waiting=True,
)
def test_not_negative(system: System) -> Observation:
    """In the first three deliveries of a message, deliveryCount is never negative."""
    deliveries = take_again(system, 3)
    if isinstance(deliveries, Observation):
        return deliveries
    told = _told(deliveries)
    if not told:
        return observed(UNTOLD)
    return observed("not-negative" if min(told) >= 0 else "negative", note=_shown(told))


@case("oms/delivery-count/grows", clause="oms.delivery-count.grows", needs=NEEDS, waiting=True)
def test_grows(system: System) -> Observation:
    """A deliveryCount grows by 1 with each of three further deliveries."""
    deliveries = take_again(system, 4)
    if isinstance(deliveries, Observation):
        return deliveries
    told = _told(deliveries[1:])
    if len(told) < len(deliveries) - 1:
        return observed(UNTOLD)
    told = [*_told(deliveries[:1]), *told]  # the first delivery may leave it out
    steps = {after - before for before, after in pairwise(told)}
    return observed("by-one" if steps == {1} else "otherwise", note=_shown(told))


@case("oms/delivery-count/base", clause="oms.delivery-count.base", needs=NEEDS, waiting=True)
def test_base(system: System) -> Observation:
    """The deliveryCount of a first delivery is 1 or 0."""
    deliveries = take_again(system, 1)
    if isinstance(deliveries, Observation):
        return deliveries
    told = _told(deliveries)
    if not told:
        return observed(UNTOLD)
    return observed({1: "one", 0: "zero"}.get(told[0], "other"), note=_shown(told))


def _told(deliveries: Sequence[Delivery]) -> list[int]:
    counts: list[JsonValue] = [each.attributes.get(names.DELIVERY_COUNT) for each in deliveries]
    return [int(count) for count in counts if isinstance(count, int) and is_integer(count)]


def _shown(told: Sequence[int]) -> str:
    return "counts " + ", ".join(map(str, told))
