"""Ordered consumption: only one message is in flight, whatever the client sends."""

from collections.abc import Callable

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header, fin, mpub, nop, pub
from wireproof_kit.observation import Observation, observed
from wireproof_suites.nsq.steps.ordered_delivery import (
    IN_ORDER,
    MISSING,
    ONE_IN_FLIGHT,
    Step,
    held_alone,
    leave_alone,
    open_consumer,
    place_of,
    publish,
    read_in_order,
    subscribe_in_order,
    take_of,
    then_first,
)

COUNT = 6
# Longer than a broker that sends a second message late would take its time.
LONG_TIMEOUT_MS = 5000

HEADERS: dict[str, list[Header | None]] = {
    "headers": [b'{"k":"v"}'],
    "no-headers": [None],
    "by-turns": [None, b'{"k":"v"}'],
}


def _touch(consumer: Consumer, held: Delivery) -> None:
    consumer.touch(held)


def _nop(consumer: Consumer, held: Delivery) -> None:
    consumer.connection.send(nop())


def _ready_again(consumer: Consumer, held: Delivery) -> None:
    consumer.ready(2)


def _not_ready_and_ready(consumer: Consumer, held: Delivery) -> None:
    consumer.ready(0)
    consumer.ready(3)


def _finish_another(consumer: Consumer, held: Delivery) -> None:
    """Send FIN with the id of the message that is due next."""
    internal_id = int.from_bytes((held.message_id or b"")[:8], "big") + 1
    consumer.connection.ask(fin(internal_id.to_bytes(8, "big") + bytes(8)))


def _publish_here(consumer: Consumer, held: Delivery) -> None:
    consumer.connection.ask(pub(consumer.topic, b"behind the others"))


MEANWHILE: dict[str, Step] = {
    "touch": _touch,
    "nop": _nop,
    "ready-again": _ready_again,
    "not-ready-and-ready": _not_ready_and_ready,
    "fin-of-another": _finish_another,
    "publish-here": _publish_here,
}


