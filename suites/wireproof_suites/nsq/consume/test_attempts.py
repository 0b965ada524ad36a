"""The attempts of a delivered message: a plain count, without the indicator bits."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.attempts import READY, attempts_beyond, attempts_of, attempts_seen

HEADERS = {"header": b'{"k":"v"}', "no-header": None, "long-header": b'{"k":"%s"}' % (b"v" * 999)}
SHORTEST_TIMEOUT_MS = 1000


@case("nsq/consume/attempts-first", clause="ext.consume.attempts")
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_first_delivery(broker: Broker, ext_topic: Topic, header: bytes | None) -> Observation:
    """The first delivery of a message has attempts 1."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        broker.publish_accepted(ext_topic, body, header)

        return attempts_of(consumer.next(body))


@case("nsq/consume/attempts-put-back", clause="ext.consume.attempts", waiting=True)
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_put_back(broker: Broker, fresh_ext_topic: Topic, header: bytes | None) -> Observation:
    """Each delivery after a REQ raises attempts by 1."""
    body = broker.unique_body()
    with broker.subscribe(fresh_ext_topic, ready=READY) as consumer:
        broker.publish_accepted(fresh_ext_topic, body, header)

        return attempts_seen(
            consumer, body, times=4, again=lambda delivery: consumer.requeue(delivery, 0)
        )


@case("nsq/consume/attempts-beyond-12-bits", clause="ext.consume.attempts", waiting=True)
def test_beyond_12_bits(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """The attempts of a message that comes 4,200 times never show the indicator bits."""
    body = broker.unique_body()
    with broker.subscribe(fresh_ext_topic) as consumer:
        broker.publish_accepted(fresh_ext_topic, body, {"k": "v"})

        return attempts_beyond(consumer, body)


@case("nsq/consume/attempts-put-back-later", clause="ext.consume.attempts", waiting=True)
def test_put_back_for_later(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A delivery after a REQ with a delay raises attempts by 1."""
    body = broker.unique_body()
    with broker.subscribe(fresh_ext_topic, ready=READY) as consumer:
        broker.publish_accepted(fresh_ext_topic, body, {"k": "v"})

        return attempts_seen(
            consumer, body, times=2, again=lambda delivery: consumer.requeue(delivery, 200)
        )


@case("nsq/consume/attempts-timed-out", clause="ext.consume.attempts", waiting=True)
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_timed_out(broker: Broker, fresh_ext_topic: Topic, header: bytes | None) -> Observation:
    """A delivery after a message timeout raises attempts by 1."""
    body = broker.unique_body()
    wishes = {"msg_timeout": SHORTEST_TIMEOUT_MS}
    with broker.subscribe(fresh_ext_topic, ready=READY, identify=wishes) as consumer:
        broker.publish_accepted(fresh_ext_topic, body, header)

        return attempts_seen(consumer, body, times=2, again=lambda delivery: None)


@case("nsq/consume/attempts-left", clause="ext.consume.attempts", waiting=True)
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_left(broker: Broker, fresh_ext_topic: Topic, header: bytes | None) -> Observation:
    """A message in flight to a client that disconnects is redelivered with attempts 1 or 2."""
    body = broker.unique_body()
    with broker.subscribe(fresh_ext_topic) as leaver:
        broker.publish_accepted(fresh_ext_topic, body, header)
        leaver.take(body)
    with broker.subscribe(fresh_ext_topic, channel=leaver.channel) as consumer:
        return attempts_of(consumer.next(body, REDELIVERY))
