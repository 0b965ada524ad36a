"""The 16-byte id of a message: its two halves, what FIN does with it, and that it grows."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import mpub, pub_trace
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.steps.batches import publish_batch
from wireproof_suites.nsq.steps.subscriptions import receive_all
from wireproof_suites.nsq.steps.trace_responses import read_trace
from wireproof_suites.nsq.trace.message_ids import (
    TRACE_IDS,
    delivered_ids,
    finish_some,
    high_half,
    low_half,
    observe_increase,
    publish_all,
)

SOON = {"msg_timeout": 1000}
AGAIN = ["requeued", "timed-out"]
FALLING = [9, None, 7, 6, None, 5, 1, None, 0]
# With message 2 of three finished, the others are left.
LEFT = (0, 2)
MANY = 12


@case("nsq/trace/id-low-half", clause="smart.message-id.halves")
@pytest.mark.parametrize("trace_id", TRACE_IDS.values(), ids=TRACE_IDS)
def test_low_half(broker: Broker, plain_topic: Topic, trace_id: int) -> Observation:
    """The low half of a delivered message id is the trace id."""
    body = broker.unique_body()
    with broker.subscribe(plain_topic) as consumer:
        broker.publish_accepted(plain_topic, body, trace_id=trace_id)

        return low_half(consumer.next(body), trace_id)


@case("nsq/trace/id-high-half", clause="smart.message-id.halves")
def test_high_half(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """The high half of a delivered message id is the internal id."""
    topic = fresh_plain_topic
    with broker.subscribe(topic, ready=20) as consumer:
        publish_all(broker, topic, [None, 1, None])
        body = broker.unique_body()
        answer = broker.publish_accepted(topic, body, trace_id=2**64 - 1)

        return high_half(consumer.next(body), answer)


@case("nsq/trace/id-again", clause="smart.message-id.halves", waiting=True)
@pytest.mark.parametrize("trace_id", [1, 2**63, 2**64 - 1], ids=["one", "2-to-the-63", "greatest"])
def test_low_half_again(broker: Broker, fresh_plain_topic: Topic, trace_id: int) -> Observation:
    """A redelivered message has the same trace id as before."""
    body = broker.unique_body()
    with broker.subscribe(fresh_plain_topic) as consumer:
        broker.publish_accepted(fresh_plain_topic, body, trace_id=trace_id)
        first = consumer.take(body)
        if first is None:
            return low_half(None, trace_id)
        consumer.requeue(first, 0)

        return low_half(consumer.next(body, REDELIVERY), trace_id)


@case("nsq/trace/id-header", clause="smart.message-id.halves", needs=("ext",))
@pytest.mark.parametrize("trace_id", [1, 2**64 - 1], ids=["one", "greatest"])
def test_low_half_with_header(broker: Broker, ext_topic: Topic, trace_id: int) -> Observation:
    """For a trace id given in a header, the low half of the message id is that trace id."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        broker.publish_accepted(ext_topic, body, {TRACE_ID: str(trace_id)})

        return low_half(consumer.next(body), trace_id)


@case("nsq/trace/id-untraced", clause="smart.message-id.untraced")
@pytest.mark.parametrize("before", ["alone", "behind-pub-trace"])
def test_untraced(broker: Broker, plain_topic: Topic, before: str) -> Observation:
    """The low half of the message id is 0 for a message without a trace id."""
    body = broker.unique_body()
    with broker.subscribe(plain_topic) as consumer:
        if before != "alone":
            publish_all(broker, plain_topic, [77])
        broker.publish_accepted(plain_topic, body)

        return low_half(consumer.next(body), 0)


@case("nsq/trace/id-untraced/mpub", clause="smart.message-id.untraced")
def test_untraced_batch(broker: Broker, plain_topic: Topic) -> Observation:
    """The low half of the message id is 0 for an MPUB message."""
    bodies = [broker.unique_body() for _ in range(2)]
    with broker.subscribe(plain_topic) as consumer, broker.connect(topic=plain_topic) as client:
        client.ask(mpub(plain_topic, bodies))

        return low_half(consumer.next(bodies[1]), 0)


@case("nsq/trace/id-kept", clause="smart.message-id.again", waiting=True)
@pytest.mark.parametrize("way", AGAIN)
def test_same_id_again(broker: Broker, fresh_plain_topic: Topic, way: str) -> Observation:
    """A redelivered message has the same message id as before."""
    body = broker.unique_body()
    with broker.subscribe(fresh_plain_topic, identify=SOON) as consumer:
        broker.publish_accepted(fresh_plain_topic, body)
        first = consumer.take(body)
        if first is not None and way == "requeued":
            consumer.requeue(first, 0)
        again = consumer.next(body, REDELIVERY)
    if first is None or again is None:
        return observed("missing", overdue=True)
    return observed("same" if first.message_id == again.message_id else "another")


