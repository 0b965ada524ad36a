"""A tagged message and the clients that desire its tag, another tag, or none."""

from collections.abc import Mapping

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import identify
from wireproof_kit.nsq.wire.http import Headers
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, X_NSQEXT
from wireproof_suites.nsq.http.pub_ext import post
from wireproof_suites.nsq.steps.tag_dispatch import Channel, both, channel_of
from wireproof_suites.nsq.steps.topic_upgrade import NOT_UPGRADED, upgrade

TAG = "tagA"
OTHER_TAG = "tagB"
SHORTEST_TIMEOUT_MS = 1000

TAGS = {
    "one-letter": "t",
    "digits": "7",
    "sixty-four-letters": "t" * 64,
}

# Two measured brokers of old take letters, digits, _ and - only, and say so to IDENTIFY.
UNCOMMON_TAGS = {
    "punctuation": "a.b/c:d_e-f",
    "blank-inside": "a b",
    "blank-ends": " a ",
    "unicode": "标签",
}

SPELLINGS = [
    b'{"##client_dispatch_tag":"tagA"}',
    b'{"k":"v","##client_dispatch_tag":"tagA"}',
    b'{"##client_dispatch_tag":"tagA","k":"##client_dispatch_tag"}',
    b' {\n"k" : "v" ,\t"##client_dispatch_tag" : "tagA" }\n',
    rb'{"##client_dispatch_tag":"\u0074ag\u0041"}',
    b'{"##client_dispatch_tag":"tagA","k":"' + b"v" * 4096 + b'"}',
]

ESCAPED_TAG = 'a\\b/c"\u6d88'
ESCAPES = [
    rb'{"##client_dispatch_tag":"a\\b\/c\"\u6d88"}',
    rb'{"##client_dispatch_tag":"\u0061\u005cb\u002fc\u0022\u6D88"}',
]


@case("nsq/dispatch/matching", clause="ext.dispatch.to-matching", waiting=True)
@pytest.mark.parametrize("first", ["matching", "untagged"])
def test_matching_client(broker: Broker, fresh_ext_topic: Topic, first: str) -> Observation:
    """A tagged message goes to the client that desires its tag, in either order of subscribing."""
    channel = channel_of(broker, fresh_ext_topic)
    tags = {"matching": TAG, "untagged": None}
    order = sorted(tags, key=lambda word: word != first)
    clients = {word: channel.join(word, tag=tags[word]) for word in order}

    bodies = channel.publish(TAG, count=6)

    return channel.takers(bodies, owed_to=clients["matching"], others=[clients["untagged"]])


@case("nsq/dispatch/matching-of-three", clause="ext.dispatch.to-matching", waiting=True)
def test_matching_client_of_three(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tagged message goes to the client of its tag, not to one of another tag or without tag."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    other = channel.join("other-tag", tag=OTHER_TAG)
    matching = channel.join("matching", tag=TAG)

    bodies = channel.publish(TAG, count=6)

    return channel.takers(bodies, owed_to=matching, others=[untagged, other])


@case("nsq/dispatch/many-tags", clause="ext.dispatch.to-matching", waiting=True)
@pytest.mark.parametrize("place", [0, 1, 2, 3], ids=["first", "second", "third", "last"])
def test_one_of_many_tags(broker: Broker, fresh_ext_topic: Topic, place: int) -> Observation:
    """With clients of four tags on a channel, a tagged message goes to the client of its tag."""
    channel = channel_of(broker, fresh_ext_topic)
    others = [channel.join("untagged")]
    tags = [f"tag{number}" for number in range(4)]
    words = {tag: "matching" if tag == tags[place] else "other-tag" for tag in tags}
    # The others are sure to be ready once they have their sentinels.
    tagged = [
        channel.join(word, tag=tag, proven=word == "matching") for tag, word in words.items()
    ]
    matching = tagged.pop(place)

    bodies = channel.publish(tags[place], count=6)

    return channel.takers(bodies, owed_to=matching, others=[*others, *tagged])


@case("nsq/dispatch/interleaved", clause="ext.dispatch.to-matching", waiting=True)
def test_interleaved(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages of one tag, mixed with others, reach the client that desires that tag."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")

    bodies: list[bytes] = []
    for _ in range(4):
        channel.publish()
        bodies += channel.publish(TAG)
        channel.publish(OTHER_TAG)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/tag", clause="ext.dispatch.to-matching", waiting=True)
@pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS)
def test_tag_of_any_kind(broker: Broker, fresh_ext_topic: Topic, tag: str) -> Observation:
    """A tag of any legal length is matched with the client that desires it."""
    return _three_of(broker, fresh_ext_topic, tag)


