"""Messages without a tag, near-miss tags, tags of odd form, and clients that are not ready."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.frames import mpub
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.tag_dispatch import READY, channel_of

TAG = "tagA"

NO_TAG = {
    "empty-header": b"{}",
    "other-names": b'{"k":"tagA","client_dispatch_tag":"tagA"}',
    "name-longer": b'{"x##client_dispatch_tag":"tagA","#client_dispatch_tag":"tagA"}',
    "name-in-a-value": rb'{"k":"\"##client_dispatch_tag\":\"tagA\""}',
}

OTHER_CASE = ["taga", "TAGA", "TagA"]
NEAR_MISSES = {
    "part": ["tag", "t", "agA"],
    "longer": ["tagAA", "tagA1", "xtagA", "tagA,tagB"],
    "blanks": [" tagA", "tagA ", "tagA\n"],
    "pattern": ["tag.", "tag*", ".*", "*", "tag?"],
}

LONG_TAG = "abcdefghijklmnopqrstuvwxyz012345.tagA.ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
ALIKE = [LONG_TAG[:-1] + "6", "b" + LONG_TAG[1:], LONG_TAG.replace("tagA", "tagB"), LONG_TAG[:32]]
"""Tags that are like the long one in its first 32 bytes and more, in its last ones, or in both."""

NOT_A_TAG = {
    "empty": b'{"##client_dispatch_tag":""}',
    "number": b'{"##client_dispatch_tag":5}',
    "null": b'{"##client_dispatch_tag":null}',
    "true": b'{"##client_dispatch_tag":true}',
    "array": b'{"##client_dispatch_tag":["5"]}',
    "object": b'{"##client_dispatch_tag":{"5":"5"}}',
}


@case("nsq/dispatch/untagged", clause="ext.dispatch.untagged", waiting=True)
def test_untagged_message(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages without a header go to the client that desires no tag."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")

    bodies = channel.publish(count=6)

    return channel.takers(bodies, owed_to=untagged, others=[matching])


@case("nsq/dispatch/untagged-header", clause="ext.dispatch.untagged", waiting=True)
@pytest.mark.parametrize("header", NO_TAG.values(), ids=NO_TAG)
def test_header_without_tag(broker: Broker, fresh_ext_topic: Topic, header: bytes) -> Observation:
    """A message whose header has no tag is treated as untagged."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")

    bodies = channel.publish_headers([header])

    return channel.takers(bodies, owed_to=untagged, others=[matching])


