"""Elapsed time, measured with the target itself: a message that is requeued with a delay.

A message that must not come might come late. So a case watches until the requeued message returns
to its consumer, which has its own channel: a late delivery would have come by then.
"""

from dataclasses import dataclass

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG

DELAY_MS = 4500
NOT_TOLD = observed("no-sentinel", overdue=True)


@dataclass(frozen=True, slots=True)
class Clock:
    """Measures time by the broker's clock: a message requeued with a delay, and its consumer."""

    consumer: Consumer
    body: bytes

    def has_run(self) -> bool:
        """Wait until the delayed message is redelivered; return False if it never is."""
        seconds = DELAY_MS / 1000 + self.consumer.connection.seconds(REDELIVERY)
        return self.consumer.next(self.body, seconds=seconds) is not None


def start_clock(broker: Broker, topic: Topic, tag: str | None = None) -> Clock:
    """Requeue a message on a new channel, with a delay longer than any late delivery.

    Every channel of the topic gets a copy of that message. A tag keeps the copy from blocking the
    channels where no client accepts a message without that tag.

    Raises:
        ArrangementFailed: the message was not delivered, so it cannot be requeued.
    """
    consumer = broker.subscribe(topic)
    body = broker.unique_body()
    broker.publish_accepted(topic, body, None if tag is None else {CLIENT_DISPATCH_TAG: tag})
    delivery = consumer.take(body)
    if delivery is None:
        raise ArrangementFailed("the message whose redelivery measures the time was not delivered")
    consumer.requeue(delivery, DELAY_MS)
    return Clock(consumer, body)


def wait_long(broker: Broker, topic: Topic, tag: str | None = None) -> Observation | None:
    """Wait seconds for a requeued message; ``no-sentinel`` if it never returns, else None."""
    return None if start_clock(broker, topic, tag).has_run() else NOT_TOLD
