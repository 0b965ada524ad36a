"""PUB_TRACE: its body, its answer of 30 bytes, and the position in that answer."""

import itertools
from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.frames import mpub, mpub_trace, pub, pub_trace
from wireproof_kit.observation import Difference, Observation, first_unlike, observed
from wireproof_kit.wire.outgoing import join_pieces
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.steps.deliveries import NO_EXT_LAYOUTS
from wireproof_suites.nsq.steps.message_contents import CONTENTS
from wireproof_suites.nsq.steps.trace_responses import (
    observe_id_halves,
    observe_ids,
    observe_next_record,
    read_trace,
    unread,
)
from wireproof_suites.nsq.trace.message_ids import TRACE_IDS

SIZES = [1, 2, 8, 255, 256, 4096, 100_000]
MORE = [1, 255, 256, 70_000]
BEHIND = ["alone", "behind-pub", "behind-pub-trace"]
BETWEEN = ["pub", "mpub", "large-pub"]


@case("nsq/trace/body", clause="smart.trace.layout")
@pytest.mark.parametrize("size", SIZES)
def test_body(broker: Broker, fresh_plain_topic: Topic, size: int) -> Observation:
    """The bytes after the trace id in a PUB_TRACE body are delivered as the message."""
    return _observe_delivery(broker, fresh_plain_topic, b"~" * size)


@case("nsq/trace/body/content", clause="smart.trace.layout")
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_body_of_any_content(broker: Broker, plain_topic: Topic, content: bytes) -> Observation:
    """A PUB_TRACE message is delivered unchanged; it may have any bytes."""
    return _observe_delivery(broker, plain_topic, content + broker.unique_body())


@case("nsq/trace/body/trace-id", clause="smart.trace.layout")
@pytest.mark.parametrize("trace_id", TRACE_IDS.values(), ids=TRACE_IDS)
def test_body_that_begins_as_a_trace_id(
    broker: Broker, plain_topic: Topic, trace_id: int
) -> Observation:
    """A PUB_TRACE message that starts with the bytes of its trace id is delivered whole."""
    body = trace_id.to_bytes(8, "big") + broker.unique_body()
    return _observe_delivery(broker, plain_topic, body, trace_id=trace_id)


@case("nsq/trace/body-ext", clause="smart.trace.layout", needs=("ext",))
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_body_on_an_ext_topic(broker: Broker, ext_topic: Topic, content: bytes) -> Observation:
    """On an ext topic, a PUB_TRACE message is delivered as sent."""
    return _observe_delivery(broker, ext_topic, content + broker.unique_body())


@case("nsq/trace/response", clause="smart.trace.response")
@pytest.mark.parametrize("before", BEHIND)
def test_answer(broker: Broker, plain_topic: Topic, before: str) -> Observation:
    """PUB_TRACE returns OK, internal id, trace id, offset and size."""
    with broker.connect(topic=plain_topic) as client:
        if before != "alone":
            body = broker.unique_body()
            traced = before == "behind-pub-trace"
            first = pub_trace(plain_topic, 5, body) if traced else pub(plain_topic, body)
            client.ask(first)

        return _ask(client, plain_topic, broker.unique_body(), 77)


@case("nsq/trace/response-ext", clause="smart.trace.response", needs=("ext",))
def test_answer_on_an_ext_topic(broker: Broker, ext_topic: Topic) -> Observation:
    """On an ext topic, PUB_TRACE returns OK, internal id, trace id, offset and size."""
    with broker.connect(topic=ext_topic) as client:
        return _ask(client, ext_topic, broker.unique_body(), 77)


