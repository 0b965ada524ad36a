"""A message in flight: only its holder finishes it, and TOUCH gives the holder more time."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import nop, touch
from wireproof_kit.observation import Observation, observed
from wireproof_suites.nsq.trace.in_flight import (
    ACKNOWLEDGEMENTS,
    SOON,
    Acknowledge,
    acknowledge_from_another,
    touch_and_wait,
)


@case("nsq/trace/not-held", clause="smart.message-id.not-held", waiting=True)
@pytest.mark.parametrize("say", ACKNOWLEDGEMENTS.values(), ids=ACKNOWLEDGEMENTS)
def test_of_another(broker: Broker, fresh_plain_topic: Topic, say: Acknowledge) -> Observation:
    """FIN, REQ or TOUCH from a client that does not hold the message has no effect on it."""
    topic = fresh_plain_topic
    holder = broker.subscribe(topic, identify=SOON)
    broker.publish_accepted(topic, broker.unique_body())
    held = holder.take()
    if held is None:
        return observed("missing", overdue=True)

    return acknowledge_from_another(broker, holder, held, say)


@case("nsq/trace/touch", clause="smart.message-id.touch", waiting=True)
def test_touch_alone(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A touched message is redelivered no earlier than one full timeout after TOUCH."""
    return touch_and_wait(broker, fresh_plain_topic)


@case("nsq/trace/touch-cut", clause="smart.message-id.touch", waiting=True)
@pytest.mark.parametrize("at", [9, 14, 22])
def test_touch_cut(broker: Broker, fresh_plain_topic: Topic, at: int) -> Observation:
    """The broker accepts a TOUCH command that arrives split, also behind another command."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        broker.publish_accepted(topic, broker.unique_body())
        held = consumer.take()
        if held is None:
            return observed("missing", overdue=True)
        for piece in (nop() + touch(held.message_id or b"")).split(at + 4):
            consumer.connection.send(piece)

        return observed(consumer.connection.goes_on(topic))
