"""The rules of subscriptions on channels that are in use, were left, or are ephemeral."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.channels import EPHEMERAL
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.frames import rdy, subscribe
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import DESIRED_TAG, EXTEND_SUPPORT
from wireproof_suites.nsq.steps.deliveries import answered_and

Fields = dict[str, object]

IN_USE, LEFT = "in-use", "left"
USES = {f"{use}-{kind}": (use, kind) for use in (IN_USE, LEFT) for kind in ("kept", "ephemeral")}
CORNERS = {**USES, "ephemeral": ("", "ephemeral")}
NOTHING: Fields = {}
TAG: Fields = {DESIRED_TAG: "tagA"}
SUPPORT: Fields = {EXTEND_SUPPORT: True}


def _rows(**identities: Fields) -> Mapping[str, tuple[str, str, Fields]]:
    """Return each corner with each IDENTIFY, by their names."""
    return {
        f"{corner}/{name}": (*CORNERS[corner], fields)
        for corner in CORNERS
        for name, fields in identities.items()
    }


WITHOUT = _rows(none=NOTHING, tag=TAG)
WITH = _rows(support=SUPPORT, tag=SUPPORT | TAG)
TAGGED = _rows(tag=TAG)


@case("nsq/subscribe/ext-topic-without-in-corner", clause="ext.subscribe.support-needed")
@pytest.mark.parametrize(("use", "kind", "identify"), WITHOUT.values(), ids=WITHOUT)
def test_ext_topic_without_support(
    broker: Broker, ext_topic: Topic, use: str, kind: str, identify: Fields
) -> Observation:
    """A client without extend_support is refused on any channel of an ext topic."""
    return _observe_sub(broker, ext_topic, use, kind, identify)


@case("nsq/subscribe/plain-topic-with-in-corner", clause="ext.subscribe.support-refused")
@pytest.mark.parametrize(("use", "kind", "identify"), WITH.values(), ids=WITH)
def test_plain_topic_with_support(
    broker: Broker, plain_topic: Topic, use: str, kind: str, identify: Fields
) -> Observation:
    """A client with extend_support is refused on any channel of a plain topic."""
    return _observe_sub(broker, plain_topic, use, kind, identify)


@case("nsq/subscribe/plain-topic-tag-in-corner", clause="ext.subscribe.tag-ignored")
@pytest.mark.parametrize(("use", "kind", "identify"), TAGGED.values(), ids=TAGGED)
def test_plain_topic_with_tag(
    broker: Broker, fresh_plain_topic: Topic, use: str, kind: str, identify: Fields
) -> Observation:
    """A client with a desired tag can subscribe to any channel of a plain topic and receives."""
    topic, body = fresh_plain_topic, broker.unique_body()
    with _channel(broker, topic, use, kind) as channel:
        client = broker.connect(identify=identify, topic=topic)
        answer = client.ask(subscribe(topic, channel))
        if not isinstance(answer, Response):
            return observe(answer)
        client.send(rdy(1))
        broker.publish_accepted(topic, body)

        delivery = broker.consumer(client, topic, channel).next()
        return answered_and(answer, observe_delivery(delivery, body=body))


def _observe_sub(
    broker: Broker, topic: Topic, use: str, kind: str, identify: Fields
) -> Observation:
    with (
        _channel(broker, topic, use, kind) as channel,
        broker.connect(identify=identify, topic=topic) as client,
    ):
        answer = client.ask(subscribe(topic, channel))

        return observe(answer, then=client.goes_on(topic))


@contextmanager
def _channel(broker: Broker, topic: Topic, use: str, kind: str) -> Generator[str]:
    """Return a channel that a right client uses, or has left."""
    channel = topic.channel() + (EPHEMERAL if kind == "ephemeral" else "")
    with ExitStack() as stack:
        if use:
            right = stack.enter_context(broker.subscribe(topic, channel=channel, ready=0))
            if use == LEFT:
                right.close()
        yield channel
