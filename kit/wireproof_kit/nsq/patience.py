"""Measures how long to wait for a target; uses generous limits where it cannot measure."""

import statistics
import time
from collections.abc import Callable, Sequence

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.runner.patience import REDELIVERY, SHORTEST_S, Patience

ROUND_TRIPS = 5
# A busy machine has been seen to hold up a prompt broker for a second.
ANSWER_LEAST, ANSWER_MOST = 1.0, 5.0
PUSH_LEAST, PUSH_MOST = 3.0, 10.0
REDELIVERY_LEAST, REDELIVERY_MOST = 5.0, 15.0
FACTOR = 20
PUSHES = 2
ROUNDS = 3
HASTY = 1.0
WITHHELD = 3.0
DELAY_MS = 100
# A target whose rounds take longer than this has been seen to be late by any of 2 to 15 s.
SLOW_ROUND = 0.5
# nsqd looks at 20 channels in a round, whatever options make its rounds fast: of 10 channels all
# were served within 5 ms, of 40 the second or third message came 1 to 8 s late.
CHANNELS = 40
SUBSCRIBING_SECONDS = 2.0
# Redeliveries of the measured broker came later than 15 s in quiet channels.
SLOW_PUSH, SLOW_REDELIVERY = 15.0, 30.0
# Measured clusters took 30 s under load until their nodes agreed on a leader.
SETTLING = 45.0
BEFORE_MEASURING = Patience(
    answer=2.0, push=PUSH_MOST, redelivery=REDELIVERY_MOST, settling=SETTLING
)


def make_fixed(seconds: float) -> Patience:
    """Return the same time limit, given by the user, for every kind of wait."""
    return Patience(answer=seconds, push=seconds, redelivery=seconds)


def answer_seconds(round_trip: Callable[[], float], so_far: float) -> float:
    """Return a time limit for answers, far above the slowest of several measured round trips.

    ``round_trip`` makes one and returns its seconds; ``so_far`` is a round trip already measured.
    """
    times = [so_far, *(round_trip() for _ in range(ROUND_TRIPS - 1))]
    budget = max(FACTOR * statistics.median(times), 4 * max(times))
    return _within(budget, ANSWER_LEAST, ANSWER_MOST)


def make_longest(answer: float) -> Patience:
    """Return the longest limits for deliveries, for lack of a measurement.

    `answer` is in seconds.
    """
    return Patience(answer=answer, push=PUSH_MOST, redelivery=REDELIVERY_MOST, settling=SETTLING)


def make_assumed(answer: float) -> Patience:
    """Return the limits for any target until its deliveries have been measured; in seconds."""
    return Patience(
        answer,
        SLOW_PUSH,
        SLOW_REDELIVERY,
        in_rounds=True,
        settling=SETTLING,
        is_assumed=True,
    )


def hasty(answer: float) -> Patience:
    """Return short limits for a target that failed to deliver when measured; in seconds."""
    return Patience(answer=answer, push=HASTY, redelivery=HASTY)


class NothingDelivered(ArrangementFailed):
    """The target did not deliver messages that it acknowledged while patience was measured."""


def make_withheld(answer: float) -> Patience:
    """Return the limits for a target that delivered nothing in the longest wait; in seconds."""
    return Patience(answer, WITHHELD, WITHHELD, is_withheld=True)


def measure_or_assume(
    broker: Broker, take: Callable[[], Topic], *, answer: float
) -> tuple[Patience, Patience]:
    """Return the measured time limits of a target for its cases, and those for its probes.

    ``take`` returns a topic, or raises ArrangementFailed if there is none. A target that
    delivered nothing would hold up probe after probe: these wait shorter then.
    """
    try:
        measured = measure(broker, take(), answer=answer)
    except NothingDelivered:
        return make_withheld(answer), make_fixed(SHORTEST_S)
    except (ArrangementFailed, TargetUnreachable):
        return make_longest(answer), hasty(answer)
    return measured, measured


def measure(broker: Broker, topic: Topic, *, answer: float) -> Patience:
    """Measure publishes, deliveries and redeliveries, and return time limits for waits.

    The redeliveries are also measured with many channels.

    Raises:
        ArrangementFailed: nothing could be published.
        NothingDelivered: what was published did not come.
    """
    publish, push, lag = _deliver(broker, topic)
    if lag > SLOW_ROUND or _has_slow_rounds(broker, topic):
        return Patience(answer, SLOW_PUSH, SLOW_REDELIVERY, in_rounds=True, settling=SETTLING)
    return Patience(
        answer=_within(max(answer, FACTOR * publish), ANSWER_LEAST, ANSWER_MOST),
        push=_within(FACTOR * push, PUSH_LEAST, PUSH_MOST),
        redelivery=_within(FACTOR * max(push, lag), REDELIVERY_LEAST, REDELIVERY_MOST),
        settling=SETTLING,
    )


def _deliver(broker: Broker, topic: Topic) -> tuple[float, float, float]:
    """Return the slowest publish and push, and the delay beyond a requested redelivery.

    Brokers that look for due messages in rounds show here that they do: a quiet channel's
    messages can then be late, too.
    """
    publishes: list[float] = []
    pushes: list[float] = []
    with broker.subscribe(topic) as consumer:
        for _ in range(PUSHES):
            delivery = _deliver_one(broker, consumer, publishes, pushes)
            consumer.finish(delivery)
        delivery = _deliver_one(broker, consumer, publishes, pushes)
        started = time.monotonic()
        consumer.requeue(delivery, DELAY_MS)
        again = consumer.next(delivery.body, REDELIVERY)
    lag = time.monotonic() - started if again else REDELIVERY_MOST
    return max(publishes), max(pushes), lag


def _has_slow_rounds(broker: Broker, topic: Topic) -> bool:
    """Return True if one of many channels that have little to do is served late."""
    deadline = time.monotonic() + SUBSCRIBING_SECONDS
    consumers: list[Consumer] = []
    try:
        while len(consumers) < CHANNELS and time.monotonic() < deadline:
            consumers.append(broker.subscribe(topic))
        return any(_is_served_late(broker, topic, consumers) for _ in range(ROUNDS))
    finally:
        for consumer in consumers:
            consumer.close()


def _is_served_late(broker: Broker, topic: Topic, consumers: Sequence[Consumer]) -> bool:
    """Publish one message and put it back on every channel; return True if one is slow."""
    body = broker.unique_body()
    broker.publish_accepted(topic, body)
    due = time.monotonic() + SLOW_ROUND
    for consumer in consumers:
        delivery = consumer.take(body, seconds=max(due - time.monotonic(), 0.0))
        if delivery is None:
            return True
        consumer.requeue(delivery, 0)
    due = time.monotonic() + SLOW_ROUND
    for consumer in consumers:
        delivery = consumer.take(body, seconds=max(due - time.monotonic(), 0.0))
        if delivery is None:
            return True
        consumer.finish(delivery)
    return False


def _deliver_one(
    broker: Broker, consumer: Consumer, publishes: list[float], pushes: list[float]
) -> Delivery:
    body = broker.unique_body()
    started = time.monotonic()
    broker.publish_accepted(consumer.topic, body)
    publishes.append(time.monotonic() - started)
    delivery = consumer.take(body)
    if delivery is None:
        raise NothingDelivered("a message was not delivered while measuring")
    pushes.append(time.monotonic() - started)
    return delivery


def _within(seconds: float, least: float, most: float) -> float:
    return round(min(max(seconds, least), most), 3)
