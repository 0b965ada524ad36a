"""The errors of SUB and PUB that one node alone can give."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import (
    Partition,
    Word,
    mpub,
    pub,
    pub_ext,
    pub_trace,
    raw,
    subscribe,
)
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.waiting import until
from wireproof_suites.nsq.steps.frame_edits import header_of
from wireproof_suites.nsq.steps.partitions import BAD_NAMES, UNKNOWN_TOPIC, answer_to, then_state
from wireproof_suites.nsq.steps.publish_results import followed_by

USUAL_GREATEST_SIZE = 1024 * 1024
PREFIX = "wp_"

SHORT_NAMES = {"short": "wp_q", "usual": UNKNOWN_TOPIC}
# What the original protocol alone calls legal.
LEGAL_NAMES = {"64-letters": PREFIX + "q" * 61, "ephemeral": UNKNOWN_TOPIC + "#ephemeral"}
NOT_THERE = {**SHORT_NAMES, **LEGAL_NAMES}
BAD_SIZES = {"minus-one": -1, "least": -(2**31)}
TOO_BIG = {"2-to-the-30": 2**30, "greatest": 2**31 - 1}
NO_NUMBERS: dict[str, Partition] = {
    "letters": "abc",
    "fraction": "1.0",
    "empty": "",
    "20-digits": "9" * 20,
}
NO_PARTITIONS: dict[str, Partition] = {"minus-two": -2, "1023": 1023}
WRONG_PARTITIONS: dict[str, Partition] = {**NO_NUMBERS, **NO_PARTITIONS, "2-to-the-31": 2**31}
COMMANDS = {"pub-trace": ("trace",), "pub-ext": ("ext",), "mpub": ("batch",)}


@case("nsq/partition/required", clause="smart.partition.required")
def test_no_partition(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish without a partition is refused, or accepted every time."""
    frame = pub(plain_topic, broker.unique_body(), partition=None)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/required/ext-topic", clause="smart.partition.required", needs=("ext",))
def test_no_partition_on_an_ext_topic(broker: Broker, ext_topic: Topic) -> Observation:
    """A publish without a partition to an ext topic is answered as on a plain topic."""
    frame = pub(ext_topic, broker.unique_body(), partition=None)

    return then_state(broker, ext_topic, frame)


