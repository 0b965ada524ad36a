"""Dispatch by tag in every partition, on topics made ext and on upgraded ones."""

from collections.abc import Callable

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, first_unlike
from wireproof_kit.runner.patience import PUSH, REDELIVERY, Wait
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID
from wireproof_suites.nsq.http.pub_ext import post
from wireproof_suites.nsq.steps.tag_dispatch import Channel, Client, channel_of

TAG = "tagA"
OTHER_TAG = "tagB"
NEAR_TAG = "tagAX"
MANY = 10
NEEDS = ("partition",)
NEEDS_UPGRADE = ("partition", "upgrade")
HEADERS = {
    "untraced": {CLIENT_DISPATCH_TAG: TAG},
    "traced": {CLIENT_DISPATCH_TAG: TAG, TRACE_ID: "77"},
    "first-of-many": {CLIENT_DISPATCH_TAG: TAG, "k": "v"},
}


@case(
    "nsq/dispatch/matching-in-partition",
    clause="ext.dispatch.to-matching",
    needs=NEEDS,
    waiting=True,
)
def test_matching(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition a tagged message goes to the client that desires the tag."""
    return _in_each(broker, fresh_wide_ext_topic, _to_matching, due="to:matching")


@case(
    "nsq/dispatch/matching-in-partition/upgraded",
    clause="ext.dispatch.to-matching",
    needs=NEEDS_UPGRADE,
    waiting=True,
)
def test_matching_when_upgraded(broker: Broker, fresh_wide_upgraded_topic: Topic) -> Observation:
    """On an upgraded topic a tagged message goes to the client that desires the tag."""
    return _in_each(broker, fresh_wide_upgraded_topic, _to_matching, due="to:matching")


@case(
    "nsq/dispatch/matching-in-partition/http",
    clause="ext.dispatch.to-matching",
    needs=(*NEEDS, "http"),
    waiting=True,
)
def test_matching_over_http(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition a tagged HTTP message goes to the client that desires the tag."""
    return _in_each(broker, fresh_wide_ext_topic, _to_matching_by_http, due="to:matching")


@case(
    "nsq/dispatch/nobody-desires-in-partition",
    clause="ext.dispatch.fallback",
    needs=NEEDS,
    waiting=True,
)
def test_nobody_desires(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition a message whose tag nobody desires goes to the untagged client."""
    return _in_each(broker, fresh_wide_ext_topic, _to_untagged, due="to:untagged")


@case(
    "nsq/dispatch/nobody-desires-in-partition/upgraded",
    clause="ext.dispatch.fallback",
    needs=NEEDS_UPGRADE,
    waiting=True,
)
def test_nobody_desires_when_upgraded(
    broker: Broker, fresh_wide_upgraded_topic: Topic
) -> Observation:
    """On an upgraded topic a message whose tag nobody desires goes to the untagged client."""
    return _in_each(broker, fresh_wide_upgraded_topic, _to_untagged, due="to:untagged")


@case(
    "nsq/dispatch/nobody-desires-in-partition/http",
    clause="ext.dispatch.fallback",
    needs=(*NEEDS, "http"),
    waiting=True,
)
def test_nobody_desires_over_http(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition an HTTP message whose tag nobody desires goes to the untagged client."""
    return _in_each(broker, fresh_wide_ext_topic, _to_untagged_by_http, due="to:untagged")


@case(
    "nsq/dispatch/not-to-other-tag-in-partition",
    clause="ext.dispatch.other-tag-alone",
    needs=NEEDS,
    waiting=True,
)
def test_not_to_another_tag(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition a tagged message does not reach a client that desires another tag."""
    return _in_each(broker, fresh_wide_ext_topic, _not_to_other, due="to:matching")


@case(
    "nsq/dispatch/not-to-other-tag-in-partition/upgraded",
    clause="ext.dispatch.other-tag-alone",
    needs=NEEDS_UPGRADE,
    waiting=True,
)
def test_not_to_another_tag_when_upgraded(
    broker: Broker, fresh_wide_upgraded_topic: Topic
) -> Observation:
    """On an upgraded topic a tagged message does not reach a client that desires another tag."""
    return _in_each(broker, fresh_wide_upgraded_topic, _not_to_other, due="to:matching")


@case(
    "nsq/dispatch/not-to-other-tag-in-partition/http",
    clause="ext.dispatch.other-tag-alone",
    needs=(*NEEDS, "http"),
    waiting=True,
)
def test_not_to_another_tag_over_http(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition no tagged HTTP message goes to a client that desires another tag."""
    return _in_each(broker, fresh_wide_ext_topic, _not_to_other_by_http, due="to:matching")


@case("nsq/dispatch/left-in-partition", clause="ext.dispatch.leave", needs=NEEDS, waiting=True)
def test_left(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition the untagged client gets a tag's messages once the tagged one left."""
    return _in_each(broker, fresh_wide_ext_topic, _observe_left, due="to:untagged")


@case(
    "nsq/dispatch/left-in-partition/upgraded",
    clause="ext.dispatch.leave",
    needs=NEEDS_UPGRADE,
    waiting=True,
)
def test_left_when_upgraded(broker: Broker, fresh_wide_upgraded_topic: Topic) -> Observation:
    """On an upgraded topic the untagged client gets a tag's messages once the tagged one left."""
    return _in_each(broker, fresh_wide_upgraded_topic, _observe_left, due="to:untagged")


@case(
    "nsq/dispatch/left-in-partition/http",
    clause="ext.dispatch.leave",
    needs=(*NEEDS, "http"),
    waiting=True,
)
def test_left_over_http(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition the untagged client gets a tag's HTTP messages when its client left."""
    return _in_each(broker, fresh_wide_ext_topic, _observe_left_by_http, due="to:untagged")


@case(
    "nsq/dispatch/near-miss-in-partition",
    clause="ext.dispatch.never-other-tag",
    needs=NEEDS,
    waiting=True,
)
def test_near_miss(broker: Broker, fresh_wide_ext_topic: Topic) -> Observation:
    """In every partition a tag that continues the desired one does not match it."""
    return _in_each(broker, fresh_wide_ext_topic, _near_miss, due="to:untagged")


def _in_each(
    broker: Broker, wide: Topic, experiment: Callable[[Broker, Topic], Observation], *, due: str
) -> Observation:
    """Make an experiment in each partition of a topic; the first that came out otherwise stands.

    The topic is the case's own: a message for which no client may come holds up real brokers.
    """
    numbers = sorted(place.partition for place in wide.places)
    return first_unlike((experiment(broker, wide.at(number)) for number in numbers), due)


def _to_matching_by_http(broker: Broker, topic: Topic) -> Observation:
    channel = channel_of(broker, topic)
    matching, untagged = channel.join("matching", tag=TAG), channel.join("untagged")

    return _post(channel, owed_to=matching, others=[untagged])


def _not_to_other_by_http(broker: Broker, topic: Topic) -> Observation:
    channel = channel_of(broker, topic)
    matching = channel.join("matching", tag=TAG)
    other = channel.join("other-tag", tag=OTHER_TAG)

    return _post(channel, owed_to=matching, others=[other])


def _to_untagged_by_http(broker: Broker, topic: Topic) -> Observation:
    """Publish behind so many other messages that the count has two digits."""
    channel = channel_of(broker, topic)
    untagged, other = channel.join("untagged"), channel.join("other-tag", tag=OTHER_TAG)
    untagged.read_until(channel.publish(count=MANY))

    return _post(channel, owed_to=untagged, others=[other])


def _observe_left_by_http(broker: Broker, topic: Topic) -> Observation:
    channel, untagged = _leave(broker, topic)

    return _post(channel, owed_to=untagged, others=[], wait=REDELIVERY)


def _post(
    channel: Channel, *, owed_to: Client, others: list[Client], wait: Wait = PUSH
) -> Observation:
    """Publish messages of the tag by HTTP; return which of the clients got them."""
    bodies = [channel.broker.unique_body() for _ in range(3)]
    for body in bodies:
        answer = post(channel.broker, channel.topic, body, ext=HEADERS["untraced"])
        if answer.status != 200:
            return observe_http(answer)

    return channel.takers(bodies, owed_to=owed_to, others=others, wait=wait)


def _near_miss(broker: Broker, topic: Topic) -> Observation:
    channel = channel_of(broker, topic)
    near, untagged = channel.join("near", tag=TAG), channel.join("untagged")
    bodies = channel.publish(NEAR_TAG, count=3)

    return channel.takers(bodies, owed_to=untagged, others=[near])


def _to_matching(broker: Broker, topic: Topic) -> Observation:
    channel = channel_of(broker, topic)
    matching, untagged = channel.join("matching", tag=TAG), channel.join("untagged")

    return channel.takers(_publish(channel), owed_to=matching, others=[untagged])


def _to_untagged(broker: Broker, topic: Topic) -> Observation:
    channel = channel_of(broker, topic)
    untagged, other = channel.join("untagged"), channel.join("other-tag", tag=OTHER_TAG)

    return channel.takers(_publish(channel), owed_to=untagged, others=[other])


def _not_to_other(broker: Broker, topic: Topic) -> Observation:
    channel = channel_of(broker, topic)
    matching = channel.join("matching", tag=TAG)
    other = channel.join("other-tag", tag=OTHER_TAG)

    return channel.takers(_publish(channel), owed_to=matching, others=[other])


def _observe_left(broker: Broker, topic: Topic) -> Observation:
    channel, untagged = _leave(broker, topic)

    return channel.takers(_publish(channel), owed_to=untagged, wait=REDELIVERY)


def _leave(broker: Broker, topic: Topic) -> tuple[Channel, Client]:
    """Return a channel that a client with the tag has left, and the client without a tag there."""
    channel = channel_of(broker, topic)
    # A broker may keep what a departed client was sent until it times out.
    matching = channel.join("matching", tag=TAG, msg_timeout=1000)
    untagged = channel.join("untagged")
    matching.consumer.close()
    return channel, untagged


def _publish(channel: Channel) -> list[bytes]:
    """Publish a message with each header, by TCP; return their bodies."""
    bodies = [channel.broker.unique_body() for _ in HEADERS]
    for body, header in zip(bodies, HEADERS.values(), strict=True):
        channel.broker.publish_accepted(channel.topic, body, header)
    return bodies
