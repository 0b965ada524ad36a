"""MPUB: which batches are accepted, and what a refused batch publishes."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import (
    line,
    mpub,
)
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import MPUB_TRACE
from wireproof_suites.nsq.steps.partitions import answer_to, then_state

# The field of MPUB, and a value that cannot be.
BAD_FIELDS = {
    "size-zero": ("size", 0),
    "size-minus-one": ("size", -1),
    "size-greatest": ("size", 2**31 - 1),
    "count-zero": ("count", 0),
    "count-minus-one": ("count", -1),
    "count-greatest": ("count", 2**31 - 1),
    "message-zero": ("messages[0].size", 0),
    "message-minus-one": ("messages[0].size", -1),
    "message-greatest": ("messages[0].size", 2**31 - 1),
}

EIGHT = b"8 bytes."
MINUS_ONE = b"\xff" * 4
BEYOND_THE_END = {"one-message-more": ("count", 3), "one-byte-more": ("messages[1].size", 9)}
# Bytes behind the size of MPUB: none of it all, a part of the count, of a size, of a message.
CUTS = {
    "in-the-size": -2,
    "in-the-count": 2,
    "in-a-size": 6,
    "in-a-message": 12,
    "between-messages": 16,
}


@case("nsq/connection/batch-refused", clause="smart.connection.batch-refused")
@pytest.mark.parametrize(("field", "value"), BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_batch_refused(broker: Broker, plain_topic: Topic, field: str, value: int) -> Observation:
    """MPUB is refused if its size, count or a message size is zero, negative or too large."""
    frame = mpub(plain_topic, [broker.unique_body(), broker.unique_body()])
    data = value.to_bytes(4, "big", signed=True)

    return then_state(broker, plain_topic, frame.replace(field, data))


@case("nsq/connection/batch-cut", clause="smart.connection.batch-refused")
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_batch_cut(broker: Broker, plain_topic: Topic, cut: int) -> Observation:
    """A batch cut off by the end of the connection publishes nothing."""
    frame = mpub(plain_topic, [EIGHT, EIGHT])
    start = frame.part("count").offset

    return answer_to(broker, plain_topic, frame.cut(start + cut), end=True)


@case("nsq/connection/batch-beyond", clause="smart.connection.batch-refused")
@pytest.mark.parametrize(("field", "value"), BEYOND_THE_END.values(), ids=BEYOND_THE_END)
def test_batch_beyond_its_end(
    broker: Broker, plain_topic: Topic, field: str, value: int
) -> Observation:
    """A batch that declares more data than arrives is refused when the client stops sending."""
    frame = mpub(plain_topic, [EIGHT, EIGHT]).replace(field, value.to_bytes(4, "big"))

    return answer_to(broker, plain_topic, frame, end=True)


@case("nsq/connection/batch-too-short", clause="smart.connection.batch-refused")
@pytest.mark.parametrize("size", [1, 3])
def test_batch_too_short(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """A batch too short to contain its message count is refused."""
    frame = mpub(plain_topic, [EIGHT], size=size)
    cut = frame.cut(frame.part("count").offset + size)

    return answer_to(broker, plain_topic, cut, end=True)


@case("nsq/connection/batch-of-none", clause="smart.connection.batch-of-none")
def test_batch_of_none(broker: Broker, plain_topic: Topic) -> Observation:
    """A batch with a message count of 0 is refused."""
    return then_state(broker, plain_topic, mpub(plain_topic, []))


@case("nsq/connection/batch-of-one", clause="smart.connection.batch-taken")
def test_batch_of_one(broker: Broker, plain_topic: Topic) -> Observation:
    """A batch with a single one-byte message is accepted."""
    return then_state(broker, plain_topic, mpub(plain_topic, [b"x"]))


@case(
    "nsq/connection/batch-traced",
    clause="smart.trace.batch-refused",
    needs=("trace",),
)
@pytest.mark.parametrize("size", [1, 7])
def test_traced_batch_refused(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """A traced batch with a message too short for its trace id is refused."""
    command = line(MPUB_TRACE, plain_topic.name, plain_topic.partition)
    frame = mpub(plain_topic, [b"x" * size]).replace("command line", command.data)

    return then_state(broker, plain_topic, frame)


@case("nsq/connection/batch-unpublished", clause="smart.connection.batch-refused", waiting=True)
def test_batch_unpublished(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A refused batch publishes no message, not even those before the faulty one."""
    topic, body, sentinel = fresh_plain_topic, broker.unique_body(), broker.unique_body()
    with broker.subscribe(topic) as consumer, broker.connect(topic=topic) as client:
        client.ask(mpub(topic, [body, b"x"]).replace("messages[1].size", MINUS_ONE))
        broker.publish_accepted(topic, sentinel)

        return observe_absence(consumer.until(sentinel), of=body)