@case("nsq/trace/finish", clause="smart.message-id.finish", waiting=True)
@pytest.mark.parametrize("left", [(0,), (1,), (0, 2)], ids=["first", "second", "first-and-third"])
def test_finish(broker: Broker, fresh_plain_topic: Topic, left: tuple[int, ...]) -> Observation:
    """A finished message is not redelivered, while an unfinished one is."""
    return _finish(broker, fresh_plain_topic, left, [None, None, None])


@case("nsq/trace/finish-traced", clause="smart.message-id.finish", needs=("trace",), waiting=True)
def test_finish_traced(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A finished traced message is not redelivered, while an unfinished one is."""
    return _finish(broker, fresh_plain_topic, LEFT, [2**64 - 1, 2**63, 1])


@case("nsq/trace/finish-several", clause="smart.message-id.finish", waiting=True)
def test_finish_several(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Of many messages, none that was finished is redelivered."""
    return _finish(broker, fresh_plain_topic, (MANY - 1,), [None] * MANY)


@case("nsq/trace/finish-left", clause="smart.message-id.finish", waiting=True)
def test_finish_and_leave(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message that a client finished before disconnecting is not redelivered."""
    topic = fresh_plain_topic
    client = broker.subscribe(topic, ready=5)
    bodies = publish_all(broker, topic, [None, None, None])

    def leave(consumer: Consumer) -> Consumer:
        consumer.close()
        return broker.subscribe(topic, channel=consumer.channel)

    return finish_some(broker, client, bodies, unfinished=LEFT, later=leave)


@case(
    "nsq/trace/finish-room",
    clause="smart.connection.ready-again",
    needs_of={"traced": ("trace",)},
    waiting=True,
)
@pytest.mark.parametrize("trace_id", [None, 2**64 - 1], ids=["untraced", "traced"])
def test_room(broker: Broker, fresh_plain_topic: Topic, trace_id: int | None) -> Observation:
    """For a client with RDY 1, each FIN by message id releases the next message."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        bodies = publish_all(broker, topic, [trace_id] * 5)

        return receive_all(consumer, bodies)


@case("nsq/trace/ids-increase", clause="smart.message-id.increasing", waiting=True)
def test_ids_increase(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Internal ids increase in the order in which messages were published."""
    topic = fresh_plain_topic
    with broker.subscribe(topic, ready=30) as consumer:
        bodies: list[bytes] = []
        for _ in range(10):
            bodies += publish_all(broker, topic, [None])
            bodies.append(broker.unique_body())
            publish_batch(broker, topic, bodies[-1:])

        return _observe_increase(consumer, bodies)


@case("nsq/trace/ids-increase-traced", clause="smart.message-id.increasing", needs=("trace",))
def test_answered_ids_increase(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Internal ids in trace answers increase; the trace ids do not matter."""
    numbers: list[int] = []
    with broker.connect(topic=fresh_plain_topic) as client:
        for trace_id in FALLING:
            if trace_id is None:
                publish_all(broker, fresh_plain_topic, [None])
                continue
            answer = client.ask(pub_trace(fresh_plain_topic, trace_id, broker.unique_body()))
            response = read_trace(answer)
            if response is None:
                return observe(answer)
            numbers.append(response.internal_id)
    return observe_increase(numbers)


@case(
    "nsq/trace/ids-increase-batch",
    clause="smart.message-id.increasing",
    needs=("batch",),
    waiting=True,
)
def test_ids_increase_in_a_batch(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Internal ids increase within a batch."""
    topic = fresh_plain_topic
    bodies = [broker.unique_body() for _ in range(10)]
    with broker.subscribe(topic, ready=30) as consumer, broker.connect(topic=topic) as client:
        answer = observe(client.ask(mpub(topic, bodies)))
        if answer.value != "ok":
            return answer

        return _observe_increase(consumer, bodies)


def _finish(
    broker: Broker, topic: Topic, left: tuple[int, ...], trace_ids: list[int | None]
) -> Observation:
    client = broker.subscribe(topic, ready=max(5, len(trace_ids)), identify=SOON)
    bodies = publish_all(broker, topic, trace_ids)
    return finish_some(broker, client, bodies, unfinished=left, later=_same)


def _same(consumer: Consumer) -> Consumer:
    return consumer


def _observe_increase(consumer: Consumer, bodies: list[bytes]) -> Observation:
    numbers = delivered_ids(consumer, bodies)
    if len(numbers) < len(bodies):
        return observed("missing", overdue=True)
    return observe_increase(numbers)
