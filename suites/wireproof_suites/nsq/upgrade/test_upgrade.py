"""Upgrades of plain topics, and the clients that may subscribe afterwards."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.delivery import AS_DUE
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response, Silent
from wireproof_kit.nsq.wire.frames import subscribe
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, DESIRED_TAG, EXTEND_SUPPORT
from wireproof_suites.nsq.steps.deliveries import NO_EXT_LAYOUTS, Sent, deliver, read_all
from wireproof_suites.nsq.steps.subscriptions import Identify, subscribe_and_receive
from wireproof_suites.nsq.steps.topic_upgrade import NOT_UPGRADED, TAG, takes_headers, upgrade

WITH_SUPPORT: dict[str, Identify] = {
    "alone": {EXTEND_SUPPORT: True},
    "tag": {EXTEND_SUPPORT: True, DESIRED_TAG: TAG},
}
SENT = "delivered:as-sent"
# A broker may fall silent towards an old client and close only when its answers to heartbeats
# stay out: the shortest interval shows that soon.
SOON_GIVEN_UP = {"heartbeat_interval": 1000}
WITHOUT_SUPPORT: dict[str, Identify | None] = {
    "no-identify": None,
    "no-fields": {},
    "false": {EXTEND_SUPPORT: False},
    "tag": {DESIRED_TAG: TAG},
}


@case("nsq/upgrade/accept", clause="ext.upgrade.accept", waiting=True)
def test_upgrade(broker: Broker, upgradable_topic: Topic) -> Observation:
    """After an upgrade, PUB_EXT is accepted and its message is delivered."""
    result = broker.upgrade(upgradable_topic)
    answer = observe_http(result.answer)
    if result.answer.status != 200:
        return answer
    if not takes_headers(broker, result.topic):
        return answer.then("headers-refused")

    seen = deliver(broker, result.topic, broker.unique_body(), header={"k": "v"})
    return replace(seen, value=f"{answer.value},{seen.value}")


@case("nsq/upgrade/accept-everywhere", clause="ext.upgrade.accept", waiting=True)
def test_upgrade_of_each_partition(
    broker: Broker, fresh_wide_upgraded_topic: Topic
) -> Observation:
    """After an upgrade, each partition accepts PUB_EXT, and its message is delivered."""
    seen = observed("no-partition")
    for place in fresh_wide_upgraded_topic.places:
        topic = fresh_wide_upgraded_topic.at(place.partition)
        if not takes_headers(broker, topic):
            return observed("headers-refused", note=f"in partition {topic.partition}")
        seen = deliver(broker, topic, broker.unique_body(), header={"k": "v"})
        if seen.value != SENT:
            break
    return seen


@case("nsq/upgrade/accept-used", clause="ext.upgrade.accept", waiting=True)
def test_upgrade_of_used_topic(broker: Broker, upgradable_topic: Topic) -> Observation:
    """After an upgrade, a topic that already had messages and a channel accepts headers."""
    old: Sent = (None, broker.unique_body())
    new: Sent = ({"k": "v"}, broker.unique_body())
    with broker.subscribe(upgradable_topic) as consumer:
        broker.publish_accepted(upgradable_topic, old[1])
        consumer.next(old[1])

    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    with broker.subscribe(topic) as consumer:
        broker.publish_accepted(topic, new[1], new[0])
        return read_all(consumer, [old, new], owed=[new[1]])


@case("nsq/upgrade/subscribe", clause="ext.upgrade.subscribe-rules", waiting=True)
@pytest.mark.parametrize("identify", WITH_SUPPORT.values(), ids=WITH_SUPPORT)
def test_subscribe_with_support(
    broker: Broker, upgradable_topic: Topic, identify: Identify
) -> Observation:
    """On an upgraded topic a client with extend_support can subscribe and receives messages."""
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    return subscribe_and_receive(broker, topic, identify, header={CLIENT_DISPATCH_TAG: TAG})


@case("nsq/upgrade/subscribe-without", clause="ext.upgrade.subscribe-rules", waiting=True)
def test_subscribe_without_support(broker: Broker, upgradable_topic: Topic) -> Observation:
    """After an upgrade, a subscription without extend_support is refused."""
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    accepted: list[str] = []
    for name, identify in WITHOUT_SUPPORT.items():
        with broker.connect(identify=identify, topic=topic) as client:
            if isinstance(client.ask(subscribe(topic, topic.channel())), Response):
                accepted.append(name)

    return observed("accepted:" + "+".join(accepted) if accepted else "refused")


@case("nsq/upgrade/open-subscription", clause="ext.upgrade.open-subscription", waiting=True)
def test_open_subscription(broker: Broker, upgradable_topic: Topic) -> Observation:
    """After an upgrade, an open subscription gets the old message layout, the new one, or ends."""
    with broker.subscribe(upgradable_topic, identify=SOON_GIVEN_UP) as old:
        topic = upgrade(broker, upgradable_topic)
        if topic is None:
            return NOT_UPGRADED
        broker.publish(topic, broker.unique_body())

        delivery = old.take()
        if delivery is None:
            return observe(old.answer or Silent(0.0))
        if delivery.layout == AS_DUE:
            return observed("kept")
        return observed("moved" if delivery.layout in NO_EXT_LAYOUTS else "other-layout")


@case("nsq/upgrade/beside-open", clause="ext.upgrade.open-subscription", waiting=True)
def test_beside_open_subscription(broker: Broker, upgradable_topic: Topic) -> Observation:
    """After an upgrade, a new client gets the messages that an older client left unfinished."""
    with broker.subscribe(upgradable_topic, identify=SOON_GIVEN_UP) as old:
        topic = upgrade(broker, upgradable_topic)
        if topic is None:
            return NOT_UPGRADED
        messages: list[Sent] = [({"k": "v"}, broker.unique_body()), (None, broker.unique_body())]
        for header, body in messages:
            broker.publish_accepted(topic, body, header)
        old.take()

    with broker.subscribe(topic, channel=old.channel, ready=5) as consumer:
        return read_all(consumer, messages)


@case("nsq/upgrade/again", clause="ext.upgrade.again", waiting=True)
def test_upgrade_of_ext_topic(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Upgrading an ext topic again leaves it an ext topic; any answer is accepted."""
    answer = observe_http(broker.upgrade(fresh_ext_topic).answer)

    seen = deliver(broker, fresh_ext_topic, broker.unique_body(), header={"k": "v"})
    return replace(seen, value=f"{answer.value},{seen.value}")


@case("nsq/upgrade/unknown-topic", clause="ext.upgrade.again", waiting=True)
def test_upgrade_of_unknown_topic(broker: Broker, upgradable_topic: Topic) -> Observation:
    """Upgrading a topic that does not exist is refused by the broker."""
    absent = replace(upgradable_topic, name=f"{upgradable_topic.name}_absent")
    return observe_http(broker.upgrade(absent).answer)