@case("nsq/partition/required/minus-one", clause="smart.partition.required")
def test_partition_minus_one(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish with partition -1 is refused, or accepted like one without a partition."""
    frame = pub(plain_topic, broker.unique_body(), partition=-1)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/required/behind-another", clause="smart.partition.required")
def test_no_partition_behind_another(broker: Broker, plain_topic: Topic) -> Observation:
    """PUB without a partition is answered alike, also behind a PUB that named one."""
    with broker.connect(topic=plain_topic) as client:
        client.ask(pub(plain_topic, broker.unique_body()))
        answer = client.ask(pub(plain_topic, broker.unique_body(), partition=None))

        return observe(answer, then=client.goes_on(plain_topic))


@case("nsq/partition/required-unpublished", clause="smart.partition.required")
def test_no_partition_unpublished(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish refused for its missing partition is not delivered."""
    refused, sentinel = broker.unique_body(), broker.unique_body()
    with broker.subscribe(plain_topic) as consumer:
        answer_to(broker, plain_topic, pub(plain_topic, refused, partition=None))
        broker.publish_accepted(plain_topic, sentinel)

        return observe_absence(consumer.until(sentinel), of=refused)


@case("nsq/partition/pub-invalid", clause="smart.partition.pub-invalid")
def test_publish_without_topic(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish without a topic is refused."""
    return then_state(broker, plain_topic, raw(b"PUB\n", "PUB and no more"))


@case("nsq/partition/pub-invalid/behind-another", clause="smart.partition.pub-invalid")
def test_publish_without_topic_behind_another(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish without a topic is refused even after one that named a topic."""
    with broker.connect(topic=plain_topic) as client:
        client.ask(pub(plain_topic, broker.unique_body()))
        answer = client.ask(raw(b"PUB\n", "PUB and no more"))

        return observe(answer, then=client.goes_on(plain_topic))


@case("nsq/partition/pub-bad-topic", clause="smart.partition.pub-bad-topic")
@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_publish_to_a_bad_topic(broker: Broker, plain_topic: Topic, name: Word) -> Observation:
    """A publish with an illegal topic name is refused."""
    frame = pub(plain_topic, broker.unique_body(), topic_name=name)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/pub-bad-size", clause="smart.partition.pub-bad-message")
@pytest.mark.parametrize("size", BAD_SIZES.values(), ids=BAD_SIZES)
def test_publish_of_a_bad_size(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """A publish with a size below 0 is refused, or the broker waits for more bytes."""
    frame = pub(plain_topic, b"x", size=size).cut(-1)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/pub-bad-size/zero", clause="smart.partition.pub-empty")
def test_publish_of_nothing(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish with size 0 is refused, or accepted as an empty message."""
    return then_state(broker, plain_topic, pub(plain_topic, b""))


@case("nsq/partition/pub-too-big", clause="smart.partition.pub-bad-message")
@pytest.mark.parametrize("size", TOO_BIG.values(), ids=TOO_BIG)
def test_publish_too_big(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """A publish with a size over the limit is refused, or the broker waits for the rest."""
    frame = pub(plain_topic, b"x", size=size).cut(-1)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/pub-cut", clause="smart.partition.pub-bad-message")
@pytest.mark.parametrize("cut", [1, 10], ids=["last-byte", "whole-body"])
def test_publish_cut(broker: Broker, plain_topic: Topic, cut: int) -> Observation:
    """A publish cut off by the end of the stream publishes no message."""
    frame = pub(plain_topic, b"ten bytes.").cut(-cut)

    return answer_to(broker, plain_topic, frame, end=True)


@case("nsq/partition/topic-not-exist", clause="smart.partition.topic-not-exist")
@pytest.mark.parametrize("name", SHORT_NAMES.values(), ids=SHORT_NAMES)
def test_publish_to_no_topic(broker: Broker, plain_topic: Topic, name: str) -> Observation:
    """A publish to a topic that does not exist gets the error code for that."""
    return _publish_to(broker, plain_topic, name)


@case("nsq/partition/topic-not-exist", clause="smart.partition.names")
@pytest.mark.parametrize("name", LEGAL_NAMES.values(), ids=LEGAL_NAMES)
def test_publish_to_no_topic_of_a_legal_name(
    broker: Broker, plain_topic: Topic, name: str
) -> Observation:
    """A publish to a missing topic whose name is long or ephemeral gets the code for that."""
    return _publish_to(broker, plain_topic, name)


@case("nsq/partition/topic-not-exist/partition", clause="smart.partition.topic-not-exist")
@pytest.mark.parametrize("partition", [0, 1, 1023])
def test_publish_to_no_topic_and_partition(
    broker: Broker, plain_topic: Topic, partition: int
) -> Observation:
    """A publish to an unknown topic gets the same error code for every partition number."""
    frame = pub(plain_topic, broker.unique_body(), topic_name=UNKNOWN_TOPIC, partition=partition)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/topic-not-exist/near-miss", clause="smart.partition.topic-not-exist")
@pytest.mark.parametrize("change", ["other-case", "longer"])
def test_publish_to_a_near_miss(broker: Broker, plain_topic: Topic, change: str) -> Observation:
    """A publish to a name similar to an existing topic's gets the unknown-topic error."""
    name = plain_topic.name
    swapped = name.swapcase()
    names = {
        "other-case": swapped if swapped != name else name + "X",  # a given name may be a number
        "longer": name + "x",
    }
    return _publish_to(broker, plain_topic, names[change])


@case("nsq/partition/topic-not-exist/near-miss/shorter", clause="smart.partition.names")
def test_publish_to_a_name_with_a_point(broker: Broker, plain_topic: Topic) -> Observation:
    """A publish to a topic's name with a point behind it gets the unknown-topic error."""
    return _publish_to(broker, plain_topic, plain_topic.name + ".")


def _publish_to(broker: Broker, topic: Topic, name: str) -> Observation:
    return then_state(broker, topic, pub(topic, broker.unique_body(), topic_name=name))


@case(
    "nsq/partition/topic-not-exist-commands",
    clause="smart.partition.topic-not-exist",
    needs_of=COMMANDS,
)
@pytest.mark.parametrize("command", COMMANDS)
def test_other_publishes_to_no_topic(
    broker: Broker, plain_topic: Topic, command: str
) -> Observation:
    """Every publish command is refused for a topic that does not exist."""
    missing = replace(plain_topic, name=UNKNOWN_TOPIC)
    frames = {
        "pub-trace": pub_trace(missing, 7, b"x"),
        "pub-ext": pub_ext(missing, {"k": "v"}, b"x"),
        "mpub": mpub(missing, [b"x"]),
    }

    return then_state(broker, plain_topic, frames[command])


@case("nsq/partition/pub-wrong-partition", clause="smart.partition.pub-wrong-partition")
@pytest.mark.parametrize("partition", WRONG_PARTITIONS.values(), ids=WRONG_PARTITIONS)
def test_publish_to_a_wrong_partition(
    broker: Broker, plain_topic: Topic, partition: Partition
) -> Observation:
    """A publish to a partition that does not exist is refused."""
    frame = pub(plain_topic, broker.unique_body(), partition=partition)

    return then_state(broker, plain_topic, frame)


@case("nsq/partition/pub-failed", clause="smart.partition.pub-failed")
def test_publish_of_the_greatest_size(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A publish of the usual maximum message size is stored, or answered with an error."""
    frame = pub(fresh_ext_topic, b"x" * USUAL_GREATEST_SIZE)

    return then_state(broker, fresh_ext_topic, frame)


@case("nsq/partition/pub-failed-told", clause="smart.partition.pub-failed", waiting=True)
def test_what_comes_of_the_greatest_size(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A message whose header brings it to the maximum size is delivered if it was accepted."""
    topic, header, sentinel = fresh_ext_topic, header_of(1000), broker.unique_body()
    room = USUAL_GREATEST_SIZE - 2 - len(header)
    body = broker.unique_body().ljust(room, b"x")

    def go_on() -> bool | None:
        return observe(broker.publish(topic, sentinel, {"k": "v"})).value == "ok" or None

    channel = topic.channel()
    broker.subscribe(topic, channel=channel, ready=0).close()
    answer = observe(broker.publish(topic, body, header))
    # After this failure a measured cluster lets nobody write for a while, then drops its clients.
    if not until(go_on, seconds=broker.patience.seconds(REDELIVERY), every=1.0):
        return followed_by(answer, observed("unwritable"))
    with broker.subscribe(topic, channel=channel) as consumer:
        if answer.value == "ok":
            delivery = consumer.next(body)
            return followed_by(answer, observe_delivery(delivery, body=body, header=header))
        return followed_by(answer, observe_absence(consumer.until(sentinel), of=body))


@case("nsq/partition/sub-invalid", clause="smart.partition.sub-invalid")
@pytest.mark.parametrize("words", ["topic-only", "nothing"])
def test_subscribe_without_channel(broker: Broker, plain_topic: Topic, words: str) -> Observation:
    """A subscription without a topic or channel is refused."""
    text = f"SUB {plain_topic.name}\n" if words == "topic-only" else "SUB\n"

    return then_state(broker, plain_topic, raw(text.encode(), "SUB"))


@case("nsq/partition/sub-twice", clause="smart.partition.sub-again")
@pytest.mark.parametrize("channel", ["same-channel", "other-channel"])
def test_subscribe_twice(broker: Broker, plain_topic: Topic, channel: str) -> Observation:
    """A second subscription on the same connection is refused."""
    first = plain_topic.channel()
    second = first if channel == "same-channel" else plain_topic.channel()
    with broker.connect(topic=plain_topic) as client:
        client.ask(subscribe(plain_topic, first))
        broker.consumer(client, plain_topic, first)
        answer = client.ask(subscribe(plain_topic, second))

        return observe(answer, then=client.goes_on(plain_topic))


@case("nsq/partition/sub-bad-topic", clause="smart.partition.sub-bad-topic")
@pytest.mark.parametrize("name", [*BAD_NAMES.values(), ""], ids=[*BAD_NAMES, "empty"])
def test_subscribe_to_a_bad_topic(broker: Broker, plain_topic: Topic, name: Word) -> Observation:
    """A subscription with an illegal topic name is refused with the error code for it."""
    return then_state(broker, plain_topic, subscribe(plain_topic, "c", topic_name=name))


@case("nsq/partition/sub-bad-channel", clause="smart.partition.sub-bad-channel")
@pytest.mark.parametrize("name", [*BAD_NAMES.values(), ""], ids=[*BAD_NAMES, "empty"])
def test_subscribe_to_a_bad_channel(broker: Broker, plain_topic: Topic, name: Word) -> Observation:
    """A subscription with an illegal channel name is refused with the error code for it."""
    return then_state(broker, plain_topic, subscribe(plain_topic, name))


@case("nsq/partition/sub-missing", clause="smart.partition.sub-missing")
@pytest.mark.parametrize("name", NOT_THERE.values(), ids=NOT_THERE)
def test_subscribe_to_no_topic(broker: Broker, plain_topic: Topic, name: str) -> Observation:
    """A subscription to a topic that does not exist is refused."""
    return then_state(broker, plain_topic, subscribe(plain_topic, "c", topic_name=name))


@case("nsq/partition/sub-missing/partition", clause="smart.partition.sub-missing")
@pytest.mark.parametrize("partition", NO_PARTITIONS.values(), ids=NO_PARTITIONS)
def test_subscribe_to_no_partition(
    broker: Broker, plain_topic: Topic, partition: Partition
) -> Observation:
    """A subscription to a partition that does not exist is refused."""
    return then_state(broker, plain_topic, subscribe(plain_topic, "c", partition=partition))


@case("nsq/partition/sub-bad-partition", clause="smart.partition.sub-missing")
@pytest.mark.parametrize("partition", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_subscribe_to_a_bad_partition(
    broker: Broker, plain_topic: Topic, partition: Partition
) -> Observation:
    """A subscription with a non-numeric partition is refused."""
    return then_state(broker, plain_topic, subscribe(plain_topic, "c", partition=partition))


@case("nsq/partition/sub-without", clause="smart.partition.sub-without")
@pytest.mark.parametrize("partition", [None, -1], ids=["none", "minus-one"])
def test_subscribe_without_partition(
    broker: Broker, plain_topic: Topic, partition: Partition
) -> Observation:
    """A subscription without a partition is answered."""
    channel = plain_topic.channel()
    with broker.connect(topic=plain_topic) as client:
        broker.consumer(client, plain_topic, channel)
        answer = client.ask(subscribe(plain_topic, channel, partition=partition))

        return observe(answer, then=client.goes_on(plain_topic))