@case("nsq/trace/response-sizes", clause="smart.trace.response")
@pytest.mark.parametrize("size", SIZES)
def test_answer_for_any_size(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """PUB_TRACE returns a complete trace answer for a body of any size."""
    with broker.connect(topic=plain_topic) as client:
        return _ask(client, plain_topic, b"x" * size, 77)


@case("nsq/trace/response-subscribed", clause="smart.trace.response")
def test_answer_to_a_subscriber(broker: Broker, plain_topic: Topic) -> Observation:
    """PUB_TRACE on a subscribed connection returns a complete trace answer."""
    with broker.subscribe(plain_topic) as consumer:
        return _ask(consumer.connection, plain_topic, broker.unique_body(), 77)


@case("nsq/trace/pipelined", clause="smart.trace.response")
def test_several_in_one_write(broker: Broker, plain_topic: Topic) -> Observation:
    """Pipelined publishes are answered in order, each traced one with its trace id."""
    trace_ids = [3, None, 2, None, None, 1, 2**64 - 1]
    frames = [
        pub(plain_topic, broker.unique_body())
        if trace_id is None
        else pub_trace(plain_topic, trace_id, broker.unique_body())
        for trace_id in trace_ids
    ]
    with broker.connect(topic=plain_topic) as client:
        client.send(join_pieces(frames, "publishes in one write"))
        for number, trace_id in enumerate(trace_ids, start=1):
            seen = observe(client.receive(), trace_id=trace_id)
            if seen.value != ("ok" if trace_id is None else "trace"):
                return replace(seen, value=f"{number}:{seen.value}")
    return observed("in-turn")


@case("nsq/trace/any-id", clause="smart.trace.any-id")
@pytest.mark.parametrize("trace_id", TRACE_IDS.values(), ids=TRACE_IDS)
def test_any_id(broker: Broker, plain_topic: Topic, trace_id: int) -> Observation:
    """PUB_TRACE accepts any 64-bit trace id."""
    with broker.connect(topic=plain_topic) as client:
        return _ask(client, plain_topic, broker.unique_body(), trace_id)


@case("nsq/trace/any-id-delivered", clause="smart.trace.any-id")
@pytest.mark.parametrize("trace_id", TRACE_IDS.values(), ids=TRACE_IDS)
def test_any_id_delivered(broker: Broker, plain_topic: Topic, trace_id: int) -> Observation:
    """PUB_TRACE delivers any 64-bit trace id to the consumer."""
    return _ids(broker, plain_topic, trace_id)


@case("nsq/trace/same-id", clause="smart.trace.any-id")
def test_same_id_twice(broker: Broker, plain_topic: Topic) -> Observation:
    """A trace id may be reused; each message gets its own internal id."""
    answers = [
        broker.publish_accepted(plain_topic, broker.unique_body(), trace_id=77) for _ in range(2)
    ]
    responses = [read_trace(answer) for answer in answers]
    ids = [(response.internal_id, response.trace_id) for response in responses if response]
    if len(ids) < 2:
        return first_unlike(map(observe, answers), "trace")
    if ids[0][1] != 77 or ids[1][1] != 77:
        return observed("trace-id-differs")
    return observed("two-messages" if ids[0] != ids[1] else "one-message")


@case("nsq/trace/internal-id", clause="smart.trace.internal-id")
@pytest.mark.parametrize("before", BEHIND)
def test_internal_id(broker: Broker, plain_topic: Topic, before: str) -> Observation:
    """The internal id in a PUB_TRACE answer matches the delivered message."""
    earlier, body = broker.unique_body(), broker.unique_body()
    with broker.subscribe(plain_topic) as consumer:
        if before != "alone":
            trace_id = 5 if before == "behind-pub-trace" else None
            broker.publish_accepted(plain_topic, earlier, trace_id=trace_id)
            consumer.next(earlier)
        return observe_ids(broker.publish(plain_topic, body, trace_id=77), consumer, body)


@case("nsq/trace/internal-id/several", clause="smart.trace.internal-id")
def test_internal_ids_of_several(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Each of several PUB_TRACE messages is delivered with the internal id of its answer."""
    topic = fresh_plain_topic
    with broker.subscribe(topic, ready=20) as consumer:
        bodies = [broker.unique_body() for _ in range(5)]
        answers = {body: broker.publish_accepted(topic, body, trace_id=9) for body in bodies}
        return first_unlike((_ids_of(consumer.next(), answers) for _ in bodies), "true")


@case("nsq/trace/internal-id-ext", clause="smart.trace.internal-id", needs=("ext",))
def test_internal_id_on_an_ext_topic(broker: Broker, ext_topic: Topic) -> Observation:
    """On an ext topic, the ids in a PUB_TRACE answer match the delivered message."""
    return _ids(broker, ext_topic, 77)


@case("nsq/trace/position", clause="smart.trace.offset")
@pytest.mark.parametrize("size", SIZES)
def test_position(broker: Broker, fresh_plain_topic: Topic, size: int) -> Observation:
    """In PUB_TRACE answers, the offset increases from message to message."""
    first = broker.publish_accepted(fresh_plain_topic, b"x" * size, trace_id=1)
    second = broker.publish_accepted(fresh_plain_topic, b"y", trace_id=2)

    return observe_next_record(first, second)


@case("nsq/trace/position/third", clause="smart.trace.offset")
def test_position_of_later_ones(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Among many PUB_TRACE messages, each has a greater offset than the one before it."""
    answers = [
        broker.publish_accepted(fresh_plain_topic, b"x" * (1 + 7 * number), trace_id=number)
        for number in range(10)
    ]
    seen = [observe_next_record(one, two) for one, two in itertools.pairwise(answers)]
    return first_unlike(iter(seen), seen[0].value)


@case("nsq/trace/position-ext", clause="smart.trace.offset", needs=("ext",))
@pytest.mark.parametrize("header", [False, True], ids=["pub-trace", "pub-ext"])
def test_position_on_an_ext_topic(
    broker: Broker, fresh_ext_topic: Topic, header: bool
) -> Observation:
    """On an ext topic, the offset in PUB_TRACE answers increases from message to message."""
    topic = fresh_ext_topic
    if header:
        first = broker.publish_accepted(topic, b"x", {TRACE_ID: "1", "k": "v" * 300})
    else:
        first = broker.publish_accepted(topic, b"x", trace_id=1)
    second = broker.publish_accepted(topic, b"y", trace_id=2)

    return observe_next_record(first, second)


@case(
    "nsq/trace/position-between",
    clause="smart.trace.offset",
    needs_of={"mpub": ("batch",)},
)
@pytest.mark.parametrize("between", BETWEEN)
def test_position_behind_others(
    broker: Broker, fresh_plain_topic: Topic, between: str
) -> Observation:
    """Offsets in PUB_TRACE answers increase, also if untraced messages come between."""
    topic = fresh_plain_topic
    first = broker.publish_accepted(topic, b"x", trace_id=1)
    if between == "mpub":
        with broker.connect(topic=topic) as client:
            client.ask(mpub(topic, [b"a", b"b", b"c"]))
    else:
        broker.publish_accepted(topic, b"x" * (70_000 if between == "large-pub" else 1))
    second = broker.publish_accepted(topic, b"y", trace_id=2)

    return observe_next_record(first, second)


@case("nsq/trace/size-grows", clause="smart.trace.size")
@pytest.mark.parametrize("more", MORE)
def test_size_grows(broker: Broker, plain_topic: Topic, more: int) -> Observation:
    """The size in a PUB_TRACE answer is never less than the size of the body."""
    body = broker.unique_body()
    longer = body + b"x" * more
    answers = [broker.publish_accepted(plain_topic, each, trace_id=1) for each in (body, longer)]
    first, second = map(read_trace, answers)
    if first is None or second is None:
        return unread(answers, observed("no-trace"))
    grown = second.disk_queue_data_size - first.disk_queue_data_size
    if first.disk_queue_data_size < len(body) or second.disk_queue_data_size < len(body) + more:
        sizes = f"{first.disk_queue_data_size} and {second.disk_queue_data_size}"
        return observed(
            "less-than-the-body",
            difference=Difference("disk_queue_data_size", 26, "at least the body", sizes),
        )
    if grown == more:
        return observed("by-the-body")
    difference = Difference("disk_queue_data_size", 26, f"{more} more", f"{grown} more")
    return observed("by-another-number", difference=difference)


@case("nsq/trace/batch", clause="smart.trace.batch")
def test_batch(broker: Broker, plain_topic: Topic) -> Observation:
    """A traced batch is answered with its position in the queue, or with an error."""
    messages = [(number, broker.unique_body()) for number in (7, 8, 9)]
    with broker.connect(topic=plain_topic) as client:
        answer = client.ask(mpub_trace(plain_topic, messages))

        return observe(answer, then=client.goes_on(plain_topic), trace_id=0)


@case("nsq/trace/batch-ids", clause="smart.trace.batch")
def test_ids_of_a_batch(broker: Broker, plain_topic: Topic) -> Observation:
    """Each message of a traced batch is delivered with its own trace id."""
    messages = {broker.unique_body(): number for number in (2**64 - 1, 0, 8)}
    with broker.subscribe(plain_topic) as consumer, broker.connect(topic=plain_topic) as client:
        frame = mpub_trace(plain_topic, [(number, body) for body, number in messages.items()])
        answer = observe(client.ask(frame), trace_id=0)
        if answer.value != "trace":
            return answer
        for _ in messages:
            delivery = consumer.next()
            if delivery is None or delivery.message is None:
                return observe_delivery(delivery, body=b"")
            if messages.get(delivery.body) != delivery.message.trace_id:
                return observed("trace-id-differs")
    return observed("true")


def _ask(client: Connection, topic: Topic, body: bytes, trace_id: int) -> Observation:
    answer = client.ask(pub_trace(topic, trace_id, body))
    return observe(answer, then=client.goes_on(topic), trace_id=trace_id)


def _ids(broker: Broker, topic: Topic, trace_id: int) -> Observation:
    body = broker.unique_body()
    with broker.subscribe(topic) as consumer:
        return observe_ids(broker.publish(topic, body, trace_id=trace_id), consumer, body)


def _ids_of(delivery: Delivery | None, answers: dict[bytes, Answer]) -> Observation:
    body = delivery.body if delivery else b""
    if body not in answers:
        return observe_delivery(delivery, body=body)
    response = read_trace(answers[body])
    if response is None:
        return observe(answers[body])
    answered = (response.internal_id, response.trace_id)
    answer = answers[body]
    return observe_id_halves(delivery, answered=answered, body=body, answer=answer)


def _observe_delivery(
    broker: Broker, topic: Topic, body: bytes, *, trace_id: int = 77
) -> Observation:
    """Publish under a trace id; without a header two layouts of ext are as sent."""
    with broker.subscribe(topic) as consumer:
        broker.publish_accepted(topic, body, trace_id=trace_id)
        delivery = consumer.next()
        if delivery is not None and delivery.layout in NO_EXT_LAYOUTS and topic.extend:
            return observed("delivered:as-sent")
        return observe_delivery(delivery, body=body)
