"""Faults of ordered consumption: messages in flight, and their order."""

from collections.abc import Callable, Sequence
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core import channel as channels
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.late import LATE_NS, ServeTime
from wireproof_reference_impl.nsq.faulty.neighbours import NOTED, namesakes
from wireproof_reference_impl.nsq.faulty.returning import (
    Return,
    coming_back,
    overtaken_after,
    overtaken_when,
)
from wireproof_reference_impl.nsq.faulty.together import TOGETHER
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Effect

_WIDE = 10


MaySend = Callable[[Channel], bool]
Window = Callable[[int, int], int]
"""How many messages a client may hold that says so many with RDY, and what it was before."""


def _send_when(may_send: MaySend, *, window: int | None = _WIDE) -> tuple[Override, ...]:
    """Return overrides under which a rule decides whether another message is sent.

    `window` is the number of messages that each client may hold.
    """
    rule = _sent_when(may_send)
    return (rule,) if window is None else (rule, _hold_window(lambda said, before: window))


def _sent_when(may_send: MaySend) -> Override:
    def sent_when(channel: Channel) -> bool:
        return not channel.ordered or may_send(channel)

    return replace_function(Channel, "may_send", sent_when)


def _hold_window(window: Window) -> Override:
    def set_ready(
        original: Original, channel: Channel, subscriber: Subscriber, count: int
    ) -> None:
        before = subscriber.ready
        original(channel, subscriber, count)
        if channel.ignores_ready:
            subscriber.ready = window(count, before)

    return around(Channel, "set_ready", set_ready)


def _one_at_a_time(channel: Channel) -> bool:
    return not len(channel.in_flight) and not channel.deferred_count


def _widen(window: Window) -> tuple[Override, ...]:
    """Return overrides that change how many messages an RDY allows."""
    return (_sent_when(lambda channel: not channel.deferred_count), _hold_window(window))