@case("nsq/order/held", clause="smart.order.one-in-flight", waiting=True)
def test_held(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """While a message is in flight, an ordered client receives no other message."""
    control, client = _pair(broker, fresh_ordered_topic)

    bodies = publish(broker, fresh_ordered_topic, COUNT)

    return held_alone(client, bodies, control=control)


@case("nsq/order/held-ext", clause="smart.order.one-in-flight", needs=("ext",), waiting=True)
@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_held_with_headers(
    broker: Broker, fresh_ordered_ext_topic: Topic, headers: list[Header | None]
) -> Observation:
    """On an ordered ext topic, a client with a message in flight receives no other message."""
    control, client = _pair(broker, fresh_ordered_ext_topic)

    bodies = publish(broker, fresh_ordered_ext_topic, COUNT, headers)

    return held_alone(client, bodies, control=control)


@case("nsq/order/held-batch", clause="smart.order.one-in-flight", needs=("batch",), waiting=True)
def test_held_of_a_batch(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives the messages of a batch one at a time."""
    control, client = _pair(broker, fresh_ordered_topic)
    bodies = [broker.unique_body() for _ in range(COUNT)]
    with broker.connect(topic=fresh_ordered_topic) as publisher:
        publisher.ask(mpub(fresh_ordered_topic, bodies))

    return held_alone(client, bodies, control=control)


@case("nsq/order/held-meanwhile", clause="smart.order.one-in-flight", waiting=True)
@pytest.mark.parametrize("meanwhile", MEANWHILE.values(), ids=MEANWHILE)
def test_held_meanwhile(
    broker: Broker, fresh_ordered_topic: Topic, meanwhile: Step
) -> Observation:
    """An ordered client receives the next message only after FIN for the current one."""
    control, client = _pair(broker, fresh_ordered_topic)

    bodies = publish(broker, fresh_ordered_topic, COUNT)

    return held_alone(client, bodies, control=control, meanwhile=meanwhile)


@case("nsq/order/held-later", clause="smart.order.one-in-flight", waiting=True)
def test_held_later(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client that has finished messages still has only one in flight."""
    control, client = _pair(broker, fresh_ordered_topic)
    bodies = publish(broker, fresh_ordered_topic, 8)
    before = read_in_order(client, bodies[:3])
    if before.value != IN_ORDER:
        return before

    return held_alone(client, bodies[3:], control=control)


@case("nsq/order/held-long", clause="smart.order.one-in-flight", waiting=True)
def test_held_long(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives no other message until the current one times out."""
    return _held_long(broker, fresh_ordered_topic, ready=1)


@case("nsq/order/second-client", clause="smart.order.one-in-flight", waiting=True)
@pytest.mark.parametrize("ready", [1, 50])
def test_second_client(broker: Broker, fresh_ordered_topic: Topic, ready: int) -> Observation:
    """While one ordered client holds a message, other clients of the channel receive none."""
    topic = fresh_ordered_topic
    control, first = _pair(broker, topic)
    bodies = publish(broker, topic, COUNT)
    held = take_of(first, bodies)
    if held is None or place_of(held, bodies) != 0:
        return MISSING
    second = subscribe_in_order(broker, topic, channel=first.channel, ready=ready)
    if read_in_order(control, bodies).value != IN_ORDER:
        return observed("no-sentinel", overdue=True)
    first.close()

    return then_first(second, bodies, named=ONE_IN_FLIGHT, otherwise="two-in-flight")


@case("nsq/order/rdy-wide", clause="smart.order.rdy", waiting=True)
@pytest.mark.parametrize("ready", [2, 3, 50, 2500])
def test_wide_rdy(broker: Broker, fresh_ordered_topic: Topic, ready: int) -> Observation:
    """A large RDY count does not give an ordered client more than one message."""
    control = open_consumer(broker, fresh_ordered_topic)
    client = open_consumer(broker, fresh_ordered_topic, ready=ready)

    bodies = publish(broker, fresh_ordered_topic, COUNT)

    return held_alone(client, bodies, control=control)


@case("nsq/order/rdy-again", clause="smart.order.rdy", waiting=True)
def test_rdy_while_one_is_held(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A RDY sent while a message is in flight gives an ordered client no second message."""
    control, client = _pair(broker, fresh_ordered_topic)

    bodies = publish(broker, fresh_ordered_topic, COUNT)

    return held_alone(
        client, bodies, control=control, meanwhile=lambda client, held: client.ready(2500)
    )


@case("nsq/order/rdy-again/each-time", clause="smart.order.rdy", waiting=True)
def test_rdy_after_each(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """Sending RDY after each message does not give an ordered client more than one message."""
    control, client = _pair(broker, fresh_ordered_topic)
    bodies = publish(broker, fresh_ordered_topic, 8)
    for number in range(4):
        seen = read_in_order(client, bodies[number : number + 1])
        if seen.value != IN_ORDER:
            return seen
        client.ready(2)

    return held_alone(client, bodies[4:], control=control)


@case("nsq/order/rdy-long", clause="smart.order.rdy", waiting=True)
@pytest.mark.parametrize("ready", [2, 50])
def test_wide_rdy_for_long(broker: Broker, fresh_ordered_topic: Topic, ready: int) -> Observation:
    """A large RDY count gives an ordered client only one message even after a long wait."""
    return _held_long(broker, fresh_ordered_topic, ready=ready)


@case("nsq/order/rdy-missing", clause="smart.order.rdy", waiting=True)
def test_no_rdy(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives a message without sending RDY, or once it sends RDY 1."""
    client = subscribe_in_order(broker, fresh_ordered_topic, ready=0)

    return _observe_delivery(
        client, lambda body: broker.publish_accepted(fresh_ordered_topic, body), broker
    )


@case("nsq/order/rdy-zero", clause="smart.order.rdy", waiting=True)
def test_rdy_of_zero(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives a message after sending RDY 0, or once it sends RDY 1."""
    client = open_consumer(broker, fresh_ordered_topic)
    client.ready(0)

    # Published behind the RDY on one connection, so that the RDY is known to have been read.
    return _observe_delivery(
        client, lambda body: client.connection.ask(pub(fresh_ordered_topic, body)), broker
    )


def _held_long(broker: Broker, topic: Topic, *, ready: int) -> Observation:
    control = open_consumer(broker, topic)
    client = open_consumer(broker, topic, ready=ready, identify={"msg_timeout": LONG_TIMEOUT_MS})

    bodies = publish(broker, topic, COUNT)

    seconds = LONG_TIMEOUT_MS / 1000
    return held_alone(client, bodies, control=control, end=leave_alone, after=seconds)


def _pair(broker: Broker, topic: Topic) -> tuple[Consumer, Consumer]:
    """Return a control consumer and a tested consumer, each on its own channel."""
    return open_consumer(broker, topic), open_consumer(broker, topic)


def _observe_delivery(
    client: Consumer, publish_one: Callable[[bytes], object], broker: Broker
) -> Observation:
    """Publish one message: ``delivered``, ``delivered-after-rdy`` or ``missing``."""
    body = broker.unique_body()
    publish_one(body)
    if client.next(body) is not None:
        return observed("delivered")
    client.ready(1)
    return observed("delivered-after-rdy") if client.next(body) else MISSING