@case("nsq/dispatch/uncommon-tag", clause="ext.dispatch.to-matching", waiting=True)
@pytest.mark.parametrize("tag", UNCOMMON_TAGS.values(), ids=UNCOMMON_TAGS)
def test_uncommon_tag(broker: Broker, fresh_ext_topic: Topic, tag: str) -> Observation:
    """A tag of unusual characters is matched, or refused when a client desires it."""
    with broker.connect(identify=None, topic=fresh_ext_topic) as client:
        answer = observe(client.ask(identify(desired_tag=tag, extend_support=True)))
    if answer.value.startswith("error:"):
        return observed("desired-refused", note=answer.value)
    return _three_of(broker, fresh_ext_topic, tag)


@case("nsq/dispatch/negotiated", clause="ext.dispatch.to-matching", waiting=True)
def test_negotiated(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A desired tag sent with feature negotiation is honoured."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, feature_negotiation=True)
    untagged = channel.join("untagged", feature_negotiation=True)

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/spelling", clause="ext.dispatch.to-matching", waiting=True)
def test_spellings(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tag is recognised anywhere in the header, with any JSON escapes and white space."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")

    bodies = channel.publish_headers(SPELLINGS)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/escapes", clause="ext.dispatch.to-matching", waiting=True)
def test_escapes_in_a_tag(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A dispatch tag of unusual characters is matched however the JSON header spells it."""
    with broker.connect(identify=None, topic=fresh_ext_topic) as client:
        answer = observe(client.ask(identify(desired_tag=ESCAPED_TAG, extend_support=True)))
        if answer.value.startswith("error:"):
            return observed("desired-refused")
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=ESCAPED_TAG)
    untagged = channel.join("untagged")

    bodies = channel.publish_headers(ESCAPES)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/http", clause="ext.dispatch.to-matching", needs=("http",), waiting=True)
def test_published_over_http(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tag published over HTTP is matched like a tag published over TCP."""
    return _over_http(broker, fresh_ext_topic, {CLIENT_DISPATCH_TAG: TAG})


@case(
    "nsq/dispatch/http/x-nsqext",
    clause="ext.dispatch.to-matching",
    needs=("http",),
    waiting=True,
)
def test_tag_in_a_request_header(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tag in an X-NSQEXT- request header is matched like one in ext."""
    headers = [(X_NSQEXT + CLIENT_DISPATCH_TAG, TAG)]
    return _over_http(broker, fresh_ext_topic, {}, headers)


def _over_http(
    broker: Broker, topic: Topic, ext: Mapping[str, str], headers: Headers = ()
) -> Observation:
    channel = channel_of(broker, topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    body = broker.unique_body()

    answer = post(broker, topic, body, ext=ext, headers=headers)
    if not answer.is_ok:
        return observe_http(answer)

    return channel.takers([body], owed_to=matching, others=[untagged])


@case("nsq/dispatch/one-not-ready", clause="ext.dispatch.to-matching", waiting=True)
def test_one_of_two_not_ready(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Of two clients with the same tag, the ready one receives the messages."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    channel.join("not-ready", tag=TAG, ready=0)

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/one-left", clause="ext.dispatch.to-matching", waiting=True)
def test_one_of_two_left(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """After one of two clients with the same tag disconnects, the other gets the messages."""
    channel = channel_of(broker, fresh_ext_topic)
    leaver = channel.join("leaver", tag=TAG, ready=1, proven=False)
    leaver.hold(channel.publish(TAG), 1)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    leaver.consumer.close()

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=matching, others=[untagged], wait=REDELIVERY)


@case("nsq/dispatch/came-back", clause="ext.dispatch.to-matching", waiting=True)
def test_client_comes_back(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A client that resubscribes with its tag receives the tag's messages again."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    channel.join("matching", tag=TAG).consumer.close()
    untagged.read_until(channel.publish(TAG), REDELIVERY)
    matching = channel.join("matching", tag=TAG)

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/put-back", clause="ext.dispatch.to-matching", waiting=True)
def test_put_back(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A requeued tagged message is redelivered to its tagged client, not to the untagged one."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG)
    untagged = channel.join("untagged")
    bodies = channel.publish(TAG, count=2)
    for delivery in matching.hold(bodies, 2).values():
        matching.consumer.requeue(delivery, 0)
    matching.forget()

    return channel.takers(bodies, owed_to=matching, others=[untagged], wait=REDELIVERY)


@case("nsq/dispatch/timed-out", clause="ext.dispatch.to-matching", waiting=True)
def test_timed_out(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A timed-out tagged message is redelivered to its tagged client, not to the untagged one."""
    channel = channel_of(broker, fresh_ext_topic)
    matching = channel.join("matching", tag=TAG, msg_timeout=SHORTEST_TIMEOUT_MS)
    untagged = channel.join("untagged")
    bodies = channel.publish(TAG)
    matching.hold(bodies, 1)
    matching.forget()
    matching.read_until(bodies, REDELIVERY)

    return channel.takers(bodies, owed_to=matching, others=[untagged], wait=REDELIVERY)


@case("nsq/dispatch/next-client", clause="ext.dispatch.to-matching", waiting=True)
def test_next_client(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tagged message whose client disconnects goes to another client that desires the tag."""
    channel = channel_of(broker, fresh_ext_topic)
    untagged = channel.join("untagged")
    leaver = channel.join(
        "leaver", tag=TAG, ready=1, proven=False, msg_timeout=2 * SHORTEST_TIMEOUT_MS
    )
    bodies = channel.publish(TAG)
    leaver.hold(bodies, 1)
    matching = channel.join("matching", tag=TAG)
    leaver.consumer.close()
    matching.read_until(bodies, REDELIVERY)

    return channel.takers(bodies, owed_to=matching, others=[untagged], wait=REDELIVERY)


@case("nsq/dispatch/upgraded", clause="ext.dispatch.to-matching", needs=("upgrade",), waiting=True)
def test_upgraded_topic(broker: Broker, upgradable_topic: Topic) -> Observation:
    """On a topic upgraded to ext, tagged messages go to the client that desires the tag."""
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    channel = channel_of(broker, topic)
    untagged = channel.join("untagged")
    matching = channel.join("matching", tag=TAG)

    bodies = channel.publish(TAG, count=3)

    return channel.takers(bodies, owed_to=matching, others=[untagged])


@case("nsq/dispatch/two-channels", clause="ext.dispatch.per-channel", waiting=True)
def test_two_channels(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A tag desired on one channel does not affect delivery on another channel."""
    plain, desiring = _two_channels(broker, fresh_ext_topic)
    untagged = plain.join("untagged")
    other_untagged = desiring.join("untagged")
    matching = desiring.join("matching", tag=TAG)

    bodies = desiring.publish(TAG, count=3)

    there = desiring.takers(bodies, owed_to=matching, others=[other_untagged])
    return both(there, plain.takers(bodies, owed_to=untagged))


@case("nsq/dispatch/two-channels-two-tags", clause="ext.dispatch.per-channel", waiting=True)
def test_two_channels_with_different_tags(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Each channel dispatches by the tags of its own clients only."""
    first, second = _two_channels(broker, fresh_ext_topic)
    first_untagged, second_untagged = first.join("untagged"), second.join("untagged")
    matching = first.join("matching", tag=TAG)
    other = second.join("other-tag", tag=OTHER_TAG)

    bodies = first.publish(TAG, count=3)

    here = first.takers(bodies, owed_to=matching, others=[first_untagged])
    return both(here, second.takers(bodies, owed_to=second_untagged, others=[other]))


@case("nsq/dispatch/shared-tag", clause="ext.dispatch.shared-tag", waiting=True)
def test_shared_tag(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """While one client is busy, another client with the same tag may receive the next message."""
    channel = channel_of(broker, fresh_ext_topic)
    first = channel.join("first", tag=TAG, ready=1)
    second = channel.join("second", tag=TAG, ready=1, proven=False)

    bodies = channel.publish(TAG, count=2)

    held = first.hold(bodies, 1)
    rest = [body for body in bodies if body not in held]
    if second.read_until(rest):
        return observed("shared" if held else "one-only")
    for delivery in held.values():
        first.consumer.finish(delivery)
    return observed("one-only") if first.read_until(rest) else observed("missing", overdue=True)


def _two_channels(broker: Broker, topic: Topic) -> tuple[Channel, Channel]:
    return channel_of(broker, topic), channel_of(broker, topic)


def _three_of(broker: Broker, topic: Topic, tag: str) -> Observation:
    """Publish three messages with a tag that one of two clients desires; return who got them."""
    channel = channel_of(broker, topic)
    matching = channel.join("matching", tag=tag)
    untagged = channel.join("untagged")

    bodies = channel.publish(tag, count=3)

    return channel.takers(bodies, owed_to=matching, others=[untagged])
