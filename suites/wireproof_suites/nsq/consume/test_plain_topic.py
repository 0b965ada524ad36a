"""A topic without the extend feature delivers as brokers did before there was one."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.attempts import READY, attempts_of, attempts_seen
from wireproof_suites.nsq.steps.deliveries import Sent, deliver, deliver_all
from wireproof_suites.nsq.steps.message_contents import CONTENTS

LENGTHS = [64, 255, 256, 4096, 65535, 65536, 200_000]


@case("nsq/consume/plain-body", clause="ext.consume.plain-topic")
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_plain_body(broker: Broker, plain_topic: Topic, content: bytes) -> Observation:
    """On a plain topic, the body follows the message id directly; the body may have any bytes."""
    return deliver(broker, plain_topic, broker.unique_body(content))


@case("nsq/consume/plain-length", clause="ext.consume.plain-topic")
@pytest.mark.parametrize("length", LENGTHS)
def test_plain_length(broker: Broker, plain_topic: Topic, length: int) -> Observation:
    """On a plain topic, a body of any length is delivered whole."""
    return deliver(broker, plain_topic, broker.unique_body().ljust(length, b"."))


@case("nsq/consume/plain-small", clause="ext.consume.plain-topic", waiting=True)
def test_plain_small(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """On a plain topic, bodies of one to four bytes are delivered."""
    messages: list[Sent] = [(None, b"\x04\x00\x02{"[:length]) for length in (1, 2, 3, 4)]
    return deliver_all(broker, fresh_plain_topic, messages)


@case("nsq/consume/plain-attempts-first", clause="ext.consume.plain-topic")
def test_plain_first_delivery(broker: Broker, plain_topic: Topic) -> Observation:
    """On a plain topic, the first delivery of a message has attempts 1."""
    body = broker.unique_body()
    with broker.subscribe(plain_topic) as consumer:
        broker.publish_accepted(plain_topic, body)

        return attempts_of(consumer.next(body))


@case("nsq/consume/plain-attempts", clause="ext.consume.plain-topic", waiting=True)
def test_plain_put_back(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """On a plain topic, each delivery after a REQ raises attempts by 1."""
    body = broker.unique_body()
    with broker.subscribe(fresh_plain_topic, ready=READY) as consumer:
        broker.publish_accepted(fresh_plain_topic, body)

        return attempts_seen(
            consumer, body, times=3, again=lambda delivery: consumer.requeue(delivery, 0)
        )
