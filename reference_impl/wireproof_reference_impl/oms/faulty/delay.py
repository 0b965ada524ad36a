"""Faults of delays."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core import timing
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.destination import Destination
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.timing import LATEST
from wireproof_reference_impl.oms.faulty.effect import (
    OfLast,
    change_delay,
    change_due,
    change_stored,
    given_to_new_groups,
    wrap,
)
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    late,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.oms import names

_SECOND = 1000
_LATE_MS = 3000
_HELD_MS = 100
_YEAR_MS = 365 * 86_400_000


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


@missing("delay.not-early delay.no-wrap", change_delay)
def delay_ignored(delay: int | None) -> int | None:
    """delayTime is ignored: every message is delivered at once."""
    return None


@wrong_value("delay.not-early", change_delay)
def delay_in_microseconds(delay: int | None) -> int | None:
    """delayTime is taken for microseconds."""
    return delay and delay // 1000


@wrong_value("delay.soon", change_delay)
def delay_in_seconds(delay: int | None) -> int | None:
    """delayTime is taken for seconds."""
    return delay and delay * 1000


@boundary("delay.not-early", change_due)
def delay_cut_to_seconds(born: int, due: int) -> int:
    """Due times are cut down to whole seconds."""
    return born if due == born else max(born, due - due % _SECOND)


@boundary("delay.not-early", change_delay)
def delay_short_by_200_ms(delay: int | None) -> int | None:
    """A delayed message is delivered 200 ms early."""
    return delay and max(delay - 200, 0)


@wrong_value("delay.no-wrap", change_delay)
def delay_wraps_16_bits(delay: int | None) -> int | None:
    """delayTime is kept in 16 bits."""
    return delay and wrap(delay, 16)


@wrong_value("delay.no-wrap", change_delay)
def delay_wraps_32_bits(delay: int | None) -> int | None:
    """delayTime is kept in 32 bits."""
    return delay and wrap(delay, 32)


@boundary("delay.no-wrap", replace_function(timing, "due_time"))
def due_time_wraps_64_bits(born: int, delay: int | None) -> int:
    """A due time beyond the range of Long wraps around into the past."""
    return wrap(born + max(delay or 0, 0), 64)


@missing("delay.no-wrap", change_delay)
def delay_of_a_year_ignored(delay: int | None) -> int | None:
    """A delay of more than a year is ignored."""
    return None if delay is not None and delay > _YEAR_MS else delay


@late("delay.at-once", change_delay)
def delay_by_default(delay: int | None) -> int | None:
    """A message without delayTime is delivered after 3 s."""
    return _LATE_MS if delay is None else delay


@boundary("delay.soon", change_delay)
def delay_of_0_is_3_s(delay: int | None) -> int | None:
    """A message with a delayTime of 0 is delivered after 3 s."""
    return _LATE_MS if delay == 0 else delay


@condition("delay.at-once")
def delay_every_second() -> Change:
    """Every second message without delayTime is delivered after 3 s."""
    last = OfLast()

    def change(delay: int | None) -> int | None:
        # Each second one finds the mark of the one before it, and leaves none.
        is_second = delay is None and last.swap(None) is not None
        if delay is None and not is_second:
            last.swap(1)
        return _LATE_MS if is_second else delay

    return last.override(), change_delay(change)


@condition("delay.at-once")
def delay_of_the_last() -> Change:
    """A message without delayTime waits as long as the one before it had to."""
    last = OfLast()
    return last.override(), change_delay(last.swap)


@late("delay.soon", change_delay)
def delay_late_by_3_s(delay: int | None) -> int | None:
    """A delayed message is delivered 3 s after its due time."""
    return delay + _LATE_MS if delay and delay > 0 else delay


@wrong_value("delay.from-birth", _delay_from)
def delay_from_storing(delay: int, held: int) -> bool:
    """delayTime counts from the time when the message is stored."""
    return True


@boundary("delay.from-birth", _delay_from)
def delay_of_a_second_from_storing(delay: int, held: int) -> bool:
    """A delayTime of a second and more counts from the time when the message is stored."""
    return delay >= _SECOND


@condition("delay.from-birth", _delay_from)
def delay_from_storing_if_held(delay: int, held: int) -> bool:
    """delayTime counts from storing if a message was held for more than 100 ms."""
    return held > _HELD_MS


@missing("delay.negative", change_delay)
def delay_below_0_lost(delay: int | None) -> int | None:
    """A message with a negative delayTime is accepted and never delivered."""
    return LATEST if delay is not None and delay < 0 else delay


@wrong_value("delay.negative", change_delay)
def delay_below_0_turned(delay: int | None) -> int | None:
    """A negative delayTime delays as much as the positive one."""
    return delay and abs(delay)


def _by_commit(due: Callable[[Message], int]) -> Override:
    """Return an override that changes the due time of messages that are committed."""

    def add(original: Original, destination: Destination, message: Message) -> None:
        is_committed = message.transaction_id is not None
        original(destination, replace(message, due=due(message)) if is_committed else message)

    return around(Destination, "add", add)


@condition("delay.not-early", _by_commit)
def delay_ignored_by_commit(message: Message) -> int:
    """The delayTime of a message that was prepared is ignored."""
    return message.born


@late("delay.from-birth", _by_commit)
def delay_twice_by_commit(message: Message) -> int:
    """The delayTime of a message that was prepared begins again when it is over."""
    return message.due + message.due - message.born


@late("delay.at-once", _by_commit)
def delay_of_3_s_by_commit(message: Message) -> int:
    """A message that was committed is delivered 3 s later."""
    return message.due if message.due > message.born else message.due + _LATE_MS


@condition("delay.not-early")
def delayed_given_to_new_groups() -> Change:
    """A new group gets messages that wait for their delay."""
    return given_to_new_groups(Destination, "add")


@condition("delay.not-early", change_stored)
def delay_short_with_key(message: Message) -> Message:
    """A delayed message that has a messageKey is delivered 300 ms early."""
    has_key = names.MESSAGE_KEY in message.sent.extension_header
    return replace(message, due=max(message.born, message.due - 300)) if has_key else message


FAULTS = list_faults(__name__)
