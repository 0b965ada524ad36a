"""Subscriptions to every kind of topic by clients with every combination of IDENTIFY fields."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import subscribe
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, DESIRED_TAG, EXTEND_SUPPORT
from wireproof_suites.nsq.steps.subscriptions import (
    Identify,
    receive_all,
    refused_takes_nothing,
    subscribe_and_receive,
)

Fields = dict[str, object]

TAG = "tagA"
NEGOTIATED: Fields = {"feature_negotiation": True}
SUPPORT: Fields = {EXTEND_SUPPORT: True}
NO_SUPPORT: Fields = {EXTEND_SUPPORT: False}
TAGGED: Fields = {DESIRED_TAG: TAG}

WITH_SUPPORT: dict[str, Identify] = {
    "alone": SUPPORT,
    "negotiated": SUPPORT | NEGOTIATED,
    "empty-tag": SUPPORT | {DESIRED_TAG: ""},
}
WITH_SUPPORT_AND_TAG: dict[str, Identify] = {
    "tag": SUPPORT | TAGGED,
    "tag-negotiated": SUPPORT | TAGGED | NEGOTIATED,
}
WITHOUT_SUPPORT: dict[str, Identify | None] = {
    "no-identify": None,
    "no-fields": {},
    "false": NO_SUPPORT,
    "null": {EXTEND_SUPPORT: None},
    "negotiated": NEGOTIATED,
    "negotiated-false": NO_SUPPORT | NEGOTIATED,
}
TAG_WITHOUT_SUPPORT: dict[str, Identify] = {
    "tag": TAGGED,
    "tag-false": TAGGED | NO_SUPPORT,
    "tag-negotiated": TAGGED | NEGOTIATED,
    "tag-negotiated-false": TAGGED | NO_SUPPORT | NEGOTIATED,
}
ALL_WITHOUT_SUPPORT = WITHOUT_SUPPORT | TAG_WITHOUT_SUPPORT
ALL_WITH_SUPPORT = WITH_SUPPORT | WITH_SUPPORT_AND_TAG


@case("nsq/subscribe/ext-topic", clause="ext.subscribe.support-accepted")
@pytest.mark.parametrize("identify", WITH_SUPPORT.values(), ids=WITH_SUPPORT)
def test_ext_topic(broker: Broker, ext_topic: Topic, identify: Identify) -> Observation:
    """A client with extend_support can subscribe to an ext topic and receives messages."""
    return subscribe_and_receive(broker, ext_topic, identify, header={"k": "v"})


@case("nsq/subscribe/ext-topic", clause="ext.subscribe.support-accepted")
@pytest.mark.parametrize("identify", WITH_SUPPORT_AND_TAG.values(), ids=WITH_SUPPORT_AND_TAG)
def test_ext_topic_with_tag(
    broker: Broker, fresh_ext_topic: Topic, identify: Identify
) -> Observation:
    """A client with extend_support and a desired tag receives messages of an ext topic."""
    header = {CLIENT_DISPATCH_TAG: TAG}
    return subscribe_and_receive(broker, fresh_ext_topic, identify, header=header)


@case("nsq/subscribe/ext-topic-without", clause="ext.subscribe.support-needed")
@pytest.mark.parametrize("identify", ALL_WITHOUT_SUPPORT.values(), ids=ALL_WITHOUT_SUPPORT)
def test_ext_topic_without_support(
    broker: Broker, ext_topic: Topic, identify: Identify | None
) -> Observation:
    """A client without extend_support is refused on an ext topic."""
    with broker.connect(identify=identify, topic=ext_topic) as client:
        answer = client.ask(subscribe(ext_topic, ext_topic.channel()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/subscribe/ext-topic-refused", clause="ext.subscribe.support-needed")
@pytest.mark.parametrize("identify", [{}, TAGGED], ids=["no-fields", "tag"])
def test_refused_on_ext_topic(broker: Broker, ext_topic: Topic, identify: Identify) -> Observation:
    """A client whose SUB to an ext topic was refused takes no message from subscribed clients."""
    return refused_takes_nothing(broker, ext_topic, identify)


@case("nsq/subscribe/plain-topic-with", clause="ext.subscribe.support-refused")
@pytest.mark.parametrize("identify", ALL_WITH_SUPPORT.values(), ids=ALL_WITH_SUPPORT)
def test_plain_topic_with_support(
    broker: Broker, plain_topic: Topic, identify: Identify
) -> Observation:
    """A client with extend_support is refused on a topic without the extend feature."""
    with broker.connect(identify=identify, topic=plain_topic) as client:
        answer = client.ask(subscribe(plain_topic, plain_topic.channel()))

        return observe(answer, then=client.goes_on(plain_topic))


@case("nsq/subscribe/plain-topic-refused", clause="ext.subscribe.support-refused")
@pytest.mark.parametrize("identify", [SUPPORT, SUPPORT | TAGGED], ids=["alone", "tag"])
def test_refused_on_plain_topic(
    broker: Broker, plain_topic: Topic, identify: Identify
) -> Observation:
    """A client whose SUB to a plain topic was refused takes no message from subscribed clients."""
    return refused_takes_nothing(broker, plain_topic, identify)


@case("nsq/subscribe/plain-topic", clause="ext.consume.plain-topic")
@pytest.mark.parametrize("identify", WITHOUT_SUPPORT.values(), ids=WITHOUT_SUPPORT)
def test_plain_topic(broker: Broker, plain_topic: Topic, identify: Identify | None) -> Observation:
    """A client without extend_support can subscribe to a plain topic and receives messages."""
    return subscribe_and_receive(broker, plain_topic, identify)


@case("nsq/subscribe/plain-topic-tag", clause="ext.subscribe.tag-ignored")
@pytest.mark.parametrize("identify", TAG_WITHOUT_SUPPORT.values(), ids=TAG_WITHOUT_SUPPORT)
def test_plain_topic_with_tag(
    broker: Broker, plain_topic: Topic, identify: Identify
) -> Observation:
    """On a plain topic, a client with a desired tag receives all messages."""
    return subscribe_and_receive(broker, plain_topic, identify)


@case("nsq/subscribe/plain-topic-tag-shared", clause="ext.subscribe.tag-ignored")
@pytest.mark.parametrize("ready", ["tagged", "untagged"])
def test_plain_topic_shared_with_tag(
    broker: Broker, fresh_plain_topic: Topic, ready: str
) -> Observation:
    """On a plain topic, any ready client receives messages, with or without desired tag."""
    channel = fresh_plain_topic.channel()
    wishes: dict[str, Identify] = {"untagged": {}, "tagged": TAGGED}
    clients = {
        word: broker.subscribe(
            fresh_plain_topic, channel=channel, identify=wish, ready=5 if word == ready else 0
        )
        for word, wish in wishes.items()
    }

    bodies = [broker.unique_body() for _ in range(3)]
    for body in bodies:
        broker.publish_accepted(fresh_plain_topic, body)

    return receive_all(clients[ready], bodies)
