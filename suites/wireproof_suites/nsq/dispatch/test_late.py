"""Messages that must not come to a client do not come later either."""

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.dispatch.test_untagged import NEAR_MISSES, OTHER_CASE
from wireproof_suites.nsq.steps.elapsed_time import wait_long
from wireproof_suites.nsq.steps.tag_dispatch import channel_of

TAG = "tagA"
OTHER_TAG = "tagB"


@case("nsq/dispatch/matching-for-long", clause="ext.dispatch.to-matching", waiting=True)
def test_matching_client_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, messages for a tagged client do not reach the untagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    bodies = channel.publish(TAG, count=6)

    return wait_long(broker, fresh_ext_topic) or channel.takers(
        bodies, owed_to=matching, others=[untagged]
    )


@case(
    "nsq/dispatch/not-to-other-tag-for-long", clause="ext.dispatch.other-tag-alone", waiting=True
)
def test_not_to_another_tag_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, messages of one tag do not reach a client that desires another tag."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    other = channel.join("other-tag", tag=OTHER_TAG)
    bodies = channel.publish(TAG, count=6)

    return wait_long(broker, fresh_ext_topic, OTHER_TAG) or channel.takers(
        bodies, owed_to=matching, others=[other]
    )


@case("nsq/dispatch/other-tag-alone-for-long", clause="ext.dispatch.other-tag-alone", waiting=True)
def test_other_tag_alone_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A client alone on the channel receives no messages of another tag for several seconds."""
    channel = channel_of(broker, fresh_ext_topic)
    other = channel.join("other-tag", tag=OTHER_TAG)
    bodies = channel.publish(TAG, count=3)
    late = wait_long(broker, fresh_ext_topic, OTHER_TAG)
    matching = channel.join("matching", tag=TAG)

    return late or channel.takers(bodies, owed_to=matching, others=[other])


@case(
    "nsq/dispatch/other-tag-and-untagged-for-long",
    clause="ext.dispatch.never-other-tag",
    waiting=True,
)
def test_other_tag_beside_untagged_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, messages of an undesired tag do not reach a client of another tag."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    other = channel.join("other-tag", tag=OTHER_TAG)
    bodies = channel.publish(TAG, count=6)

    return wait_long(broker, fresh_ext_topic) or channel.takers(
        bodies, owed_to=untagged, others=[other]
    )


@case("nsq/dispatch/only-other-desired-for-long", clause="ext.dispatch.fallback", waiting=True)
def test_only_another_tag_desired_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, messages whose tag nobody desires reach no tagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    other = channel.join("other-tag", tag=OTHER_TAG)
    bodies = channel.publish(TAG, count=6)

    return wait_long(broker, fresh_ext_topic) or channel.takers(
        bodies, owed_to=untagged, others=[other]
    )


@case("nsq/dispatch/untagged-for-long", clause="ext.dispatch.untagged", waiting=True)
def test_untagged_message_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, untagged messages do not reach a tagged client."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    bodies = channel.publish(count=6)

    return wait_long(broker, fresh_ext_topic) or channel.takers(
        bodies, owed_to=untagged, others=[matching]
    )


@case("nsq/dispatch/two-channels-for-long", clause="ext.dispatch.per-channel", waiting=True)
def test_two_channels_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, a tagged client gets no message of a tag desired on another channel."""
    elsewhere, here = (channel_of(broker, fresh_ext_topic) for _ in range(2))
    elsewhere.join("matching", tag=TAG)
    untagged = here.join("untagged")
    other = here.join("other-tag", tag=OTHER_TAG)
    bodies = here.publish(TAG, count=3)

    return wait_long(broker, fresh_ext_topic) or here.takers(
        bodies, owed_to=untagged, others=[other]
    )


@case("nsq/dispatch/near-miss-for-long", clause="ext.dispatch.never-other-tag", waiting=True)
def test_near_miss_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, messages of a similar tag do not reach a tagged client."""
    tags = [tag for similar in NEAR_MISSES.values() for tag in similar]

    return _to_untagged_for_long(broker, fresh_ext_topic, tags)


@case("nsq/dispatch/near-miss-for-long/letter-case", clause="ext.dispatch.exact-tag", waiting=True)
def test_letter_case_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Even after seconds, a tag in other letter case than the desired one does not match."""
    return _to_untagged_for_long(broker, fresh_ext_topic, OTHER_CASE)


def _to_untagged_for_long(broker: Broker, topic: Topic, tags: list[str]) -> Observation:
    """Publish messages with tags that no client desires; return who has them seconds later."""
    channel = channel_of(broker, topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    bodies = [body for tag in tags for body in channel.publish(tag)]

    return wait_long(broker, topic) or channel.takers(bodies, owed_to=untagged, others=[matching])
