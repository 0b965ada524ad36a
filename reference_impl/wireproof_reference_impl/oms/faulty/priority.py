"""Faults of priorities."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.oms.core import broker, priority, ready_queue
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.ready_queue import Arrival, Rank
from wireproof_reference_impl.oms.core.refusal import BAD_PARAMETER, Refusal
from wireproof_reference_impl.oms.core.sent import Sent
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_attribute,
    change_received,
    condition,
    missing,
    wrap,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names
from wireproof_spec.oms.names import HIGHEST_PRIORITY, LOWEST_PRIORITY
from wireproof_spec.strict_json import JsonValue

RANGE = "priority.range"
DEFAULT = "priority.default"
OUTSIDE = "priority.outside"
FOLDED = "priority.not-folded"
ORDER = "priority.order"
ANY = "round-trip.unchanged round-trip.claimed"


def _tell(change: Callable[[int], int]) -> Override:
    return change_attribute(names.PRIORITY, lambda told: change(cast(int, told)))


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
        sent = cast(Sent, original(*arguments))
        value = sent.number(names.PRIORITY)
        if value is not None and is_refused(value):
            raise Refusal(BAD_PARAMETER, f"expected a priority from 1 to 10, found {value}")
        return sent

    return around(broker, "read_sent", wrong)


def _is_outside(value: int) -> bool:
    return not LOWEST_PRIORITY <= value <= HIGHEST_PRIORITY


def _reversed_rank(arrival: Arrival, *, orders_by_priority: bool) -> Rank:
    return arrival.message.priority, arrival.number


def _clamp(value: int) -> int:
    return min(max(value, LOWEST_PRIORITY), HIGHEST_PRIORITY)


def _no_priority(told: JsonValue) -> None:
    return None


FAULTS: tuple[Preset, ...] = (
    missing(
        "priority-dropped",
        "consumers are not told the priority",
        change_attribute(names.PRIORITY, _no_priority),
        breaks="round-trip.claimed",
        may_break=ANY,
    ),
    wrong_value(
        "priority-from-0",
        "consumers are told priorities from 0 to 9",
        _tell(lambda told: told - 1),
        breaks="round-trip.unchanged",
        may_break=f"{ANY} {DEFAULT} {FOLDED}",
    ),
    boundary(
        "priority-10-is-9",
        "the highest priority arrives as 9",
        _tell(lambda told: min(told, 9)),
        breaks="round-trip.unchanged",
        may_break=ANY,
    ),
    boundary(
        "priority-1-refused",
        "a message of the lowest priority is refused",
        _refuse(lambda value: value == LOWEST_PRIORITY),
        breaks=RANGE,
        may_break=f"{ORDER} {DEFAULT}",
    ),
    boundary(
        "priority-10-refused",
        "a message of the highest priority is refused",
        _refuse(lambda value: value == HIGHEST_PRIORITY),
        breaks=RANGE,
        may_break=f"{ORDER} {ANY}",
    ),
    condition(
        "priority-from-eight-refused",
        "a message of a priority from 8 to 10 is refused",
        _refuse(lambda value: 7 < value <= HIGHEST_PRIORITY),
        breaks=RANGE,
        may_break=f"{ORDER} {ANY} priority.default",
    ),
    condition(
        "priority-of-three-levels",
        "priorities are told as one of three levels",
        _tell(lambda told: (told - 1) // 4 * 4 + 1),
        breaks="round-trip.unchanged",
        may_break=ANY,
    ),
    wrong_value(
        "priority-by-default-4",
        "the default priority is 4",
        _default(4),
        breaks=DEFAULT,
    ),
    boundary(
        "priority-by-default-lowest",
        "a message without priority has the lowest one",
        _default(LOWEST_PRIORITY),
        breaks=DEFAULT,
    ),
    boundary(
        "priority-by-default-highest",
        "a message without priority has the highest one",
        _default(HIGHEST_PRIORITY),
        breaks=DEFAULT,
    ),
    condition(
        "priority-by-default-4-untold",
        "a message without priority is told to have 5, and is ordered as one of 4",
        _default(4),
        _tell(lambda told: 5 if told == 4 else told),
        breaks=DEFAULT,
        may_break=ANY,
    ),
    missing(
        "priority-11-refused",
        "a message with a priority above 10 is refused",
        _refuse(lambda value: value > HIGHEST_PRIORITY),
        breaks=OUTSIDE,
        may_break=FOLDED,
    ),
    boundary(
        "priority-0-refused",
        "a message with priority 0 is refused",
        _refuse(lambda value: value == 0),
        breaks=OUTSIDE,
        may_break=FOLDED,
    ),
    condition(
        "priority-below-0-refused",
        "a message with a negative priority is refused",
        _refuse(lambda value: value < 0),
        breaks=OUTSIDE,
        may_break=FOLDED,
    ),
    wrong_value(
        "priority-clamped",
        "a priority above 10 counts as 10, one below 1 as 1",
        *_fold(_clamp),
        breaks=FOLDED,
        may_break=OUTSIDE,
    ),
    wrong_value(
        "priority-8-bits",
        "priorities are kept in 8 bits",
        *_fold(lambda value: wrap(value, 8)),
        breaks=FOLDED,
        may_break=OUTSIDE,
    ),
    wrong_value(
        "priority-by-remainder",
        "a priority outside 1 to 10 is replaced by a remainder in that range",
        *_fold(lambda value: value % 10 + 1),
        breaks=FOLDED,
        may_break=OUTSIDE,
    ),
    wrong_value(
        "priority-reversed",
        "messages of the lowest priority come first",
        replace_function(ready_queue, "rank", _reversed_rank),
        breaks=ORDER,
        may_break=f"{DEFAULT} {OUTSIDE}",
    ),
)