def _next_of(place_of: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that choose which waiting message an ordered channel sends next."""

    def pick(original: Original, channel: Channel, waiting: int) -> object:
        return place_of(waiting) if channel.ordered else original(channel, waiting)

    return (around(Channel, "pick", pick),)


def _at_most(count: int) -> MaySend:
    return lambda channel: len(channel.in_flight) < count and not channel.deferred_count


def _when_held_long() -> tuple[Override, ...]:
    """Return overrides under which a second message is sent 3 s after the first."""
    time = ServeTime()

    def may_send(channel: Channel) -> bool:
        sent_ns = [each.sent_ns for each in channel.in_flight.held.values()]
        return _one_at_a_time(channel) or (
            len(sent_ns) == 1 and time.now_ns - sent_ns[0] >= LATE_NS
        )

    def send(
        original: Original, channel: Channel, held: Held, chosen: Sequence[Subscriber], now_ns: int
    ) -> None:
        original(channel, held, chosen, now_ns)
        if channel.ordered:
            channel.timers.at(now_ns + LATE_NS, channel.serve)

    return (time.note_time(), around(Channel, "send", send), *_send_when(may_send))


@extra("smart.order.one-in-flight smart.order.rdy")
def order_two_in_flight() -> Change:
    """An ordered channel has two messages in flight."""
    return Effect({}, _send_when(_at_most(2)), Effect({}, _when_held_long()))


class _TouchedMessage(Held):
    """A message with the time it was sent and of its last TOUCH."""

    touched_ns = 0


def _noting_touch(
    original: Original,
    in_flight: InFlight,
    internal_id: int,
    subscriber: Subscriber,
    *,
    now_ns: int,
    most_ns: int,
) -> None:
    original(in_flight, internal_id, subscriber, now_ns=now_ns, most_ns=most_ns)
    held = in_flight.held[internal_id]
    if isinstance(held, _TouchedMessage):
        held.touched_ns = held.sent_ns


def _when_touched(channel: Channel) -> bool:
    held = channel.in_flight.held.values()
    touched = any(
        isinstance(each, _TouchedMessage) and each.touched_ns == each.sent_ns for each in held
    )
    return _one_at_a_time(channel) or (touched and len(held) == 1)


@condition("smart.order.one-in-flight")
def order_touch_makes_room() -> Change:
    """On an ordered channel, a message extended with TOUCH no longer blocks the next message."""
    return (
        replace_function(channels, "Held", _TouchedMessage),
        around(InFlight, "touch", _noting_touch),
        *_send_when(_when_touched),
    )


@extra("smart.order.one-in-flight", partial(_send_when, window=None))
def order_one_for_each_client(channel: Channel) -> bool:
    """Each client of an ordered channel has one message in flight."""
    return not channel.deferred_count and any(
        not subscriber.held for subscriber in channel.subscribers
    )


@boundary("smart.order.rdy", _widen)
def order_window_of_50(said: int, before: int) -> int:
    """From RDY 50 on, an ordered channel may have five messages in flight."""
    return 5 if said >= 50 else 1


@extra("smart.order.rdy", _widen)
def order_rdy_adds_up(said: int, before: int) -> int:
    """On an ordered channel, each RDY allows one more message in flight."""
    return before + 1 if before else 1


@condition("smart.order.rdy", _hold_window)
def order_rdy_zero_obeyed(said: int, before: int) -> int:
    """On an ordered channel, RDY 0 stops delivery although RDY is to be ignored there."""
    return min(said, 1)


@wrong_value("smart.order.again")
def order_put_back_overtaken() -> Change:
    """On an ordered channel, later messages are delivered before one that was requeued."""
    return overtaken_after(Return.PUT_BACK)


@condition("smart.order.again")
def order_timed_out_overtaken() -> Change:
    """On an ordered channel, later messages are delivered before one that timed out."""
    return overtaken_after(Return.TIMED_OUT)


@condition("smart.order.left")
def order_left_overtaken() -> Change:
    """On an ordered channel, later messages are delivered before one whose client disconnected."""
    return overtaken_after(Return.LEFT)


@missing("smart.order.left", around(Channel, "give_back"))
def order_left_lost(
    original: Original, channel: Channel, held: Sequence[Held], now_ns: int
) -> None:
    """On an ordered channel, a message is lost when its client disconnects."""
    original(channel, () if channel.ordered else held, now_ns)


@wrong_value("smart.order.left", around(Channel, "pick"), also=(*overtaken_after(Return.LEFT),))
def order_left_newest_first(original: Original, channel: Channel, waiting: int) -> object:
    """On an ordered channel, the newest message is delivered before one whose client
    disconnected.
    """
    returned = channel.ordered and channel.returned
    return waiting - 1 if returned else original(channel, waiting)


@wrong_value("smart.order.attempts", coming_back)
def attempts_counted_twice(held: Held, why: Return) -> Held:
    """A message that is requeued or times out counts as delivered once more than it was."""
    held.attempts += 1
    return held


@boundary("smart.order.attempts", coming_back)
def attempts_counted_to_three(held: Held, why: Return) -> Held:
    """The number of attempts of a message that comes again is never more than 3."""
    held.attempts = min(held.attempts, 2)
    return held


@boundary("smart.order.again", overtaken_when)
def order_overtaken_the_second_time(held: Held) -> bool:
    """On an ordered channel, later messages are delivered before one due for a second
    redelivery.
    """
    return held.attempts > 1


@missing("smart.order.again", coming_back)
def order_put_back_lost(held: Held, why: Return) -> Held | None:
    """On an ordered channel, a message that is requeued is lost."""
    return None if why is Return.PUT_BACK else held


@condition("smart.order.again", partial(_send_when, window=1))
def order_not_when_deferred(channel: Channel) -> bool:
    """On an ordered channel, a message requeued with a delay does not block later messages."""
    return not len(channel.in_flight)


@wrong_value("smart.order.in-order", _next_of)
def order_newest_first(waiting: int) -> int:
    """An ordered channel delivers the newest waiting message first."""
    return waiting - 1


@condition("smart.order.in-order", _next_of)
def order_two_swapped(waiting: int) -> int:
    """An ordered channel with exactly two waiting messages delivers the later one first."""
    return 1 if waiting == 2 else 0


@boundary("smart.order.in-order", _next_of)
def order_lost_among_many(waiting: int) -> int:
    """An ordered channel with more than 15 waiting messages delivers the second one first."""
    return 1 if waiting > 15 else 0


@condition(
    "smart.order.partition",
    _sent_when,
    also=(
        NOTED,
        TOGETHER,
    ),
)
def order_held_back_by_another_partition(channel: Channel) -> bool:
    """A message in flight blocks the ordered channels of the same name at other partitions."""
    return _one_at_a_time(channel) and not any(
        len(namesake.in_flight) for namesake in namesakes(channel)
    )


FAULTS = list_faults(__name__)
