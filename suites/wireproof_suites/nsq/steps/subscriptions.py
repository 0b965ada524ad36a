"""Subscribe a client and observe its answer and the messages it receives."""

from collections.abc import Callable, Collection, Mapping

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.frames import Header, rdy, subscribe
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, DESIRED_TAG
from wireproof_suites.nsq.steps.deliveries import answered_and

Identify = Mapping[str, object]


def subscribe_and_receive(
    broker: Broker, topic: Topic, identify: Identify | None, *, header: Header | None = None
) -> Observation:
    """Subscribe to a new channel and publish a message; observe the answer and the delivery.

    If the broker refuses the subscription, the observation is that answer alone.
    """
    channel, body = topic.channel(), broker.unique_body()
    with broker.connect(identify=identify, topic=topic) as client:
        answer = client.ask(subscribe(topic, channel))
        if not isinstance(answer, Response):
            return observe(answer)
        client.send(rdy(1))
        broker.publish_accepted(topic, body, header)

        delivery = broker.consumer(client, topic, channel).next()
        return answered_and(answer, observe_delivery(delivery, body=body, header=header))


def refused_takes_nothing(
    broker: Broker,
    topic: Topic,
    identify: Identify,
    *,
    until: Callable[[Broker, Topic], Observation | None] = lambda broker, topic: None,
) -> Observation:
    """Send SUB and RDY on a connection that is refused, and observe what a valid client receives.

    ``until`` lets time pass in between. If it returns an observation, that one is the result.
    """
    channel = topic.channel()
    header = _what_it_desires(topic, identify)
    with broker.connect(identify=identify, topic=topic) as client:
        client.ask(subscribe(topic, channel))
        client.send(rdy(2))
        right = broker.subscribe(topic, channel=channel)
        late = until(broker, topic)
        bodies = [broker.unique_body() for _ in range(4)]
        for body in bodies:
            broker.publish_accepted(topic, body, header)

        return late or receive_all(right, bodies)


def _what_it_desires(topic: Topic, identify: Identify) -> Header | None:
    """Return the header of messages that would go to such a client, were it subscribed."""
    tag = identify.get(DESIRED_TAG) if topic.extend else None
    return {CLIENT_DISPATCH_TAG: tag} if isinstance(tag, str) else None


def read_ids(consumer: Consumer, bodies: Collection[bytes]) -> dict[bytes, set[bytes]] | None:
    """Receive until all bodies have come; return the message ids of each body, or None."""
    ids: dict[bytes, set[bytes]] = {body: set() for body in bodies}
    while not all(ids.values()):
        delivery = consumer.next()
        if delivery is None:
            return None
        for body in bodies:
            if body in delivery.raw and delivery.message_id is not None:
                ids[body].add(delivery.message_id)
    return ids


def receive_all(consumer: Consumer, bodies: Collection[bytes]) -> Observation:
    """Receive until all bodies have come: ``delivered:all``, else ``missing``."""
    missing = set(bodies)
    while missing:
        delivery = consumer.next()
        if delivery is None:
            return observed("missing", overdue=True)
        missing -= {body for body in missing if body in delivery.raw}
    return observed("delivered:all")
