"""Messages that are consumed at most once, or once and only once."""

import time
from collections.abc import Iterator

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Sent
from wireproof_kit.oms.adapter.system import Consumer, System
from wireproof_kit.runner.patience import PUSH
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import REST_S, missing

AT_MOST_ONCE, EXACTLY_ONCE = 1, 2


@case("oms/message/at-most-once", clause="oms.message.at-most-once", waiting=True)
def test_at_most_once(system: System) -> Observation:
    """A message of qos 1 that was consumed does not come again; it may be lost."""
    return _consume(system, AT_MOST_ONCE)


@case("oms/message/exactly-once", clause="oms.message.exactly-once", waiting=True)
def test_exactly_once(system: System) -> Observation:
    """A message of qos 2 comes, and does not come again once it was consumed."""
    return _consume(system, EXACTLY_ONCE)


def _consume(system: System, qos: int) -> Observation:
    """Send a message of a qos, consume it, and observe how often it comes."""
    destination, consumer = system.warm_destination()
    sent = destination.send(header={names.QOS: qos})
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    came = [*_consume_until(consumer, sent)]
    control = destination.send()
    later = [*_consume_until(consumer, control), *_consume_until(consumer)]
    if control.key not in later:
        return observed("no-control", overdue=True)
    count = [*came, *later].count(sent.key)
    if count == 0:
        return observed("lost") if qos == AT_MOST_ONCE else missing()
    return observed("once" if count == 1 else "twice", note=f"it came {count} times")


def _consume_until(consumer: Consumer, wanted: Sent | None = None) -> Iterator[str]:
    """Yield the bodies of all messages that come until one does; without it, for a while."""
    patience = consumer.system.patience
    deadline = time.monotonic() + (REST_S if wanted is None else patience.seconds(PUSH))
    is_there = False
    while not is_there and (left := deadline - time.monotonic()) > 0:
        for delivery in consumer.receive(within=left):
            consumer.settle(delivery)
            is_there = is_there or (wanted is not None and delivery.key == wanted.key)
            yield delivery.key
