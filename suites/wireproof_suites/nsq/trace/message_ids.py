"""The ids of messages, and of the answers that have these ids."""

import itertools
from collections.abc import Callable, Sequence

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.observe.trace_layout import has_top_byte_alone
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.observation import Difference, Observation, observed, with_evidence
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.trace_responses import read_trace

HALF = 8
LOW_HALF_AT = 18
HIGH_HALF_AT = 10

TRACE_IDS = {
    "zero": 0,
    "one": 1,
    "each-byte-different": 0x0102030405060708,
    "above-2-to-the-53": 2**53 + 1,
    "below-2-to-the-63": 2**63 - 1,
    "2-to-the-63": 2**63,
    "above-2-to-the-63": 2**63 + 1,
    "greatest": 2**64 - 1,
    "equal-halves": 0x0102030401020304,
}


def low_half(delivery: Delivery | None, trace_id: int) -> Observation:
    """Compare the low 8 bytes of a delivered message id with a trace id.

    ``trace-id`` if they are equal.
    """
    return _half(delivery, trace_id, name="trace-id", at=LOW_HALF_AT)


def high_half(delivery: Delivery | None, answer: Answer) -> Observation:
    """Compare the high 8 bytes of a delivered message id with an answer's internal id.

    ``internal-id`` if they are equal.
    """
    response = read_trace(answer)
    if response is None:
        return observe(answer)
    return _half(delivery, response.internal_id, name="internal-id", at=HIGH_HALF_AT)


def observe_increase(numbers: Sequence[int]) -> Observation:
    """Observe whether each internal id is greater than the one before.

    ``little-endian``: all of them are small numbers in the other byte order.
    """
    if len(numbers) > 1 and all(map(has_top_byte_alone, numbers)):
        difference = Difference("internal_id", HIGH_HALF_AT, "big-endian ids", str(numbers[0]))
        return observed("little-endian", difference=difference)
    for before, after in itertools.pairwise(numbers):
        if after <= before:
            difference = Difference("internal_id", HIGH_HALF_AT, f"more than {before}", str(after))
            return observed("equal" if after == before else "falling", difference=difference)
    return observed("increasing")


def delivered_ids(consumer: Consumer, bodies: Sequence[bytes]) -> list[int]:
    """Return the internal ids of the delivered messages, in the order of the bodies."""
    found: dict[bytes, int] = {}
    while len(found) < len(bodies):
        delivery = consumer.next(wait=REDELIVERY)
        if delivery is None:
            break
        if delivery.message is not None:
            found.setdefault(delivery.body, delivery.message.internal_id)
    return [found[body] for body in bodies if body in found]


def finish_some(
    broker: Broker,
    consumer: Consumer,
    bodies: Sequence[bytes],
    *,
    unfinished: Sequence[int],
    later: Callable[[Consumer], Consumer],
) -> Observation:
    """Finish some messages and leave the others; ``finished`` if only the others come again.

    ``later`` makes the unfinished messages come again, and returns the consumer that gets them.
    Their return shows that finished messages could have returned, too: a finished message before
    the last unfinished one is ``again``. Copies sent before the broker had read FIN do not count.
    """
    left = {body for number, body in enumerate(bodies) if number in unfinished}
    done = set(bodies) - left
    seen: set[bytes] = set()
    while len(seen) < len(bodies):
        delivery = consumer.take()
        if delivery is None:
            return observed("missing", overdue=True)
        seen.add(delivery.body)
        if delivery.body not in left:
            consumer.finish(delivery)
    if not _passed_copies(broker, consumer):
        return observed("no-sentinel", overdue=True)
    then = later(consumer)
    while left:
        delivery = then.take(wait=REDELIVERY)
        if delivery is None:
            return observed("no-sentinel", overdue=True)
        if delivery.body in done:
            return observed("again").on(delivery)
        then.finish(delivery)
        left.discard(delivery.body)
    return observed("finished")


def only_empty(before: Sequence[Delivery] | None) -> Observation:
    """Observe the messages before a sentinel: ``empty``, ``absent`` (none) or ``other``."""
    if before is None:
        return observed("no-sentinel", overdue=True)
    if not before:
        return observed("absent")
    others = [each for each in before if each.body]
    return observed("other" if others else "empty").on(*(others or before))


def publish_all(broker: Broker, topic: Topic, trace_ids: Sequence[int | None]) -> list[bytes]:
    """Publish one message for each trace id, by PUB for None; return their bodies."""
    bodies = [broker.unique_body() for _ in trace_ids]
    for body, trace_id in zip(bodies, trace_ids, strict=True):
        broker.publish_accepted(topic, body, trace_id=trace_id)
    return bodies


def _passed_copies(broker: Broker, consumer: Consumer) -> bool:
    """Pass over all that was sent before a message of now, which tells that it is there."""
    sentinel = broker.unique_body()
    broker.publish_accepted(consumer.topic, sentinel)
    while (delivery := consumer.take()) is not None:
        if delivery.body == sentinel:
            consumer.finish(delivery)
            return True
    return False


@with_evidence
def _half(delivery: Delivery | None, due: int, *, name: str, at: int) -> Observation:
    if delivery is None:
        return observe_delivery(None, body=b"")
    found = delivery.raw[at : at + HALF]
    if found == due.to_bytes(HALF, "big"):
        return observed(name)
    difference = Difference(name, at, due.to_bytes(HALF, "big").hex(" "), found.hex(" "))
    is_turned = found == due.to_bytes(HALF, "little")
    return observed(
        f"{name}:little-endian" if is_turned else f"{name}:other", difference=difference
    )
