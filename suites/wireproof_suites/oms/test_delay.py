"""Delayed delivery. Earliness is judged by the kit's clock alone: no delay begins before send."""

import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from wireproof_kit.case import case
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import Consumer, Destination, System
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import REST_S, TOLERANCE_MS, missing, travel
from wireproof_suites.oms.test_transaction import NEEDS as COMMIT
from wireproof_suites.oms.test_transaction import commit, prepare, transaction_id

PROMPT_MS = 1000.0
LATENESS_MS = 2500.0
ATTEMPTS, MAJORITY = 3, 2
REQUESTS = 3
"""A delivery takes this many requests at most; what they take on a busy machine is no delay."""
CONTROL_MS = 1500
DELAY_MS, HELD_MS = 1500, 1200
COMMITTED_DELAY_MS = 4000
"""Long enough that a commit which takes seconds to be carried out is over when it is due."""
LONGEST = 2**63 - 1
HUGE: Mapping[str, int] = {
    "above-16-bits": 2**16 + 200,
    "above-31-bits": 2**31 + 200,
    "above-32-bits": 2**32 + 200,
    "two-years": 2 * 365 * 86_400_000,
    "above-53-bits": 2**53 + 1,
    "largest": LONGEST,
}


@case("oms/delay/not-early", clause="oms.delay.not-early", needs=("delay-time",), waiting=True)
@pytest.mark.parametrize("delay", [1000, 1330, 1660])
def test_not_early(system: System, delay: int) -> Observation:
    """A message is not delivered before its delayTime is over."""
    trip = travel(system, {names.DELAY_TIME: delay})
    if trip.delivery is None:
        return trip.failure() or missing()
    waited = (trip.delivery.at - trip.sent.called) * 1000
    note = f"delivered {waited:.0f} ms after send was called; delayTime was {delay}"
    return observed("early" if waited < delay - TOLERANCE_MS else "not-early", note=note)


@case(
    "oms/delay/not-early/new-group",
    clause="oms.delay.not-early",
    needs=("delay-time",),
    waiting=True,
)
def test_not_early_for_new_group(system: System) -> Observation:
    """A message that waits for its delay is not delivered to a group that begins meanwhile."""
    destination, consumer = system.warm_destination()
    sent = destination.send({names.DELAY_TIME: CONTROL_MS})
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    newcomer = Consumer(system, destination.name, "wp_new_group")
    found = newcomer.take([sent], within=REST_S)
    if sent.key not in found:
        found = consumer.take([sent])
    if sent.key not in found:
        return missing()
    waited = (found[sent.key].at - sent.called) * 1000
    return observed("early" if waited < CONTROL_MS - TOLERANCE_MS else "not-early")


@case("oms/delay/soon", clause="oms.delay.soon", needs=("delay-time",), waiting=True)
@pytest.mark.parametrize("delay", [0, 500, 1100])
def test_soon(system: System, delay: int) -> Observation:
    """A message is delivered soon after its delayTime is over."""
    trip = travel(system, {names.DELAY_TIME: delay})
    if trip.delivery is None:
        return trip.failure() or missing()
    late = (trip.delivery.at - trip.sent.returned) * 1000 - delay
    note = f"delivered {late:.0f} ms after it was due; up to {LATENESS_MS:.0f} ms are soon"
    if late > LATENESS_MS:
        return observed("late", overdue=True, note=note)
    return observed("soon", note=note)


AT_ONCE: Mapping[str, Attributes | None] = {
    "alone": None,
    "after-delayed": {names.DELAY_TIME: 3000},
    "committed": None,
}


@case(
    "oms/delay/at-once",
    clause="oms.delay.at-once",
    needs_of={"after-delayed": ("delay-time",), "committed": COMMIT},
    waiting=True,
)
@pytest.mark.parametrize("before", AT_ONCE, ids=AT_ONCE)
def test_at_once(system: System, before: str) -> Observation:
    """A message without delayTime is delivered at once."""
    destination, consumer = system.warm_destination()
    times: list[float] = []
    while len(times) < ATTEMPTS:  # the kit, too, may be late on a busy machine
        if (delayed := AT_ONCE[before]) is not None:
            destination.send(delayed)
        sent = prepare(destination) if before == "committed" else destination.send()
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        ended = commit(system, transaction_id(sent)) if before == "committed" else None
        if isinstance(ended, Observation):
            return ended
        returned = time.monotonic()
        delivery = consumer.take([sent]).get(sent.key)
        if delivery is None:
            return missing()
        took = (delivery.at - returned) * 1000
        times.append(took - REQUESTS * system.measure_round_trip() * 1000)
        if sum(each <= PROMPT_MS for each in times) == MAJORITY:
            return observed("at-once", note=_after_send(times))
        if sum(each > PROMPT_MS for each in times) == MAJORITY:
            break
    return observed("late", overdue=True, note=_after_send(times))


