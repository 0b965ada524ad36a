"""How patient to be with a target: measured, generous where nothing could be measured."""

import statistics
import time
from collections.abc import Callable

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics import Topic
from wireproof_kit.patience import Patience

ROUND_TRIPS = 5
ANSWER_LEAST, ANSWER_MOST = 0.3, 5.0
PUSH_LEAST, PUSH_MOST = 3.0, 10.0
REDELIVERY_LEAST, REDELIVERY_MOST = 5.0, 15.0
FACTOR = 20
PUSHES = 3
BEFORE_MEASURING = Patience(answer=2.0, push=PUSH_MOST, redelivery=REDELIVERY_MOST)


def fixed(seconds: float) -> Patience:
    """Return the patience a user asked for."""
    return Patience(answer=seconds, push=seconds, redelivery=seconds)


def answer_seconds(round_trip: Callable[[], float], so_far: float) -> float:
    """Measure some round trips; nothing shorter than the slowest seen by far."""
    times = [so_far, *(round_trip() for _ in range(ROUND_TRIPS - 1))]
    budget = max(FACTOR * statistics.median(times), 4 * max(times))
    return _within(budget, ANSWER_LEAST, ANSWER_MOST)


def unmeasured(answer: float) -> Patience:
    """Return the most patience there is for deliveries."""
    return Patience(answer=answer, push=PUSH_MOST, redelivery=REDELIVERY_MOST)


def measured(broker: Broker, topic: Topic, *, answer: float) -> Patience:
    """Publish and receive a few messages one after the other, and put one back.

    A target that delivers nothing gets the most there is.
    """
    try:
        publish, push, redelivery = _deliver(broker, topic)
    except (ArrangementFailed, TargetUnreachable):
        return unmeasured(answer)
    return Patience(
        answer=_within(max(answer, FACTOR * publish), ANSWER_LEAST, ANSWER_MOST),
        push=_within(FACTOR * push, PUSH_LEAST, PUSH_MOST),
        redelivery=_within(FACTOR * max(push, redelivery), REDELIVERY_LEAST, REDELIVERY_MOST),
    )


def _deliver(broker: Broker, topic: Topic) -> tuple[float, float, float]:
    """Return the median seconds of a publish, the most of a push, and those of a redelivery."""
    redelivery = 0.0
    publishes: list[float] = []
    pushes: list[float] = []
    with broker.subscribe(topic) as consumer:
        for _ in range(PUSHES):
            body = broker.unique_body()
            started = time.monotonic()
            broker.published(topic, body)
            publishes.append(time.monotonic() - started)
            delivery = consumer.take(body)
            if delivery is None:
                raise ArrangementFailed("a message was not delivered while measuring")
            pushes.append(time.monotonic() - started)
            put_back = time.monotonic()
            consumer.requeue(delivery, 0)
            again = consumer.next(body)
            redelivery = time.monotonic() - put_back if again else REDELIVERY_MOST
    return statistics.median(publishes), max(pushes), redelivery


def _within(seconds: float, least: float, most: float) -> float:
    return round(min(max(seconds, least), most), 3)