@case("nsq/dispatch/untagged-batch", clause="ext.dispatch.untagged", waiting=True)
def test_untagged_batch(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages of an MPUB batch are treated as untagged."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    bodies = [broker.unique_body() for _ in range(3)]

    with broker.connect(topic=fresh_ext_topic) as publisher:
        answer = publisher.ask(mpub(fresh_ext_topic, bodies))
    if not isinstance(answer, Response):
        return observe(answer)

    return channel.takers(bodies, owed_to=untagged, others=[matching])


@case("nsq/dispatch/untagged-behind-tagged", clause="ext.dispatch.untagged", waiting=True)
def test_untagged_behind_tagged(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Untagged messages are delivered while the tagged ones published before them wait."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")

    held = channel.publish(TAG, count=3)
    bodies = channel.publish(count=3)
    matching.hold(held, 3)

    return channel.takers(bodies, owed_to=untagged, others=[matching])


@case("nsq/dispatch/tagged-alone", clause="ext.dispatch.untagged", waiting=True)
def test_tagged_client_alone(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """An untagged message waits while every connected client desires a tag."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    bodies = channel.publish(count=3)
    untagged = channel.join("untagged")

    return channel.takers(bodies, owed_to=untagged, others=[matching], wait=REDELIVERY)


@case("nsq/dispatch/near-miss", clause="ext.dispatch.never-other-tag", waiting=True)
@pytest.mark.parametrize("tags", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_miss(broker: Broker, fresh_ext_topic: Topic, tags: list[str]) -> Observation:
    """A tag that only resembles the desired tag does not match it."""
    return _to_untagged(broker, fresh_ext_topic, tags)


@case("nsq/dispatch/near-miss/long", clause="ext.dispatch.never-other-tag", waiting=True)
def test_long_near_miss(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A long tag that differs from the desired tag in one place does not match it."""
    return _to_untagged(broker, fresh_ext_topic, ALIKE, desired=LONG_TAG)


@case("nsq/dispatch/near-miss/letter-case", clause="ext.dispatch.exact-tag", waiting=True)
def test_letter_case(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tag that differs from the desired tag in letter case does not match it."""
    return _to_untagged(broker, fresh_ext_topic, OTHER_CASE)


def _to_untagged(
    broker: Broker, topic: Topic, tags: list[str], *, desired: str = TAG
) -> Observation:
    """Publish messages with tags that no client desires; return who got them."""
    channel = channel_of(broker, topic)
    matching = channel.join("matching", tag=desired)
    untagged = channel.join("untagged")

    bodies = [body for tag in tags for body in channel.publish(tag)]

    return channel.takers(bodies, owed_to=untagged, others=[matching])


@case("nsq/dispatch/tag-form", clause="ext.dispatch.tag-form", waiting=True)
@pytest.mark.parametrize("header", NOT_A_TAG.values(), ids=NOT_A_TAG)
def test_tag_of_odd_form(broker: Broker, fresh_ext_topic: Topic, header: bytes) -> Observation:
    """A tag that is empty or not a string is refused, or treated as no tag."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag="5")
    untagged = channel.join("untagged")
    body = broker.unique_body()

    if not isinstance(broker.publish(fresh_ext_topic, body, header), Response):
        return observed("refused")

    return channel.takers([body], owed_to=untagged, others=[matching])


@case("nsq/dispatch/desired-empty", clause="ext.dispatch.tag-form", waiting=True)
def test_empty_desired_tag(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A client whose desired tag is the empty string receives untagged messages."""
    channel = channel_of(broker, fresh_ext_topic)
    client = channel.join("untagged", tag="", proven=False)

    bodies = channel.publish(count=3)

    return channel.takers(bodies, owed_to=client)


@case("nsq/dispatch/not-ready", clause="ext.dispatch.not-ready", waiting=True)
def test_not_ready(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """If a tag's only client has RDY 0, the tag's messages wait or go to an untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, ready=1, proven=False)
    held = matching.hold(channel.publish(TAG), 1)
    untagged = channel.join("untagged")
    matching.consumer.ready(0)  # while it is full: it is ready at no time from here on
    for delivery in held.values():
        matching.consumer.finish(delivery)

    bodies = channel.publish(TAG)
    if untagged.read_until(bodies):
        return observed("falls-back")

    matching.consumer.ready(READY)
    came = matching.read_until(bodies, REDELIVERY)
    return observed("waits") if came else observed("missing", overdue=True)


@case("nsq/dispatch/full", clause="ext.dispatch.not-ready", waiting=True)
def test_full(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """If a tag's only client can take no more messages, they wait or go to an untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, ready=1, proven=False)
    held = matching.hold(channel.publish(TAG), 1)
    untagged = channel.join("untagged")

    bodies = channel.publish(TAG)
    if untagged.read_until(bodies):
        return observed("falls-back")

    for delivery in held.values():
        matching.consumer.finish(delivery)
    came = matching.read_until(bodies, REDELIVERY)
    return observed("waits") if came else observed("missing", overdue=True)


@case("nsq/dispatch/behind-not-ready", clause="ext.dispatch.not-ready", waiting=True)
def test_nothing_is_lost_behind(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages queued behind a waiting tagged message arrive once the tagged client is ready."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    matching = channel.join("matching", tag=TAG, ready=0)
    channel.publish(TAG)
    bodies = channel.publish(count=3)

    matching.consumer.ready(READY)

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)
