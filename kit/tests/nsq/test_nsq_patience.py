"""How long to wait for an NSQ broker: measured on as many channels as its rounds leave out."""

import time
from typing import cast

import pytest

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.patience import CHANNELS, SLOW_PUSH, measure
from wireproof_kit.nsq.topics.topic import Topic

TOPIC = Topic("t", 0, False, False, True, ("127.0.0.1", 1), None)


class FakeConsumer:
    """Delivers what was published and put back, unless it has lagged behind."""

    def __init__(self, broker: "FakeBroker") -> None:
        self.topic = TOPIC
        self._broker = broker

    def __enter__(self) -> "FakeConsumer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, own: bytes, *_: object, seconds: float = 1.0) -> Delivery | None:
        is_late = self._broker.subscribed > self._broker.served
        return None if is_late else cast(Delivery, Body(own))

    next = take

    def finish(self, _: Delivery) -> None:
        pass

    def requeue(self, _: Delivery, timeout_ms: int) -> None:
        # The broker owes this delay; the code under test measures by the clock how late it is.
        time.sleep(timeout_ms / 1000)

    def close(self) -> None:
        self._broker.subscribed -= 1


class Body:
    def __init__(self, body: bytes) -> None:
        self.body = body


class FakeBroker:
    """Serves so many channels at once without delay."""

    def __init__(self, served: int) -> None:
        self.served = served
        self.subscribed = 0

    def subscribe(self, _: Topic) -> FakeConsumer:
        self.subscribed += 1
        return FakeConsumer(self)

    def unique_body(self) -> bytes:
        return b"b"

    def publish_accepted(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("served", "in_rounds"), [(CHANNELS, False), (20, True)])
def test_a_broker_that_serves_few_channels_at_once_is_waited_for_longer(
    served: int, *, in_rounds: bool
) -> None:
    """Fast scan options make one channel's redelivery prompt and leave the others late."""
    broker = FakeBroker(served)
    patience = measure(cast(Broker, broker), TOPIC, answer=1.0)
    assert patience.in_rounds is in_rounds
    assert (patience.push == SLOW_PUSH) is in_rounds
    assert broker.subscribed == 0
