"""Ordered delivery to one client: the message it holds, the message that comes next, the order.

A client is used only after it has finished a first message: then the channel delivers, and a
broker that sends the first message of a new channel twice has done so. A case shows that no other
message comes while one is held by the return of the held message, which would come after it.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.nsq.wire.frames import Header
from wireproof_kit.observation import Difference, Observation, observed, with_evidence
from wireproof_kit.runner.patience import PUSH, REDELIVERY, Wait
from wireproof_spec.nsq.names import SUB_ORDERED
from wireproof_suites.nsq.steps.deliveries import AS_SENT, NO_EXT_LAYOUTS
from wireproof_suites.nsq.steps.trace_responses import read_trace

ORDERED = SUB_ORDERED.decode()
IN_ORDER = "in-order"
ONE_IN_FLIGHT = "one-in-flight"
SAME_FIRST = "same-first"
SHORTEST_TIMEOUT_MS = 1000
COPIES_LIMIT = 1000
POLL_SECONDS = 0.05
SHORT = 4

MISSING = observed("missing", overdue=True)

Identify = Mapping[str, object]
Step = Callable[[Consumer, Delivery], None]


def open_consumer(
    broker: Broker,
    topic: Topic,
    *,
    channel: str | None = None,
    ready: int = 1,
    identify: Identify | None = None,
) -> Consumer:
    """Subscribe in order to a new channel, and finish a first message."""
    consumer = subscribe_in_order(broker, topic, channel=channel, ready=ready, identify=identify)
    first = broker.unique_body()
    broker.publish_accepted(topic, first)
    consumer.next(first)
    return consumer


def subscribe_in_order(
    broker: Broker,
    topic: Topic,
    *,
    channel: str | None = None,
    ready: int = 1,
    identify: Identify | None = None,
) -> Consumer:
    """Subscribe in order with the command that the target knows for it."""
    return broker.subscribe(
        topic, channel=channel, ready=ready, identify=identify, command=ORDERED
    )


def publish(
    broker: Broker, topic: Topic, count: int, headers: Sequence[Header | None] = (None,)
) -> list[bytes]:
    """Publish `count` messages, with the headers in turn; return their bodies."""
    bodies = [broker.unique_body() for _ in range(count)]
    for number, body in enumerate(bodies):
        broker.publish_accepted(topic, body, headers[number % len(headers)])
    return bodies


def take_of(
    consumer: Consumer, bodies: Sequence[bytes], wait: Wait = PUSH, *, after: float = 0.0
) -> Delivery | None:
    """Receive the next message that has one of the bodies; finish and skip other messages.

    ``after`` are the seconds before patience begins, such as the time-out of a message.
    """
    seconds = consumer.connection.seconds(wait) + after
    for _ in range(COPIES_LIMIT):
        delivery = consumer.take(seconds=seconds)
        if delivery is None or place_of(delivery, bodies) is not None:
            return delivery
        consumer.finish(delivery)
    return None


def read_in_order(
    consumer: Consumer, bodies: Sequence[bytes], *, wait: Wait = PUSH
) -> Observation:
    """Finish messages until all have come: ``in-order``, ``out-of-order`` or ``missing``.

    A copy of the message just finished is passed over, since a broker may send one twice.
    """
    done = 0
    while done < len(bodies):
        delivery = take_of(consumer, bodies, wait)
        if delivery is None:
            return observed("missing", overdue=True, note=f"after {done} of {len(bodies)}")
        consumer.finish(delivery)
        place = place_of(delivery, bodies)
        if place not in (done - 1, done):
            return _out_of_order(expected=done, found=place)
        done = max(done, place + 1)
    return observed(IN_ORDER)


def read_by_turns(consumers: Sequence[Consumer], bodies: Sequence[bytes]) -> Observation:
    """Receive messages over several clients of one channel, as `read_in_order` does over one.

    A copy of an earlier message may lie unread at the other client.
    """
    done = 0
    while done < len(bodies):
        came = _first_of(consumers, bodies)
        if came is None:
            return observed("missing", overdue=True, note=f"after {done} of {len(bodies)}")
        consumer, delivery = came
        consumer.finish(delivery)
        place = place_of(delivery, bodies)
        if place is None or place > done:
            return _out_of_order(expected=done, found=place)
        done = max(done, place + 1)
    return observed(IN_ORDER)


def put_back(consumer: Consumer, delivery: Delivery) -> None:
    """Requeue a delivered message at once: send REQ with timeout 0."""
    consumer.requeue(delivery, 0)


def leave_alone(consumer: Consumer, delivery: Delivery) -> None:
    """Do nothing with a delivered message, so that it times out."""


def held_alone(
    consumer: Consumer,
    bodies: Sequence[bytes],
    *,
    control: Consumer,
    meanwhile: Step = leave_alone,
    end: Step = put_back,
    after: float = 0.0,
) -> Observation:
    """Hold the first message, give it back with ``end``, and observe which message comes next.

    ``one-in-flight``: the held message comes next. ``two-in-flight``: another message comes before
    it. ``no-sentinel``: the control consumer, on its own channel, did not get every message, so
    nothing is known of messages that did not come. ``after`` are the seconds that ``end`` takes.
    """
    held = take_of(consumer, bodies)
    if held is None or place_of(held, bodies) != 0:
        return MISSING if held is None else _out_of_order(0, place_of(held, bodies))
    meanwhile(consumer, held)
    if read_in_order(control, bodies).value != IN_ORDER:
        return observed("no-sentinel", overdue=True)
    end(consumer, held)
    return then_first(
        consumer, bodies, named=ONE_IN_FLIGHT, otherwise="two-in-flight", after=after
    )


def given_back(consumer: Consumer, bodies: Sequence[bytes], *, by: Step) -> Observation:
    """Return ``same-first`` if the first message, given back, comes again before all others."""
    held = take_of(consumer, bodies)
    if held is None or place_of(held, bodies) != 0:
        return MISSING if held is None else _out_of_order(0, place_of(held, bodies))
    by(consumer, held)
    return then_first(consumer, bodies)


def then_first(
    consumer: Consumer,
    bodies: Sequence[bytes],
    *,
    named: str = SAME_FIRST,
    otherwise: str = "other-first",
    after: float = 0.0,
) -> Observation:
    """Observe whether the first message comes before the others, and the others in order."""
    again = take_of(consumer, bodies, REDELIVERY, after=after)
    if again is None:
        return MISSING
    place = place_of(again, bodies)
    if place != 0:
        found = f"message {1 + (place or 0)}"
        difference = Difference("message", None, "message 1", found)
        return observed(otherwise, difference=difference).on(again)
    consumer.finish(again)
    rest = read_in_order(consumer, bodies[1:], wait=REDELIVERY)
    return observed(named) if rest.value == IN_ORDER else rest


@with_evidence
def as_sent(delivery: Delivery | None, body: bytes, header: Header | None = None) -> Observation:
    """Compare a delivery with what was published; without a header two layouts are valid."""
    if delivery is not None and header is None and delivery.layout in NO_EXT_LAYOUTS:
        return observed(AS_SENT)
    return observe_delivery(delivery, body=body, header=header)


def read_firsts(
    consumer: Consumer, bodies: Sequence[bytes], *, again: Step = leave_alone
) -> list[Delivery]:
    """Receive until every message has come; return the first delivery of each, in order.

    ``again`` gives a message back once before the message is finished.
    """
    firsts: dict[int, Delivery] = {}
    while len(firsts) < len(bodies):
        delivery = take_of(consumer, bodies, REDELIVERY)
        place = place_of(delivery, bodies) if delivery else None
        if delivery is None or place is None:
            break
        is_new = place not in firsts
        firsts.setdefault(place, delivery)
        if is_new and again is not leave_alone:
            again(consumer, delivery)
        else:
            consumer.finish(delivery)
    return list(firsts.values())


def observe_increase(deliveries: Sequence[Delivery], *, count: int) -> Observation:
    """Return whether offset and internal id grow from each message to the next."""
    if len(deliveries) < count:
        return MISSING
    for one, other in itertools.pairwise(deliveries):
        before, after = one.message, other.message
        if before is None or after is None:
            return observed("undecodable").on(one if before is None else other)
        for field, at in (("disk_queue_offset", 26), ("internal_id", 10)):
            low, high = getattr(before, field), getattr(after, field)
            if high <= low:
                difference = Difference(field, at, f"more than {low}", str(high))
                value = f"{field.replace('_', '-')}-not-greater"
                return observed(value, difference=difference).on(other, one)
    return observed("increasing")


def position_of(delivery: Delivery | None, answer: Answer) -> Observation:
    """Compare offset and size of a delivery with those in the answer to its publish."""
    response = read_trace(answer)
    if response is None:
        return observe(answer)
    if delivery is None or delivery.message is None:
        return observe_delivery(delivery, body=b"")
    message = delivery.message
    fields = (
        ("offset", response.disk_queue_offset, message.disk_queue_offset),
        ("size", response.disk_queue_data_size, message.disk_queue_data_size),
    )
    for name, due, found in fields:
        if due != found:
            difference = Difference(f"disk_queue_{name}", None, str(due), str(found))
            return observed(f"{name}-differs", difference=difference).on(delivery, answer)
    return observed("true")


def place_of(delivery: Delivery, bodies: Sequence[bytes]) -> int | None:
    """Return the index of the body in a delivery; a short body must be at the end of its data."""
    for place, body in enumerate(bodies):
        if delivery.raw.endswith(body) or (len(body) > SHORT and body in delivery.raw):
            return place
    return None


def _first_of(
    consumers: Sequence[Consumer], bodies: Sequence[bytes]
) -> tuple[Consumer, Delivery] | None:
    """Return the first delivery to any of the clients; each client is read in turn."""
    seconds = consumers[0].connection.seconds(REDELIVERY)
    rounds = max(1, int(seconds / (POLL_SECONDS * len(consumers))))
    for _ in range(rounds):
        for consumer in consumers:
            delivery = consumer.take(seconds=POLL_SECONDS)
            if delivery is None:
                continue
            if place_of(delivery, bodies) is not None:
                return consumer, delivery
            consumer.finish(delivery)
    return None


def _out_of_order(expected: int, found: int | None) -> Observation:
    difference = Difference(
        "message", None, f"message {expected + 1}", f"message {1 + (found or 0)}"
    )
    return observed("out-of-order", difference=difference)
