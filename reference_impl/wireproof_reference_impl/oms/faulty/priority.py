"""Faults of priorities."""

from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core import broker, priority, ready_queue
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.ready_queue import Arrival, Rank
from wireproof_reference_impl.oms.core.refusal import BAD_PARAMETER, Refusal
from wireproof_reference_impl.oms.core.sent import Sent
from wireproof_reference_impl.oms.faulty.effect import (
    change_attribute,
    change_received,
    number_of,
    wrap,
)
from wireproof_reference_impl.oms.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.oms import names
from wireproof_spec.oms.names import HIGHEST_PRIORITY, LOWEST_PRIORITY
from wireproof_spec.strict_json import JsonValue


def _tell(change: Callable[[int], int]) -> Override:
    return change_attribute(names.PRIORITY, lambda told: change(number_of(told)))


def _default(value: int) -> Override:
    """Return an override by which a message without priority has another one than 5."""

    def wrong(original: Original, sent: int | None) -> object:
        return value if sent is None else original(sent)

    return around(priority, "effective_priority", wrong)


def _fold(fold: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides by which a priority outside the range becomes another one."""

    def wrong(original: Original, sent: int | None) -> object:
        return original(fold(sent) if sent is not None and _is_outside(sent) else sent)

    def tell(told: JsonObject, message: Message, count: int) -> None:
        sent = message.sent.number(names.PRIORITY)
        if sent is not None and _is_outside(sent):
            told[names.PRIORITY] = fold(sent)

    return around(priority, "effective_priority", wrong), change_received(tell)


def _refuse(is_refused: Callable[[int], bool]) -> Override:
    """Return an override by which some priorities are refused."""

    def wrong(original: Original, *arguments: object) -> Sent:
        sent: Sent = original(*arguments)
        value = sent.number(names.PRIORITY)
        if value is not None and is_refused(value):
            raise Refusal(BAD_PARAMETER, f"expected a priority from 1 to 10, found {value}")
        return sent

    return around(broker, "read_sent", wrong)


def _is_outside(value: int) -> bool:
    return not LOWEST_PRIORITY <= value <= HIGHEST_PRIORITY


def _rank_outside_as(is_meant: Callable[[int], bool], value: int) -> Change:
    """Return overrides by which some priorities rank as another one, and are told as sent."""

    def wrong(original: Original, sent: int | None) -> object:
        return original(value if sent is not None and is_meant(sent) else sent)

    def tell(told: JsonObject, message: Message, count: int) -> None:
        sent = message.sent.number(names.PRIORITY)
        if sent is not None and is_meant(sent):
            told[names.PRIORITY] = sent

    return around(priority, "effective_priority", wrong), change_received(tell)


@missing("round-trip.claimed", partial(change_attribute, names.PRIORITY))
def priority_dropped(told: JsonValue) -> None:
    """Consumers are not told the priority."""
    return


@wrong_value("round-trip.unchanged", _tell)
def priority_from_0(told: int) -> int:
    """Consumers are told priorities from 0 to 9."""
    return told - 1


@boundary("round-trip.unchanged", _tell)
def priority_10_is_9(told: int) -> int:
    """The highest priority arrives as 9."""
    return min(told, 9)


@boundary("priority.range", _refuse)
def priority_1_refused(value: int) -> bool:
    """A message of the lowest priority is refused."""
    return value == LOWEST_PRIORITY


@boundary("priority.range", _refuse)
def priority_10_refused(value: int) -> bool:
    """A message of the highest priority is refused."""
    return value == HIGHEST_PRIORITY


@condition("priority.range", _refuse)
def priority_from_eight_refused(value: int) -> bool:
    """A message of a priority from 8 to 10 is refused."""
    return 7 < value <= HIGHEST_PRIORITY


@condition("round-trip.unchanged", _tell)
def priority_of_three_levels(told: int) -> int:
    """Priorities are told as one of three levels."""
    return (told - 1) // 4 * 4 + 1


@wrong_value("priority.default")
def priority_by_default_4() -> Change:
    """The default priority is 4."""
    return _default(4)


@boundary("priority.default")
def priority_by_default_lowest() -> Change:
    """A message without priority has the lowest one."""
    return _default(LOWEST_PRIORITY)


@boundary("priority.default")
def priority_by_default_highest() -> Change:
    """A message without priority has the highest one."""
    return _default(HIGHEST_PRIORITY)


@condition("priority.default")
def priority_by_default_4_untold() -> Change:
    """A message without priority is told to have 5, and is ordered as one of 4."""
    return (
        _default(4),
        _tell(lambda told: 5 if told == 4 else told),
    )


@missing("priority.outside", _refuse)
def priority_11_refused(value: int) -> bool:
    """A message with a priority above 10 is refused."""
    return value > HIGHEST_PRIORITY


@boundary("priority.outside", _refuse)
def priority_0_refused(value: int) -> bool:
    """A message with priority 0 is refused."""
    return value == 0


@condition("priority.outside", _refuse)
def priority_below_0_refused(value: int) -> bool:
    """A message with a negative priority is refused."""
    return value < 0


@wrong_value("priority.not-folded", _fold)
def priority_clamped(value: int) -> int:
    """A priority above 10 counts as 10, one below 1 as 1."""
    return min(max(value, LOWEST_PRIORITY), HIGHEST_PRIORITY)


@wrong_value("priority.not-folded", _fold)
def priority_8_bits(value: int) -> int:
    """Priorities are kept in 8 bits."""
    return wrap(value, 8)


@wrong_value("priority.not-folded", _fold)
def priority_by_remainder(value: int) -> int:
    """A priority outside 1 to 10 is replaced by a remainder in that range."""
    return value % 10 + 1


@wrong_value("priority.order", replace_function(ready_queue, "rank"))
def priority_reversed(arrival: Arrival, *, orders_by_priority: bool) -> Rank:
    """Messages of the lowest priority come first."""
    return arrival.message.priority, arrival.number


@boundary("priority.outside")
def priority_above_ranks_highest() -> Change:
    """A message of a priority above 10 is delivered before those of priority 5."""
    return _rank_outside_as(lambda sent: sent > HIGHEST_PRIORITY, HIGHEST_PRIORITY)


@boundary("priority.outside")
def priority_below_ranks_lowest() -> Change:
    """A message of a priority below 1 is delivered after those of priority 5."""
    return _rank_outside_as(lambda sent: sent < LOWEST_PRIORITY, LOWEST_PRIORITY)


FAULTS = list_faults(__name__)
