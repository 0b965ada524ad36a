"""Ordered consumption: messages come in publishing order, with growing offset and internal id."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header, pub
from wireproof_kit.observation import Observation
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.batches import publish_batch
from wireproof_suites.nsq.steps.ordered_delivery import (
    IN_ORDER,
    MISSING,
    observe_increase,
    open_consumer,
    publish,
    put_back,
    read_by_turns,
    read_firsts,
    read_in_order,
    subscribe_in_order,
)
from wireproof_suites.nsq.steps.tag_dispatch import both

BY_TURNS: list[Header | None] = [None, b'{"k":"v"}', b'{"##client_dispatch_tag":"t"}', b"{}"]
# What a departed client had been sent may come again only when it times out.
SOON = {"msg_timeout": 1000}
SIZES = [0, 1, 100, 4096, 100_000]


@case("nsq/order/in-order", clause="smart.order.in-order", waiting=True)
@pytest.mark.parametrize("count", [2, 20, 200])
def test_in_order(broker: Broker, fresh_ordered_topic: Topic, count: int) -> Observation:
    """An ordered client receives messages in the order they were published."""
    client = open_consumer(broker, fresh_ordered_topic)

    bodies = publish(broker, fresh_ordered_topic, count)

    return read_in_order(client, bodies)


@case("nsq/order/in-order/waiting", clause="smart.order.in-order", waiting=True)
def test_in_order_when_they_waited(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """Messages queued before an ordered client subscribes arrive in publish order."""
    channel = open_consumer(broker, fresh_ordered_topic, identify=SOON)
    channel.close()
    bodies = publish(broker, fresh_ordered_topic, 20)

    client = subscribe_in_order(broker, fresh_ordered_topic, channel=channel.channel)

    return read_in_order(client, bodies, wait=REDELIVERY)


@case("nsq/order/in-order-kinds", clause="smart.order.in-order", needs=("trace",), waiting=True)
def test_in_order_of_every_kind(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """Messages of different commands, connections and sizes arrive in publish order."""
    client = open_consumer(broker, fresh_ordered_topic)

    bodies = _publish_every_kind(broker, fresh_ordered_topic)

    return read_in_order(client, bodies)


@case("nsq/order/in-order-ext", clause="smart.order.in-order", needs=("ext",), waiting=True)
def test_in_order_with_headers(broker: Broker, fresh_ordered_ext_topic: Topic) -> Observation:
    """On an ordered ext topic, messages with and without headers arrive in publish order."""
    client = open_consumer(broker, fresh_ordered_ext_topic)

    bodies = publish(broker, fresh_ordered_ext_topic, 20, BY_TURNS)

    return read_in_order(client, bodies)


@case("nsq/order/in-order-anew", clause="smart.order.in-order", waiting=True)
def test_in_order_for_one_client_after_the_other(
    broker: Broker, fresh_ordered_topic: Topic
) -> Observation:
    """A new ordered client continues where the previous client stopped."""
    topic = fresh_ordered_topic
    client = open_consumer(broker, topic, identify=SOON)
    bodies = publish(broker, topic, 8)
    seen = MISSING
    for start in range(0, len(bodies), 2):
        seen = read_in_order(client, bodies[start : start + 2], wait=REDELIVERY)
        if seen.value != IN_ORDER:
            return seen
        client.connection.ask(pub(topic, b"x"))  # its answer shows that the FIN was read
        client.close()
        client = subscribe_in_order(broker, topic, channel=client.channel, identify=SOON)
    return seen


@case("nsq/order/in-order-shared", clause="smart.order.in-order", waiting=True)
@pytest.mark.parametrize("ready", [1, 50])
def test_in_order_for_two_clients(
    broker: Broker, fresh_ordered_topic: Topic, ready: int
) -> Observation:
    """Two ordered clients of one channel together receive the messages in publish order."""
    first = open_consumer(broker, fresh_ordered_topic, ready=ready)
    second = subscribe_in_order(broker, fresh_ordered_topic, channel=first.channel, ready=ready)

    bodies = publish(broker, fresh_ordered_topic, 10)

    return read_by_turns([first, second], bodies)


@case("nsq/order/in-order-channels", clause="smart.order.in-order", waiting=True)
def test_in_order_on_two_channels(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """Each channel of an ordered topic receives all messages in publish order."""
    first, second = (
        open_consumer(broker, fresh_ordered_topic),
        open_consumer(broker, fresh_ordered_topic),
    )

    bodies = publish(broker, fresh_ordered_topic, 10)

    return both(read_in_order(first, bodies), read_in_order(second, bodies))


@case("nsq/order/increasing", clause="smart.order.increasing", needs=("trace",), waiting=True)
def test_increasing(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """On an ordered channel, offset and internal id increase from message to message."""
    client = open_consumer(broker, fresh_ordered_topic)

    bodies = _publish_every_kind(broker, fresh_ordered_topic) + publish(
        broker, fresh_ordered_topic, 30
    )

    return observe_increase(read_firsts(client, bodies), count=len(bodies))


@case("nsq/order/increasing-ext", clause="smart.order.increasing", needs=("ext",), waiting=True)
def test_increasing_with_headers(broker: Broker, fresh_ordered_ext_topic: Topic) -> Observation:
    """On an ordered ext topic, offset and internal id increase from message to message."""
    client = open_consumer(broker, fresh_ordered_ext_topic)

    bodies = publish(broker, fresh_ordered_ext_topic, 12, BY_TURNS)

    return observe_increase(read_firsts(client, bodies), count=len(bodies))


@case("nsq/order/increasing-anew", clause="smart.order.increasing", waiting=True)
def test_increasing_for_one_client_after_the_other(
    broker: Broker, fresh_ordered_topic: Topic
) -> Observation:
    """Offset and internal id keep increasing after requeues and for later ordered clients."""
    topic = fresh_ordered_topic
    client = open_consumer(broker, topic)
    bodies = publish(broker, topic, 6)
    before = read_firsts(client, bodies[:3], again=put_back)
    if len(before) < 3:
        return MISSING
    client.close()

    later = subscribe_in_order(broker, topic, channel=client.channel)
    # The one given back last may come again to the later client.
    after = read_firsts(later, bodies[3:])
    return observe_increase([*before, *after], count=len(bodies))


def _publish_every_kind(broker: Broker, topic: Topic) -> list[bytes]:
    """Publish by PUB, PUB_TRACE and MPUB by turns, from several connections, in all sizes."""
    bodies: list[bytes] = []
    for size in SIZES:
        single, traced = broker.unique_body(b"x" * size), broker.unique_body(b"y" * size)
        batch = [broker.unique_body() for _ in range(3)]
        broker.publish_accepted(topic, single)
        broker.publish_accepted(topic, traced, trace_id=2**64 - 1 - size)
        publish_batch(broker, topic, batch)
        bodies += [single, traced, *batch]
    return bodies