def _after_send(times: Sequence[float]) -> str:
    told = ", ".join(f"{each:.0f}" for each in times)
    return f"delivered {told} ms after send returned, less {REQUESTS} round trips"


@case("oms/delay/negative", clause="oms.delay.negative", needs=("delay-time",), waiting=True)
@pytest.mark.parametrize("delay", [-1, -5000])
def test_negative(system: System, delay: int) -> Observation:
    """A message with a negative delayTime is delivered at once or refused."""
    trip = travel(system, {names.DELAY_TIME: delay})
    if trip.delivery is None:
        return trip.failure() or missing()
    took = (trip.delivery.at - trip.sent.returned) * 1000
    note = f"delivered {took:.0f} ms after send returned"
    if took > LATENESS_MS:
        return observed("late", overdue=True, note=note)
    return observed("at-once", note=note)


@case("oms/delay/no-wrap", clause="oms.delay.no-wrap", needs=("delay-time",), waiting=True)
@pytest.mark.parametrize("delay", HUGE.values(), ids=HUGE)
def test_no_wrap(system: System, delay: int) -> Observation:
    """A message with a huge delayTime is not delivered now; a later message comes first."""
    destination, consumer = system.warm_destination()
    sent = destination.send({names.DELAY_TIME: delay})
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    control = destination.send({names.DELAY_TIME: CONTROL_MS})
    found = consumer.take([control], rest=REST_S)
    return _absent_beside(control, sent, found)


def _absent_beside(control: Sent, sent: Sent, found: Mapping[str, Delivery]) -> Observation:
    if sent.key in found:
        took = found[sent.key].at - sent.returned
        return observed("delivered", note=f"delivered {took:.3f} s after send returned")
    return observed("absent") if control.key in found else observed("no-control", overdue=True)


@case(
    "oms/delay/from-birth",
    clause="oms.delay.from-birth",
    needs=("delay-time", "hold"),
    waiting=True,
)
def test_from_birth(system: System) -> Observation:
    """A delay counts from the birth of a message, also if it is stored later."""
    return _observe_held(system, _send_held, DELAY_MS)


@case(
    "oms/delay/from-birth/committed",
    clause="oms.delay.from-birth",
    needs=("delay-time", *COMMIT),
    waiting=True,
)
def test_from_birth_committed(system: System) -> Observation:
    """A delay counts from the birth of a message, also if it is committed later."""
    return _observe_held(system, _commit_held, COMMITTED_DELAY_MS)


def _send_held(destination: Destination) -> Sent:
    return destination.send({names.DELAY_TIME: DELAY_MS}, hold_ms=HELD_MS)


def _commit_held(destination: Destination) -> Sent | Observation:
    system = destination.system
    prepared = prepare(destination, **{names.DELAY_TIME: COMMITTED_DELAY_MS})
    if not prepared.is_accepted:  # no text says that both are taken together
        return observed("unsupported:refused", note=prepared.why)
    system.wait_until(system.clock.now_ms() + HELD_MS)
    ended = commit(system, transaction_id(prepared))
    if (time.monotonic() - prepared.called) * 1000 > COMMITTED_DELAY_MS:
        raise ArrangementFailed("the message was due before its commit had returned")
    return ended if isinstance(ended, Observation) else prepared


def _observe_held(
    system: System, send: Callable[[Destination], Sent | Observation], delay: int
) -> Observation:
    """Observe from when the delay of a message counts that is held after its birth.

    A control message is due between the two times: it comes first if the delay counts from
    storing, however slow the machine is.
    """
    destination, consumer = system.warm_destination()
    control = destination.send({names.DELAY_TIME: delay + HELD_MS // 2})
    sent = send(destination)
    if isinstance(sent, Observation):
        return sent
    if not (sent.is_accepted and control.is_accepted):
        return observed("refused", note=sent.why or control.why)
    found = consumer.take([sent, control])
    if sent.key not in found or control.key not in found:
        return missing()
    waited = (found[sent.key].at - sent.called) * 1000
    is_after_control = found[sent.key].at > found[control.key].at
    note = f"delivered {waited:.0f} ms after birth; held {HELD_MS} ms, delayTime {delay}"
    if is_after_control and waited >= delay + HELD_MS - TOLERANCE_MS:
        return observed("from-storing", overdue=True, note=note)
    return observed("from-birth", note=note)
