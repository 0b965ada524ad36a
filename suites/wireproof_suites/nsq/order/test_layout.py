"""Ordered consumption: offset and size before the body, and their values."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.nsq.wire.frames import Header, mpub
from wireproof_kit.observation import Difference, Observation, first_unlike, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.steps.deliveries import AS_SENT
from wireproof_suites.nsq.steps.message_contents import CONTENTS, header_of
from wireproof_suites.nsq.steps.ordered_delivery import (
    MISSING,
    as_sent,
    open_consumer,
    position_of,
    publish,
    put_back,
    read_firsts,
    subscribe_in_order,
    take_of,
)

SIZES = [2, 100, 255, 256, 4096, 100_000]
HEADER_LENGTHS = [2, 8, 255, 256, 4096, 65000]
# No queue of a few messages is longer, unless its offsets begin far up.
NEAR = 1 << 20
FAR = 1 << 62
SMALLEST_RECORD = 30


@case("nsq/order/layout", clause="smart.order.layout", waiting=True)
def test_one_byte(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives a one-byte body preceded by its offset and size."""
    return _observe_delivery(broker, fresh_ordered_topic, b"~")


@case("nsq/order/layout/size", clause="smart.order.layout", waiting=True)
@pytest.mark.parametrize("size", SIZES)
def test_size(broker: Broker, fresh_ordered_topic: Topic, size: int) -> Observation:
    """An ordered client receives a body of any size preceded by its offset and size."""
    return _observe_delivery(broker, fresh_ordered_topic, broker.unique_body(b"x" * size))


@case("nsq/order/layout/content", clause="smart.order.layout", waiting=True)
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_content(broker: Broker, fresh_ordered_topic: Topic, content: bytes) -> Observation:
    """An ordered client receives an unchanged body; the body may have any bytes."""
    return _observe_delivery(broker, fresh_ordered_topic, broker.unique_body(content))


