"""Priorities: which are accepted, what arrives, and what comes first out of a backlog."""

from collections.abc import Sequence

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING
from wireproof_kit.oms.adapter.system import System
from wireproof_kit.runner.patience import PUSH
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import is_integer, missing, travel

NEEDS = ("priority",)
OUTSIDE = (0, -1, 11, 200, 300, -(2**31), 2**31 - 1)
RANKED = (0, 11, 300)
OF_EACH = 20
# 200 messages in random order correlate by chance with a standard deviation of 0.07.
LEAST_CORRELATION = 0.2
CLEAR_CORRELATION = 0.6
MOST_APART = 0.25
"""Of the way from the highest to the lowest priority; the next level would be a third away."""
UNSET = -(1 << 40)
"""Stands for no priority; it is no number that a message may have."""
STEP = 73
"""Prime to the numbers of messages, so that it shuffles them the same way in each run."""


@case("oms/priority/range", clause="oms.priority.range", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("priority", range(names.LOWEST_PRIORITY, names.HIGHEST_PRIORITY + 1))
def test_range(system: System, priority: int) -> Observation:
    """A message with a priority from 1 to 10 is accepted and delivered."""
    trip = travel(system, {names.PRIORITY: priority})
    return observed("delivered") if trip.delivery else trip.failure() or missing()


@case("oms/priority/default", clause="oms.priority.default", needs=NEEDS, waiting=True)
def test_default(system: System) -> Observation:
    """A message without priority arrives with priority 5, or without one."""
    trip = travel(system)
    if trip.delivery is None:
        return trip.failure() or missing()
    attributes = trip.delivery.attributes
    if names.PRIORITY not in attributes:
        return observed("untold")
    is_default = attributes[names.PRIORITY] == names.DEFAULT_PRIORITY
    return observed("default" if is_default else "other", note=repr(attributes[names.PRIORITY]))


@case("oms/priority/outside", clause="oms.priority.outside", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("priority", OUTSIDE)
def test_outside(system: System, priority: int) -> Observation:
    """A message with a priority outside 1 to 10 is accepted and delivered."""
    trip = travel(system, {names.PRIORITY: priority})
    return observed("delivered") if trip.delivery else trip.failure() or missing()


@case("oms/priority/not-folded", clause="oms.priority.not-folded", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("priority", OUTSIDE)
def test_not_folded(system: System, priority: int) -> Observation:
    """A message with a priority outside 1 to 10 arrives with that priority, with 5, or none."""
    trip = travel(system, {names.PRIORITY: priority})
    if trip.delivery is None:
        return trip.failure() or missing()
    attributes = trip.delivery.attributes
    if names.PRIORITY not in attributes:
        return observed("untold")
    told = attributes[names.PRIORITY]
    if not is_integer(told) or told not in (priority, names.DEFAULT_PRIORITY):
        return observed("folded", note=f"{priority} was sent, {told!r} arrived")
    return observed("as-sent" if told == priority else "default")


@case("oms/priority/order", clause="oms.priority.order", needs=NEEDS, waiting=True)
def test_order(system: System) -> Observation:
    """Out of a backlog of 200 messages, those of higher priority tend to come first."""
    order = _take_backlog(system, range(names.LOWEST_PRIORITY, names.HIGHEST_PRIORITY + 1))
    return order if isinstance(order, Observation) else _observe_order(order)


@case("oms/priority/default-order", clause="oms.priority.default", needs=NEEDS, waiting=True)
def test_default_order(system: System) -> Observation:
    """Messages without priority, in a backlog, are delivered among those of priority 5."""
    return _rank_as_default(system, UNSET)


@case("oms/priority/outside-order", clause="oms.priority.outside", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("priority", RANKED)
def test_outside_order(system: System, priority: int) -> Observation:
    """Messages of a priority outside 1 to 10, in a backlog, are among those of priority 5."""
    return _rank_as_default(system, priority)


def _rank_as_default(system: System, other: int) -> Observation:
    """Observe where messages of another priority come among those of 1, 5 and 10."""
    lowest, middle, highest = names.LOWEST_PRIORITY, names.DEFAULT_PRIORITY, names.HIGHEST_PRIORITY
    order = _take_backlog(system, (lowest, middle, highest, other))
    if isinstance(order, Observation):
        return order
    by_rank = [each for each in order if each != other]
    correlation = -_correlation(by_rank)
    if correlation < CLEAR_CORRELATION:
        return observed("unordered", note=f"correlation {correlation:+.2f}")
    first, last = _mean_rank(order, highest), _mean_rank(order, lowest)
    apart = (_mean_rank(order, other) - _mean_rank(order, middle)) / (last - first)
    note = f"apart by {apart:+.2f} of the way from priority 10 to priority 1"
    return observed("as-default" if abs(apart) < MOST_APART else "not-as-default", note=note)


def _take_backlog(system: System, priorities: Sequence[int]) -> list[int] | Observation:
    """Send a backlog with equally many messages of each priority; return their order."""
    destination, consumer = system.warm_destination()
    count = OF_EACH * len(priorities)
    sent_as: dict[str, int] = {}
    for number in range(count):
        priority = priorities[number * STEP % count // OF_EACH]
        sent = destination.send(NOTHING if priority == UNSET else {names.PRIORITY: priority})
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        sent_as[sent.key] = priority
    order: list[int] = []
    while len(order) < count:
        got = consumer.receive(within=system.patience.seconds(PUSH), most=1)
        if not got:
            return missing()
        for delivery in got:
            consumer.settle(delivery)
            if delivery.key in sent_as:
                order.append(sent_as.pop(delivery.key))
    return order


def _observe_order(order: list[int]) -> Observation:
    correlation = -_correlation(order)
    highest, lowest = _mean_rank(order, max(order)), _mean_rank(order, min(order))
    note = f"correlation {correlation:+.2f}; mean rank of 10: {highest:.0f}, of 1: {lowest:.0f}"
    if correlation >= LEAST_CORRELATION and highest < lowest:
        return observed("higher-first", note=note)
    return observed("lower-first" if correlation <= -LEAST_CORRELATION else "unordered", note=note)


def _mean_rank(order: list[int], priority: int) -> float:
    ranks = [rank for rank, each in enumerate(order) if each == priority]
    return sum(ranks) / len(ranks)


def _correlation(values: list[int]) -> float:
    """Return the rank correlation of values with their positions; equally many of each value."""
    middle_rank, middle = (len(values) - 1) / 2, sum(values) / len(values)
    pairs = [(rank - middle_rank, value - middle) for rank, value in enumerate(values)]
    both = sum(rank * value for rank, value in pairs)
    alone = sum(rank**2 for rank, _ in pairs) * sum(value**2 for _, value in pairs)
    return both / alone**0.5 if alone else 0.0
