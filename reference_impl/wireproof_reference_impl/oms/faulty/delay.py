"""Faults of delays."""

from collections.abc import Callable

from wireproof_reference_impl.oms.core import timing
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.timing import LATEST
from wireproof_reference_impl.oms.faulty.effect import (
    OfLast,
    boundary,
    change_delay,
    change_due,
    condition,
    late,
    missing,
    wrap,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset

_SECOND = 1000
_LATE_MS = 3000
_HELD_MS = 100
_YEAR_MS = 365 * 86_400_000


def _wrapped_due_time(born: int, delay: int | None) -> int:
    return wrap(born + max(delay or 0, 0), 64)


def _default_delay(delay: int | None) -> int | None:
    return _LATE_MS if delay is None else delay


def _delay_of_nothing(delay: int | None) -> int | None:
    return _LATE_MS if delay == 0 else delay


def _delay_of_last() -> tuple[Override, ...]:
    """Return overrides by which a message without a delay takes that of the one before it."""
    last = OfLast()
    return last.override(), change_delay(last.swap)


def _delay_from(is_from_storing: Callable[[int, int], bool]) -> tuple[Override, ...]:
    """Return overrides by which some delays count from storing, not from birth.

    The function is given the delay, and how long the message took from birth to the store.
    """
    stored: list[int] = []

    def send(original: Original, *arguments: object, now: int, **named: object) -> object:
        stored[:] = [now]
        return original(*arguments, now=now, **named)

    def due_time(original: Original, born: int, delay: int | None) -> object:
        held = stored[0] - born if stored else 0
        return original(born + held if is_from_storing(delay or 0, held) else born, delay)

    return around(Broker, "send", send), around(timing, "due_time", due_time)


def _every_second() -> tuple[Override, ...]:
    """Return overrides by which every second message of a destination without a delay is late."""
    last = OfLast()

    def change(delay: int | None) -> int | None:
        # Each second one finds the mark of the one before it, and leaves none.
        is_second = delay is None and last.swap(None) is not None
        if delay is None and not is_second:
            last.swap(1)
        return _LATE_MS if is_second else delay

    return last.override(), change_delay(change)


def _lose_negative(delay: int | None) -> int | None:
    return LATEST if delay is not None and delay < 0 else delay


DELAY = "delay.not-early"
HUGE = "delay.no-wrap"
SOON = "delay.soon"

FAULTS: tuple[Preset, ...] = (
    missing(
        "delay-ignored",
        "delayTime is ignored: every message is delivered at once",
        change_delay(lambda delay: None),
        breaks=f"{DELAY} {HUGE}",
        may_break="expire.between",
    ),
    wrong_value(
        "delay-in-microseconds",
        "delayTime is taken for microseconds",
        change_delay(lambda delay: delay and delay // 1000),
        breaks=DELAY,
        may_break=f"{HUGE}",
    ),
    wrong_value(
        "delay-in-seconds",
        "delayTime is taken for seconds",
        change_delay(lambda delay: delay and delay * 1000),
        breaks=SOON,
        may_break=f"{DELAY} delay.from-birth",
    ),
    boundary(
        "delay-cut-to-seconds",
        "due times are cut down to whole seconds",
        change_due(lambda born, due: born if due == born else max(born, due - due % _SECOND)),
        breaks=DELAY,
    ),
    boundary(
        "delay-short-by-200-ms",
        "a delayed message is delivered 200 ms early",
        change_delay(lambda delay: delay and max(delay - 200, 0)),
        breaks=DELAY,
    ),
    wrong_value(
        "delay-wraps-16-bits",
        "delayTime is kept in 16 bits",
        change_delay(lambda delay: delay and wrap(delay, 16)),
        breaks=HUGE,
        may_break=DELAY,
    ),
    wrong_value(
        "delay-wraps-32-bits",
        "delayTime is kept in 32 bits",
        change_delay(lambda delay: delay and wrap(delay, 32)),
        breaks=HUGE,
    ),
    boundary(
        "due-time-wraps-64-bits",
        "a due time beyond the range of Long wraps around into the past",
        replace_function(timing, "due_time", _wrapped_due_time),
        breaks=HUGE,
    ),
    missing(
        "delay-of-a-year-ignored",
        "a delay of more than a year is ignored",
        change_delay(lambda delay: None if delay is not None and delay > _YEAR_MS else delay),
        breaks=HUGE,
    ),
    late(
        "delay-by-default",
        "a message without delayTime is delivered after 3 s",
        change_delay(_default_delay),
        breaks="delay.at-once",
    ),
    boundary(
        "delay-of-0-is-3-s",
        "a message with a delayTime of 0 is delivered after 3 s",
        change_delay(_delay_of_nothing),
        breaks=SOON,
    ),
    condition(
        "delay-every-second",
        "every second message without delayTime is delivered after 3 s",
        *_every_second(),
        breaks="delay.at-once",
    ),
    condition(
        "delay-of-the-last",
        "a message without delayTime waits as long as the one before it had to",
        *_delay_of_last(),
        breaks="delay.at-once",
    ),
    late(
        "delay-late-by-3-s",
        "a delayed message is delivered 3 s after its due time",
        change_delay(lambda delay: delay + _LATE_MS if delay and delay > 0 else delay),
        breaks=SOON,
        may_break=f"{DELAY} {HUGE} delay.from-birth expire.between",
    ),
    wrong_value(
        "delay-from-storing",
        "delayTime counts from the time when the message is stored",
        *_delay_from(lambda delay, held: True),
        breaks="delay.from-birth",
    ),
    boundary(
        "delay-of-a-second-from-storing",
        "a delayTime of a second and more counts from the time when the message is stored",
        *_delay_from(lambda delay, held: delay >= _SECOND),
        breaks="delay.from-birth",
    ),
    condition(
        "delay-from-storing-if-held",
        "delayTime counts from storing if a message was held for more than 100 ms",
        *_delay_from(lambda delay, held: held > _HELD_MS),
        breaks="delay.from-birth",
    ),
    missing(
        "delay-below-0-lost",
        "a message with a negative delayTime is accepted and never delivered",
        change_delay(_lose_negative),
        breaks="delay.negative",
    ),
    wrong_value(
        "delay-below-0-turned",
        "a negative delayTime delays as much as the positive one",
        change_delay(lambda delay: delay and abs(delay)),
        breaks="delay.negative",
    ),
)