@case("nsq/order/layout-traced", clause="smart.order.layout", needs=("trace",), waiting=True)
def test_traced(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives a traced message preceded by its offset and size."""
    return _observe_delivery(broker, fresh_ordered_topic, broker.unique_body(), trace_id=2**64 - 1)


@case("nsq/order/layout-batch", clause="smart.order.layout", needs=("batch",), waiting=True)
def test_batch(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered client receives batch messages each preceded by their offset and size."""
    return _batch(broker, fresh_ordered_topic)


@case("nsq/order/layout-again", clause="smart.order.layout", waiting=True)
def test_again(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A redelivered message on an ordered channel has offset and size before its body."""
    client = open_consumer(broker, fresh_ordered_topic)
    (body,) = publish(broker, fresh_ordered_topic, 1)
    first = take_of(client, [body])
    if first is None:
        return MISSING
    put_back(client, first)

    return as_sent(take_of(client, [body], REDELIVERY), body)


@case("nsq/order/offset-of-a-queue", clause="smart.order.layout", waiting=True)
def test_numbers(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """The offset and size sent to an ordered client lie within the bounds of a short queue."""
    client = open_consumer(broker, fresh_ordered_topic)
    bodies = publish(broker, fresh_ordered_topic, 3)
    deliveries = read_firsts(client, bodies)
    if len(deliveries) < len(bodies):
        return MISSING
    for delivery in deliveries:
        message = delivery.message
        if message is None or message.disk_queue_offset is None:
            return observed("undecodable")
        size, offset = message.disk_queue_data_size or 0, message.disk_queue_offset
        if not len(message.body) <= size <= SMALLEST_RECORD + len(message.body) + NEAR:
            difference = Difference("disk_queue_data_size", 34, "a record's size", str(size))
            return observed("size-impossible", difference=difference)
        if offset >= FAR or (offset and offset % (1 << 32) == 0):
            difference = Difference("disk_queue_offset", 26, "an offset", str(offset))
            return observed("offset-impossible", difference=difference)
    return observed("possible")


@case("nsq/order/ext-place", clause="smart.order.ext-place", waiting=True)
@pytest.mark.parametrize("length", HEADER_LENGTHS)
def test_place_behind_header(
    broker: Broker, fresh_ordered_ext_topic: Topic, length: int
) -> Observation:
    """On an ordered ext topic, offset and size come between the ext part and the body."""
    header = header_of(length)
    return _observe_delivery(broker, fresh_ordered_ext_topic, broker.unique_body(), header=header)


@case(
    "nsq/order/ext-place-bare",
    clause="smart.order.ext-place",
    needs_of={"pub-trace": ("trace",)},
    waiting=True,
)
@pytest.mark.parametrize("trace_id", [None, 7], ids=["pub", "pub-trace"])
def test_place_without_header(
    broker: Broker, fresh_ordered_ext_topic: Topic, trace_id: int | None
) -> Observation:
    """In ordered ext messages without a header, offset and size stand behind the version."""
    body = broker.unique_body()
    return _observe_delivery(broker, fresh_ordered_ext_topic, body, trace_id=trace_id)


@case("nsq/order/ext-place-bare/mpub", clause="smart.order.ext-place", waiting=True)
def test_place_in_a_batch(broker: Broker, fresh_ordered_ext_topic: Topic) -> Observation:
    """In ordered ext messages from MPUB, offset and size stand behind the version."""
    return _batch(broker, fresh_ordered_ext_topic)


@case("nsq/order/position", clause="smart.order.position", waiting=True)
def test_position(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """The offset and size delivered to an ordered client match the publisher's trace answer."""
    topic = fresh_ordered_topic
    client = open_consumer(broker, topic)
    bodies = [broker.unique_body(b"x" * size) for size in (0, 1, 100, 10_000, 3)]
    answers: list[Answer] = []
    for number, body in enumerate(bodies):
        answers.append(broker.publish_accepted(topic, body, trace_id=number))
        publish(broker, topic, 1)

    deliveries = read_firsts(client, bodies)
    if len(deliveries) < len(bodies):
        return MISSING
    return first_unlike(map(position_of, deliveries, answers), "true")


@case("nsq/order/position-ext", clause="smart.order.position", needs=("ext",), waiting=True)
def test_position_with_headers(broker: Broker, fresh_ordered_ext_topic: Topic) -> Observation:
    """On an ordered ext topic, the delivered offset and size match the publisher's answer."""
    topic = fresh_ordered_ext_topic
    client = open_consumer(broker, topic)
    bodies = [broker.unique_body() for _ in range(3)]
    headers: list[Header] = [{TRACE_ID: "5"}, {"k": "v" * 500, TRACE_ID: "6"}]
    answers = [
        broker.publish_accepted(topic, bodies[0], headers[0]),
        broker.publish_accepted(topic, bodies[1], headers[1]),
        broker.publish_accepted(topic, bodies[2], trace_id=7),
    ]

    deliveries = read_firsts(client, bodies)
    if len(deliveries) < len(bodies):
        return MISSING
    return first_unlike(map(position_of, deliveries, answers), "true")


@case("nsq/trace/position-ordered", clause="smart.order.position", needs=("order",), waiting=True)
def test_position_of_a_trace_answer(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """Offset and size of a PUB_TRACE answer are those that come with the ordered message."""
    client = open_consumer(broker, fresh_ordered_topic)
    body = broker.unique_body(b"x" * 50)
    answer = broker.publish_accepted(fresh_ordered_topic, body, trace_id=5)

    return position_of(take_of(client, [body]), answer)


@case(
    "nsq/publish/trace-position",
    clause="ext.publish.trace-response",
    needs=("order",),
    waiting=True,
)
def test_position_of_an_answer_to_a_header(
    broker: Broker, fresh_ordered_ext_topic: Topic
) -> Observation:
    """Offset and size of a PUB_EXT answer are those that come with the ordered message."""
    client = open_consumer(broker, fresh_ordered_ext_topic)
    body = broker.unique_body(b"x" * 50)
    answer = broker.publish_accepted(fresh_ordered_ext_topic, body, {TRACE_ID: "5", "k": "v"})

    return position_of(take_of(client, [body]), answer)


@case("nsq/order/position-again", clause="smart.order.position", waiting=True)
def test_position_again(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """A message redelivered to any ordered client keeps its offset and size."""
    topic = fresh_ordered_topic
    client = open_consumer(broker, topic)
    body = broker.unique_body()
    answer = broker.publish_accepted(topic, body, trace_id=7)
    first = take_of(client, [body])
    if first is None:
        return MISSING
    put_back(client, first)
    again = take_of(client, [body], REDELIVERY)
    client.close()
    later = subscribe_in_order(broker, topic, channel=client.channel)
    elsewhere = take_of(later, [body], REDELIVERY)

    return first_unlike((position_of(each, answer) for each in (first, again, elsewhere)), "true")


def _observe_delivery(
    broker: Broker,
    topic: Topic,
    body: bytes,
    *,
    header: Header | None = None,
    trace_id: int | None = None,
) -> Observation:
    client = open_consumer(broker, topic)
    broker.publish_accepted(topic, body, header, trace_id=trace_id)
    return as_sent(take_of(client, [body]), body, header)


def _batch(broker: Broker, topic: Topic) -> Observation:
    client = open_consumer(broker, topic)
    bodies = [broker.unique_body(b"x" * size) for size in (0, 1, 5000)]
    with broker.connect(topic=topic) as publisher:
        answer = observe(publisher.ask(mpub(topic, bodies)))
    if answer.value != "ok":
        return answer
    deliveries = read_firsts(client, bodies)
    if len(deliveries) < len(bodies):
        return MISSING
    return first_unlike(map(as_sent, deliveries, bodies), AS_SENT)
