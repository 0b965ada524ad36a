"""Delayed delivery. Earliness is judged by the kit's clock alone: no delay begins before send."""

from collections.abc import Mapping, Sequence

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import System
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import REST_S, TOLERANCE_MS, missing, travel

PROMPT_MS = 1000.0
LATENESS_MS = 2500.0
ATTEMPTS, MAJORITY = 3, 2
CONTROL_MS = 1500
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
}


@case(
    "oms/delay/at-once",
    clause="oms.delay.at-once",
    needs_of={"after-delayed": ("delay-time",)},
    waiting=True,
)
@pytest.mark.parametrize("before", AT_ONCE.values(), ids=AT_ONCE)
def test_at_once(system: System, before: Attributes | None) -> Observation:
    """A message without delayTime is delivered at once."""
    destination, consumer = system.warm_destination()
    times: list[float] = []
    while len(times) < ATTEMPTS:  # the kit, too, may be late on a busy machine
        if before is not None:
            destination.send(before)
        sent = destination.send()
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        delivery = consumer.take([sent]).get(sent.key)
        if delivery is None:
            return missing()
        times.append((delivery.at - sent.returned) * 1000)
        if sum(each <= PROMPT_MS for each in times) == MAJORITY:
            return observed("at-once", note=_after_send(times))
        if sum(each > PROMPT_MS for each in times) == MAJORITY:
            break
    return observed("late", overdue=True, note=_after_send(times))


def _after_send(times: Sequence[float]) -> str:
    return f"delivered {', '.join(f'{each:.0f}' for each in times)} ms after send returned"


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
    delay, held = 1500, 1200
    destination, consumer = system.warm_destination()
    sent = destination.send({names.DELAY_TIME: delay}, hold_ms=held)
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    delivery = consumer.take([sent]).get(sent.key)
    if delivery is None:
        return missing()
    waited = (delivery.at - sent.called) * 1000
    is_from_storing = waited >= delay + held - TOLERANCE_MS
    note = f"delivered {waited:.0f} ms after birth; held {held} ms, delayTime {delay}"
    if is_from_storing:
        return observed("from-storing", overdue=True, note=note)
    return observed("from-birth", note=note)
