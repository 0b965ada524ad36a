"""Faults of ordered consumption: what is in flight, and in which order."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.flight import Flight, one_at_a_time
from wireproof_reference_impl.nsq.core.in_flight import Held, Return
from wireproof_reference_impl.nsq.core.timers import LATE_NS
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    EXTRA,
    MISSING,
    WRONG_VALUE,
    Preset,
    fault,
)

_WIDE = 10


def _sending(may_send: Callable[[Flight], bool], *, window: int | None = _WIDE) -> Settings:
    """Return settings under which another message goes out when this rule says so.

    `window` is what every client may hold, None as many as it says with RDY.
    """

    def holds(said: int, before: int) -> int:
        return said if window is None else window

    return {"order.may_send": may_send, "order.window": holds}


def _at_most(count: int) -> Callable[[Flight], bool]:
    return lambda flight: flight.held < count and not flight.deferred


def _when_touched(flight: Flight) -> bool:
    return one_at_a_time(flight) or (flight.touched and flight.held == 1)


def _when_idle(flight: Flight) -> bool:
    return flight.idle and not flight.deferred


def _when_held_long(flight: Flight) -> bool:
    return one_at_a_time(flight) or (flight.age_ns >= LATE_NS and flight.held == 1)


def _when_deferred(flight: Flight) -> bool:
    return not flight.held


def _not_beside_others(flight: Flight) -> bool:
    return one_at_a_time(flight) and not flight.elsewhere


def _widened(window: Callable[[int, int], int]) -> Settings:
    """Return settings under which RDY makes room for so many messages."""
    return {"order.may_send": _as_said, "order.window": window}


def _as_said(flight: Flight) -> bool:
    return not flight.deferred


def _at_most_one(said: int, before: int) -> int:
    return min(said, 1)


def _overtaken(why: Return) -> Settings:
    """Return settings under which later messages overtake one that came back for this reason."""

    def overtaken(held: Held) -> bool:
        return held.why is why

    return {"order.overtaken": overtaken}


def _overtaken_second_time(held: Held) -> bool:
    return held.attempts > 1


def _lost_when_put_back(held: Held, why: Return) -> Held | None:
    return None if why is Return.PUT_BACK else held


def _next_of(pick: Callable[[int], int]) -> Settings:
    """Return settings under which this one of so many waiting messages goes next."""
    return {"order.next_of": pick}


_ONE = "smart.order.one-in-flight"
_RDY = "smart.order.rdy"
_AGAIN = "smart.order.again"
_IN_ORDER = "smart.order.in-order"
_LAYOUT = "smart.order.layout"
_POSITION = "smart.order.position"
_INCREASING = "smart.order.increasing"
_MUST = "smart.order.is-must"
_PLAIN = "smart.order.plain-topic"
_PARTITION = "smart.order.partition"
_HISTORY = "smart.history.order smart.history.kept"
_READ = f"{_POSITION} {_INCREASING} smart.order.ext-place smart.order.attempts"


FAULTS: tuple[Preset, ...] = (
    fault(
        "order-two-in-flight",
        "an ordered channel has two messages in flight",
        breaks=f"{_ONE} {_RDY}",
        # A client that holds one message does not look for the next one yet.
        may_break=f"{_AGAIN} {_IN_ORDER} {_PLAIN} {_HISTORY} {_READ} {_PARTITION}",
        settings=_sending(_at_most(2)),
        way=EXTRA,
        delivers_wrongly=True,
        late={**_sending(_when_held_long), "order.looks_again_ns": LATE_NS},
    ),
    fault(
        "order-touch-makes-room",
        "a message for which more time was asked for no longer holds the others back",
        breaks=_ONE,
        may_break=_HISTORY,
        settings=_sending(_when_touched),
        way=CONDITION,
    ),
    fault(
        "order-one-for-each-client",
        "each client of an ordered channel has one message in flight",
        breaks=_ONE,
        may_break=f"{_IN_ORDER} {_HISTORY} {_AGAIN}",
        settings={"order.may_send": _when_idle},
        way=EXTRA,
    ),
    fault(
        "order-window-of-50",
        "from RDY 50 on an ordered channel has five messages in flight",
        breaks=_RDY,
        may_break=f"{_ONE} {_AGAIN} {_IN_ORDER} {_PLAIN} {_HISTORY} {_PARTITION}",
        settings=_widened(lambda said, before: 5 if said >= 50 else 1),
        way=BOUNDARY,
    ),
    fault(
        "order-rdy-adds-up",
        "each RDY makes room for one more message",
        breaks=_RDY,
        may_break=f"{_ONE} {_AGAIN} {_IN_ORDER} {_PLAIN} {_HISTORY} {_READ} {_PARTITION}",
        settings=_widened(lambda said, before: before + 1 if before else 1),
        way=EXTRA,
    ),
    fault(
        "order-rdy-zero-obeyed",
        "RDY 0 ends delivery though any RDY is to be ignored",
        breaks=_RDY,
        may_break=f"{_ONE} {_HISTORY}",
        settings={"order.window": _at_most_one},
        way=CONDITION,
    ),
    fault(
        "order-put-back-overtaken",
        "later messages go before one that was put back",
        breaks=_AGAIN,
        may_break=f"{_ONE} {_RDY} {_PLAIN} {_INCREASING} {_POSITION} {_HISTORY} {_LAYOUT}",
        settings=_overtaken(Return.PUT_BACK),
        way=WRONG_VALUE,
    ),
    fault(
        "order-timed-out-overtaken",
        "later messages go before one that timed out",
        breaks=_AGAIN,
        # That nothing else comes for long is shown by what is held timing out and coming first.
        may_break=f"{_ONE} {_RDY} {_HISTORY} {_PARTITION}",
        settings=_overtaken(Return.TIMED_OUT),
        way=CONDITION,
    ),
    fault(
        "order-left-overtaken",
        "later messages go before one whose client left",
        breaks=_AGAIN,
        may_break=f"{_ONE} {_INCREASING} {_HISTORY} {_IN_ORDER}",
        settings=_overtaken(Return.LEFT),
        way=CONDITION,
    ),
    fault(
        "order-overtaken-the-second-time",
        "later messages go before one that comes back for the second time",
        breaks=_AGAIN,
        may_break=_HISTORY,
        settings={"order.overtaken": _overtaken_second_time},
        way=BOUNDARY,
    ),
    fault(
        "order-put-back-lost",
        "a message that was put back is lost",
        breaks=_AGAIN,
        may_break=(
            f"{_ONE} {_RDY} {_PLAIN} {_INCREASING} {_POSITION} {_HISTORY} {_LAYOUT} "
            "smart.order.attempts consume.attempts dispatch.to-matching dispatch.leave "
            "dispatch.history smart.message-id.halves smart.message-id.again "
            "smart.partition.own-messages"
        ),
        settings={"dispatch.comes_back": _lost_when_put_back},
        way=MISSING,
    ),
    fault(
        "order-not-when-deferred",
        "a message put back for later does not hold the others back",
        breaks=_AGAIN,
        may_break=_HISTORY,
        settings=_sending(_when_deferred, window=1),
        way=CONDITION,
    ),
    fault(
        "order-newest-first",
        "of the waiting messages the newest goes first",
        breaks=_IN_ORDER,
        may_break=f"{_ONE} {_RDY} {_AGAIN} {_PLAIN} {_READ} {_HISTORY} {_MUST} {_LAYOUT} "
        "smart.order.partition",
        settings=_next_of(lambda waiting: waiting - 1),
        way=WRONG_VALUE,
    ),
    fault(
        "order-two-swapped",
        "when exactly two messages wait the later one goes first",
        breaks=_IN_ORDER,
        may_break=f"{_ONE} {_RDY} {_AGAIN} {_PLAIN} {_READ} {_HISTORY} {_MUST} {_LAYOUT} "
        "smart.order.partition",
        settings=_next_of(lambda waiting: 1 if waiting == 2 else 0),
        way=CONDITION,
    ),
    fault(
        "order-lost-among-many",
        "among more than 15 waiting messages the second goes before the first",
        breaks=_IN_ORDER,
        may_break=f"{_INCREASING} {_HISTORY}",
        settings=_next_of(lambda waiting: 1 if waiting > 15 else 0),
        way=BOUNDARY,
    ),
    fault(
        "order-held-back-by-another-partition",
        "a message in flight holds back the channels of its name at other partitions",
        breaks="smart.order.partition",
        settings={"cluster.together": True, "order.may_send": _not_beside_others},
        way=CONDITION,
    ),
)
