"""A tagged message whose tag no client of the channel desires, or no client desires any more."""

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import cls, raw
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.tag_dispatch import channel_of

TAG = "tagA"
OTHER_TAG = "tagB"
# A broker may keep what a departed client held until it times out.
SOON_MS = 1000


@case("nsq/dispatch/nobody-desires", clause="ext.dispatch.fallback", waiting=True)
def test_nobody_desires_the_tag(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """If all clients are untagged, they receive tagged messages like any other."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=untagged)


@case("nsq/dispatch/only-other-desired", clause="ext.dispatch.fallback", waiting=True)
def test_only_another_tag_desired(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A message whose tag no client desires goes to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    other = channel.join("other-tag", tag=OTHER_TAG)

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=untagged, others=[other])


@case("nsq/dispatch/untagged-comes-later", clause="ext.dispatch.other-tag-alone", waiting=True)
def test_untagged_client_comes_later(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A waiting message whose tag no client desires goes to the next untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    other = channel.join("other-tag", tag=OTHER_TAG)
    bodies = channel.publish(TAG, count=3)
    untagged = channel.join("untagged")

    return channel.takers(bodies, owed_to=untagged, others=[other], wait=REDELIVERY)


@case("nsq/dispatch/not-to-other-tag", clause="ext.dispatch.other-tag-alone", waiting=True)
def test_not_to_another_tag(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tagged message does not reach a client that desires another tag."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    other = channel.join("other-tag", tag=OTHER_TAG)

    bodies = channel.publish(TAG, count=6)

    return channel.takers(bodies, owed_to=matching, others=[other])


@case("nsq/dispatch/other-tag-alone", clause="ext.dispatch.other-tag-alone", waiting=True)
def test_other_tag_alone(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A client that desires one tag gets no messages of another, even alone on its channel."""
    channel = channel_of(broker, fresh_ext_topic)
    other = channel.join("other-tag", tag=OTHER_TAG)
    bodies = channel.publish(TAG, count=3)
    matching = channel.join("matching", tag=TAG)

    return channel.takers(bodies, owed_to=matching, others=[other], wait=REDELIVERY)


@case("nsq/dispatch/other-tag-and-untagged", clause="ext.dispatch.never-other-tag", waiting=True)
def test_other_tag_beside_untagged(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A message whose tag nobody desires goes to the untagged client, not to a tagged one."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    other = channel.join("other-tag", tag=OTHER_TAG)

    bodies = channel.publish(TAG, count=6)

    return channel.takers(bodies, owed_to=untagged, others=[other])


@case("nsq/dispatch/left", clause="ext.dispatch.leave", waiting=True)
def test_left(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """After a tagged client disconnects, its messages go to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SOON_MS)
    untagged = channel.join("untagged")
    matching.consumer.close()

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)


@case("nsq/dispatch/left-politely", clause="ext.dispatch.leave", waiting=True)
def test_left_politely(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """After a tagged client sends CLS and disconnects, its messages go to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SOON_MS)
    untagged = channel.join("untagged")
    matching.consumer.connection.ask(cls())
    bodies = channel.publish(TAG, count=3)
    matching.consumer.close()

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)


@case("nsq/dispatch/thrown-out", clause="ext.dispatch.leave", waiting=True)
def test_thrown_out(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """After a tagged client is disconnected for an error, its messages go to the untagged one."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SOON_MS)
    untagged = channel.join("untagged")
    matching.consumer.connection.ask(raw(b"NO_SUCH_COMMAND\n", "unknown command"))
    matching.consumer.close()

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)


@case("nsq/dispatch/left-unfinished", clause="ext.dispatch.leave", waiting=True)
def test_left_unfinished(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages in flight at a tagged client that disconnects go to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SOON_MS)
    untagged = channel.join("untagged")
    bodies = channel.publish(TAG, count=3)
    if len(matching.hold(bodies, 3)) < len(bodies):
        return observed("not-held", overdue=True)  # some went to the client without a tag
    matching.consumer.close()

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)


@case("nsq/dispatch/left-put-back", clause="ext.dispatch.leave", waiting=True)
def test_left_after_putting_back(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages a tagged client requeued before it left go to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SOON_MS)
    untagged = channel.join("untagged")
    bodies = channel.publish(TAG)
    for delivery in matching.hold(bodies, 1).values():
        matching.consumer.requeue(delivery, 0)
    matching.consumer.close()

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)


@case("nsq/dispatch/left-never-ready", clause="ext.dispatch.leave", waiting=True)
def test_left_without_ever_being_ready(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """When a tagged client disconnects without RDY, its messages go to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    matching = channel.join("matching", tag=TAG, ready=0)
    bodies = channel.publish(TAG, count=3)
    matching.consumer.close()

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)


@case("nsq/dispatch/two-left", clause="ext.dispatch.leave", waiting=True)
def test_two_left(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """After both clients of a tag disconnect, the tag's messages go to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SOON_MS)
    untagged = channel.join("untagged")
    second = channel.join("second", tag=TAG, proven=False, msg_timeout=SOON_MS)
    matching.consumer.close()
    second.consumer.close()

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=untagged, wait=REDELIVERY)
