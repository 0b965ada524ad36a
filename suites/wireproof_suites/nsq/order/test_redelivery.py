"""Ordered consumption: an unfinished message comes again before any other message."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header, cls, raw
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.attempts import attempts_seen
from wireproof_suites.nsq.steps.ordered_delivery import (
    IN_ORDER,
    MISSING,
    SHORTEST_TIMEOUT_MS,
    Step,
    given_back,
    leave_alone,
    open_consumer,
    publish,
    put_back,
    read_in_order,
    subscribe_in_order,
    take_of,
    then_first,
)

WAYS: dict[str, Step] = {"requeued": put_back, "timed-out": leave_alone}
SOON = {"msg_timeout": SHORTEST_TIMEOUT_MS}
LEAVES: dict[str, list[bytes]] = {"closed": [], "politely": [b"CLS\n"], "thrown-out": [b"NO\n"]}


@case("nsq/order/again-requeued", clause="smart.order.again", waiting=True)
@pytest.mark.parametrize("behind", [0, 1, 5], ids=["alone", "one-behind", "five-behind"])
@pytest.mark.parametrize("ready", [1, 50], ids=["rdy-1", "rdy-50"])
def test_requeued(
    broker: Broker, fresh_ordered_topic: Topic, ready: int, behind: int
) -> Observation:
    """On an ordered channel, a requeued message is redelivered before any other message."""
    client = open_consumer(broker, fresh_ordered_topic, ready=ready)

    bodies = publish(broker, fresh_ordered_topic, 1 + behind)

    return given_back(client, bodies, by=put_back)


@case("nsq/order/again-requeued/three-times", clause="smart.order.again", waiting=True)
def test_requeued_three_times(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A message requeued three times on an ordered channel still comes before the others."""
    client = open_consumer(broker, fresh_ordered_topic)
    bodies = publish(broker, fresh_ordered_topic, 4)
    for _ in range(2):
        held = take_of(client, bodies)
        if held is None:
            return MISSING
        client.requeue(held, 0)

    return given_back(client, bodies, by=put_back)


@case("nsq/order/again-requeued-later", clause="smart.order.again", waiting=True)
def test_requeued_for_later(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """On an ordered channel, a message requeued with a delay holds back all later messages."""
    client = open_consumer(broker, fresh_ordered_topic, identify=SOON)

    bodies = publish(broker, fresh_ordered_topic, 4)

    return given_back(client, bodies, by=lambda client, held: client.requeue(held, 200))


@case("nsq/order/again-timed-out", clause="smart.order.again", waiting=True)
@pytest.mark.parametrize("behind", [0, 1, 5], ids=["alone", "one-behind", "five-behind"])
def test_timed_out(broker: Broker, fresh_ordered_topic: Topic, behind: int) -> Observation:
    """On an ordered channel, a timed-out message is redelivered before any other message."""
    client = open_consumer(broker, fresh_ordered_topic, identify=SOON)

    bodies = publish(broker, fresh_ordered_topic, 1 + behind)

    return given_back(client, bodies, by=leave_alone)


@case("nsq/order/again-left", clause="smart.order.left", waiting=True)
@pytest.mark.parametrize("words", LEAVES.values(), ids=LEAVES)
def test_left(broker: Broker, fresh_ordered_topic: Topic, words: list[bytes]) -> Observation:
    """After an ordered client disconnects, the next client gets its unfinished message first."""
    topic = fresh_ordered_topic
    client = open_consumer(broker, topic, identify=SOON)
    bodies = publish(broker, topic, 4)
    if take_of(client, bodies) is None:
        return MISSING
    for word in words:
        client.connection.ask(raw(word, "last words"))
    client.close()

    return then_first(subscribe_in_order(broker, topic, channel=client.channel), bodies)


@case("nsq/order/again-left/while-another-waits", clause="smart.order.left", waiting=True)
def test_left_while_another_waits(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """After an ordered client disconnects, a waiting client gets its unfinished message first."""
    topic = fresh_ordered_topic
    client = open_consumer(broker, topic, identify=SOON)
    bodies = publish(broker, topic, 4)
    if take_of(client, bodies) is None:
        return MISSING
    second = subscribe_in_order(broker, topic, channel=client.channel)
    client.connection.ask(cls())
    client.close()

    return then_first(second, bodies)


@case("nsq/order/again-later", clause="smart.order.again", waiting=True)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_later_one(broker: Broker, fresh_ordered_topic: Topic, way: Step) -> Observation:
    """A message redelivered in mid-queue on an ordered channel precedes all later messages."""
    client = open_consumer(broker, fresh_ordered_topic, identify=SOON)
    bodies = publish(broker, fresh_ordered_topic, 6)
    before = read_in_order(client, bodies[:2])
    if before.value != IN_ORDER:
        return before

    return given_back(client, bodies[2:], by=way)


@case("nsq/order/again-ext", clause="smart.order.again", needs=("ext",), waiting=True)
@pytest.mark.parametrize("header", [b'{"k":"v"}', None], ids=["header", "no-header"])
def test_requeued_with_header(
    broker: Broker, fresh_ordered_ext_topic: Topic, header: Header | None
) -> Observation:
    """On an ordered ext topic, a requeued message is redelivered before any other message."""
    client = open_consumer(broker, fresh_ordered_ext_topic)

    bodies = publish(broker, fresh_ordered_ext_topic, 4, [header])

    return given_back(client, bodies, by=put_back)


@case("nsq/order/attempts-requeued", clause="smart.order.attempts", waiting=True)
def test_attempts_when_put_back(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """On an ordered channel, each delivery after a REQ raises attempts by 1."""
    client = open_consumer(broker, fresh_ordered_topic)

    return _attempts(broker, client, times=4, way=put_back)


@case("nsq/order/attempts-timed-out", clause="smart.order.attempts", waiting=True)
def test_attempts_when_timed_out(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """On an ordered channel, a delivery after a timeout raises attempts by 1."""
    client = open_consumer(broker, fresh_ordered_topic, identify=SOON)

    return _attempts(broker, client, times=2, way=leave_alone)


def _attempts(broker: Broker, client: Consumer, *, times: int, way: Step) -> Observation:
    body = broker.unique_body()
    broker.publish_accepted(client.topic, body)
    return attempts_seen(client, body, times=times, again=lambda held: way(client, held))
