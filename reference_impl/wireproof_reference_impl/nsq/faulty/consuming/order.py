"""Faults of ordered consumption: messages in flight, and their order."""

from collections.abc import Callable, Sequence

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
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function

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


def _at_most(count: int) -> MaySend:
    return lambda channel: len(channel.in_flight) < count and not channel.deferred_count


def _when_idle(channel: Channel) -> bool:
    return not channel.deferred_count and any(not each.held for each in channel.subscribers)


def _when_deferred(channel: Channel) -> bool:
    return not len(channel.in_flight)


def _not_beside_others(channel: Channel) -> bool:
    return _one_at_a_time(channel) and not any(len(each.in_flight) for each in namesakes(channel))


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


def _widen(window: Window) -> tuple[Override, ...]:
    """Return overrides that change how many messages an RDY allows."""
    return (_sent_when(lambda channel: not channel.deferred_count), _hold_window(window))


def _at_most_one(said: int, before: int) -> int:
    return min(said, 1)


def _overtaken_second_time(held: Held) -> bool:
    return held.attempts > 1


def _lost_when_put_back(held: Held, why: Return) -> Held | None:
    return None if why is Return.PUT_BACK else held


def _next_of(place_of: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that choose which waiting message an ordered channel sends next."""

    def pick(original: Original, channel: Channel, waiting: int) -> object:
        return place_of(waiting) if channel.ordered else original(channel, waiting)

    return (around(Channel, "pick", pick),)


def _counted_twice(held: Held, why: Return) -> Held:
    held.attempts += 1
    return held


def _counted_to_three(held: Held, why: Return) -> Held:
    held.attempts = min(held.attempts, 2)
    return held


def _lost_when_left(
    original: Original, channel: Channel, held: Sequence[Held], now_ns: int
) -> None:
    original(channel, () if channel.ordered else held, now_ns)


def _newest_first_when_returned(original: Original, channel: Channel, waiting: int) -> object:
    returned = channel.ordered and channel.returned
    return waiting - 1 if returned else original(channel, waiting)


_ONE = "smart.order.one-in-flight"
_RDY = "smart.order.rdy"
_AGAIN = "smart.order.again"
_LEFT = "smart.order.left"
_IN_ORDER = "smart.order.in-order"
_LAYOUT = "smart.order.layout"
_POSITION = "smart.order.position"
_INCREASING = "smart.order.increasing"
_MUST = "smart.order.is-must"
_PLAIN = "smart.order.plain-topic"
_PARTITION = "smart.order.partition"
_HISTORY = "smart.history.order smart.history.kept"
_ATTEMPTS = "smart.order.attempts"
_READ = f"{_POSITION} {_INCREASING} smart.order.ext-place {_ATTEMPTS}"


FAULTS: tuple[Preset, ...] = (
    extra(
        "order-two-in-flight",
        "an ordered channel has two messages in flight",
        breaks=f"{_ONE} {_RDY}",
        # A client that holds one message does not look for the next one yet.
        may_break=f"{_AGAIN} {_LEFT} {_IN_ORDER} {_PLAIN} {_HISTORY} {_READ} {_PARTITION}",
        overrides=_send_when(_at_most(2)),
        late_overrides=_when_held_long(),
    ),
    condition(
        "order-touch-makes-room",
        "on an ordered channel, a message extended with TOUCH no longer blocks the next message",
        breaks=_ONE,
        may_break=_HISTORY,
        overrides=(
            replace_function(channels, "Held", _TouchedMessage),
            around(InFlight, "touch", _noting_touch),
            *_send_when(_when_touched),
        ),
    ),
    extra(
        "order-one-for-each-client",
        "each client of an ordered channel has one message in flight",
        breaks=_ONE,
        may_break=f"{_IN_ORDER} {_HISTORY} {_AGAIN} {_LEFT}",
        overrides=_send_when(_when_idle, window=None),
    ),
    boundary(
        "order-window-of-50",
        "from RDY 50 on, an ordered channel may have five messages in flight",
        breaks=_RDY,
        may_break=f"{_ONE} {_AGAIN} {_LEFT} {_IN_ORDER} {_PLAIN} {_HISTORY} {_PARTITION}",
        overrides=_widen(lambda said, before: 5 if said >= 50 else 1),
    ),
    extra(
        "order-rdy-adds-up",
        "on an ordered channel, each RDY allows one more message in flight",
        breaks=_RDY,
        may_break=f"{_ONE} {_AGAIN} {_LEFT} {_IN_ORDER} {_PLAIN} {_HISTORY} {_READ} {_PARTITION}",
        overrides=_widen(lambda said, before: before + 1 if before else 1),
    ),
    condition(
        "order-rdy-zero-obeyed",
        "on an ordered channel, RDY 0 stops delivery although RDY is to be ignored there",
        breaks=_RDY,
        may_break=f"{_ONE} {_HISTORY}",
        overrides=(_hold_window(_at_most_one),),
    ),
    wrong_value(
        "order-put-back-overtaken",
        "on an ordered channel, later messages are delivered before one that was requeued",
        breaks=_AGAIN,
        may_break=f"{_ONE} {_RDY} {_PLAIN} {_INCREASING} {_POSITION} {_HISTORY} {_LAYOUT}",
        overrides=overtaken_after(Return.PUT_BACK),
    ),
    condition(
        "order-timed-out-overtaken",
        "on an ordered channel, later messages are delivered before one that timed out",
        breaks=_AGAIN,
        # That nothing else comes for long is shown by what is held timing out and coming first.
        may_break=f"{_ONE} {_RDY} {_HISTORY} {_PARTITION}",
        overrides=overtaken_after(Return.TIMED_OUT),
    ),
    condition(
        "order-left-overtaken",
        "on an ordered channel, later messages are delivered before one whose client disconnected",
        breaks=_LEFT,
        may_break=f"{_ONE} {_INCREASING} {_HISTORY} {_IN_ORDER}",
        overrides=overtaken_after(Return.LEFT),
    ),
    missing(
        "order-left-lost",
        "on an ordered channel, a message is lost when its client disconnects",
        breaks=_LEFT,
        may_break=f"{_ONE} {_RDY} {_AGAIN} {_IN_ORDER} {_INCREASING} {_HISTORY} {_PARTITION} "
        "smart.order.plain-topic",
        overrides=(around(Channel, "give_back", _lost_when_left),),
    ),
    wrong_value(
        "order-left-newest-first",
        "on an ordered channel, the newest message is delivered before one whose client "
        "disconnected",
        breaks=_LEFT,
        may_break=f"{_ONE} {_INCREASING} {_HISTORY} {_IN_ORDER}",
        overrides=(
            *overtaken_after(Return.LEFT),
            around(Channel, "pick", _newest_first_when_returned),
        ),
    ),
    wrong_value(
        "attempts-counted-twice",
        "a message that is requeued or times out counts as delivered once more than it was",
        breaks=_ATTEMPTS,
        may_break="consume.attempts consume.plain-topic consume.layout",
        overrides=coming_back(_counted_twice),
    ),
    boundary(
        "attempts-counted-to-three",
        "the number of attempts of a message that comes again is never more than 3",
        breaks=_ATTEMPTS,
        may_break="consume.attempts",
        overrides=coming_back(_counted_to_three),
    ),
    boundary(
        "order-overtaken-the-second-time",
        "on an ordered channel, later messages are delivered before one due for a second "
        "redelivery",
        breaks=_AGAIN,
        may_break=_HISTORY,
        overrides=overtaken_when(_overtaken_second_time),
    ),
    missing(
        "order-put-back-lost",
        "on an ordered channel, a message that is requeued is lost",
        breaks=_AGAIN,
        may_break=(
            f"{_ONE} {_RDY} {_PLAIN} {_INCREASING} {_POSITION} {_HISTORY} {_LAYOUT} "
            "smart.order.attempts consume.attempts dispatch.to-matching dispatch.leave "
            "dispatch.history smart.message-id.halves smart.message-id.again "
            "smart.partition.own-messages"
        ),
        overrides=coming_back(_lost_when_put_back),
    ),
    condition(
        "order-not-when-deferred",
        "on an ordered channel, a message requeued with a delay does not block later messages",
        breaks=_AGAIN,
        may_break=_HISTORY,
        overrides=_send_when(_when_deferred, window=1),
    ),
    wrong_value(
        "order-newest-first",
        "an ordered channel delivers the newest waiting message first",
        breaks=_IN_ORDER,
        may_break=f"{_ONE} {_RDY} {_AGAIN} {_LEFT} {_PLAIN} {_READ} {_HISTORY} {_MUST} {_LAYOUT} "
        "smart.order.partition",
        overrides=_next_of(lambda waiting: waiting - 1),
    ),
    condition(
        "order-two-swapped",
        "an ordered channel with exactly two waiting messages delivers the later one first",
        breaks=_IN_ORDER,
        may_break=f"{_ONE} {_RDY} {_AGAIN} {_LEFT} {_PLAIN} {_READ} {_HISTORY} {_MUST} {_LAYOUT} "
        "smart.order.partition",
        overrides=_next_of(lambda waiting: 1 if waiting == 2 else 0),
    ),
    boundary(
        "order-lost-among-many",
        "an ordered channel with more than 15 waiting messages delivers the second one first",
        breaks=_IN_ORDER,
        may_break=f"{_INCREASING} {_HISTORY}",
        overrides=_next_of(lambda waiting: 1 if waiting > 15 else 0),
    ),
    condition(
        "order-held-back-by-another-partition",
        "a message in flight blocks the ordered channels of the same name at other partitions",
        breaks="smart.order.partition",
        overrides=(NOTED, TOGETHER, _sent_when(_not_beside_others)),
    ),
)
