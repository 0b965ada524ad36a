"""PUB_TRACE with a body too short or cut, and with the faults that PUB can have."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import mpub_trace, pub_trace
from wireproof_kit.observation import Observation, compared, uncompared
from wireproof_suites.nsq.steps.frame_edits import cut_to_size
from wireproof_suites.nsq.steps.partitions import FAULTS, Fault, answer_to
from wireproof_suites.nsq.steps.publish_results import followed_by
from wireproof_suites.nsq.trace.message_ids import only_empty

SHORT = [1, 4, 7]
SIZES = {"zero": 0, "minus-one": -1, "least": -(2**31)}
CUTS = {"in-the-trace-id": 12, "behind-the-trace-id": 8, "in-the-body": 1}


@case("nsq/trace/short", clause="smart.trace.short")
@pytest.mark.parametrize("size", SHORT)
def test_short_body(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """PUB_TRACE with a body too short for a trace id is refused."""
    frame = cut_to_size(pub_trace(plain_topic, 77, b"body"), size)
    with broker.connect(topic=plain_topic) as client:
        return observe(client.ask(frame), then=client.goes_on(plain_topic))


@case("nsq/trace/short/size", clause="smart.trace.short")
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_size_that_cannot_be(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """PUB_TRACE with a size of zero or a negative size is refused."""
    frame = cut_to_size(pub_trace(plain_topic, 77, b"body"), 0).replace(
        "size", (size % 2**32).to_bytes(4, "big")
    )
    with broker.connect(topic=plain_topic) as client:
        return observe(client.ask(frame), then=client.goes_on(plain_topic))


@case("nsq/trace/short-unpublished", clause="smart.trace.short", waiting=True)
def test_short_body_unpublished(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A PUB_TRACE refused because its body is too short publishes nothing."""
    topic, sentinel = fresh_plain_topic, broker.unique_body()
    with broker.subscribe(topic) as consumer, broker.connect(topic=topic) as client:
        client.ask(cut_to_size(pub_trace(topic, 77, b"body"), 7))
        broker.publish_accepted(topic, sentinel)

        return observe_absence(consumer.until(sentinel), of=b"")


@case("nsq/trace/cut", clause="smart.trace.short")
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_cut(broker: Broker, plain_topic: Topic, cut: int) -> Observation:
    """A PUB_TRACE cut off by the end of the stream publishes no message."""
    frame = pub_trace(plain_topic, 77, b"8 bytes.").cut(-cut)

    return answer_to(broker, plain_topic, frame, end=True)


@case("nsq/trace/empty", clause="smart.trace.empty")
def test_nothing_behind_the_trace_id(broker: Broker, plain_topic: Topic) -> Observation:
    """PUB_TRACE with a trace id and an empty body is answered OK or refused."""
    with broker.connect(topic=plain_topic) as client:
        answer = client.ask(cut_to_size(pub_trace(plain_topic, 77, b"x"), 8))

        return observe(answer, then=client.goes_on(plain_topic), trace_id=77)


@case("nsq/trace/empty-told", clause="smart.trace.empty", waiting=True)
def test_what_comes_of_nothing(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """PUB_TRACE with an empty body publishes an empty message if it is accepted, else none."""
    topic, sentinel = fresh_plain_topic, broker.unique_body()
    with broker.subscribe(topic) as consumer, broker.connect(topic=topic) as client:
        answer = observe(client.ask(cut_to_size(pub_trace(topic, 77, b"x"), 8)), trace_id=77)
        broker.publish_accepted(topic, sentinel)

        return followed_by(answer, only_empty(consumer.until(sentinel)))


@case("nsq/trace/batch-one-byte", clause="smart.trace.batch")
def test_batch_of_one_byte(broker: Broker, plain_topic: Topic) -> Observation:
    """A traced batch with a one-byte message is accepted."""
    with broker.connect(topic=plain_topic) as client:
        answer = client.ask(mpub_trace(plain_topic, [(7, b"x")]))

        return observe(answer, then=client.goes_on(plain_topic), trace_id=0)


@case("nsq/trace/same-error", clause="smart.trace.errors")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_error_of_both_commands(broker: Broker, plain_topic: Topic, fault: Fault) -> Observation:
    """PUB and PUB_TRACE refuse the same invalid input with the same error code."""
    plain = answer_to(broker, plain_topic, fault.pub(plain_topic, broker.unique_body()))
    traced = answer_to(broker, plain_topic, fault.pub_trace(plain_topic, broker.unique_body()))

    if missing := uncompared(plain, "the answer to PUB"):
        return missing
    if traced.overdue:
        return traced
    same = plain.value == traced.value
    value = f"same:{plain.value}" if same else f"differ:{plain.value}/{traced.value}"
    return compared(value, traced, plain)
