"""The first message of a partition: it is dispatched by its tag like any other.

While a broker may not know yet that a client is ready, the message may validly go to another
client. So whoever gets the message returns it when all clients have received others before.
"""

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.tag_dispatch import Channel, Client, channel_of

TAG = "tagA"
OTHER_TAG = "tagB"


@case("nsq/dispatch/first-message", clause="ext.dispatch.to-matching", waiting=True)
def test_first_to_matching(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """The first message of a partition goes to the client that desires its tag."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged", proven=False)
    matching = channel.join("matching", tag=TAG, proven=False)

    return _dispatch_first(channel, owed_to=matching, other=untagged)


@case("nsq/dispatch/first-message/nobody-desires", clause="ext.dispatch.fallback", waiting=True)
def test_first_to_untagged(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """The first message of a partition, whose tag nobody desires, goes to the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    other = channel.join("other-tag", tag=OTHER_TAG, proven=False)
    untagged = channel.join("untagged", proven=False)

    return _dispatch_first(channel, owed_to=untagged, other=other)


@case("nsq/dispatch/first-message/other-tag", clause="ext.dispatch.other-tag-alone", waiting=True)
def test_first_not_to_other_tag(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """The first message of a partition goes to no client that desires another tag."""
    channel = channel_of(broker, fresh_ext_topic)
    other = channel.join("other-tag", tag=OTHER_TAG, proven=False)
    matching = channel.join("matching", tag=TAG, proven=False)

    return _dispatch_first(channel, owed_to=matching, other=other)


def _dispatch_first(channel: Channel, *, owed_to: Client, other: Client) -> Observation:
    """Let the first message come again when both clients are ready; return who got it."""
    bodies = channel.publish(TAG)
    taker = owed_to
    held = owed_to.hold(bodies, 1)
    if not held:
        taker, held = other, other.hold(bodies, 1)
    other.is_proven(lambda: channel.publish(other.tag))
    owed_to.is_proven(lambda: channel.publish(TAG))
    for delivery in held.values():
        taker.consumer.requeue(delivery, 0)
    owed_to.forget()
    if other.tag is None:
        other.forget()
    owed_to.read_until(bodies, REDELIVERY)

    return channel.takers(bodies, owed_to=owed_to, others=[other], wait=REDELIVERY)
