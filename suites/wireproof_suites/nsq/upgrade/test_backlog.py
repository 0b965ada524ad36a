"""Messages from before an upgrade, read after it."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.attempts import attempts_of
from wireproof_suites.nsq.steps.deliveries import Sent, read_all
from wireproof_suites.nsq.steps.message_contents import CONTENTS
from wireproof_suites.nsq.steps.topic_upgrade import NOT_UPGRADED, upgrade

READY = 5
OLD: dict[str, list[bytes]] = {
    "one": [b"old"],
    "contents": list(CONTENTS.values()),
    "small": [b"\x00", b"\x04", b"\x04\x00\x02{"],
    "lengths": [b"." * length for length in (255, 256, 4096, 65536)],
}


@case("nsq/upgrade/old-messages", clause="ext.upgrade.old-messages", waiting=True)
@pytest.mark.parametrize("bodies", OLD.values(), ids=OLD)
def test_backlog(broker: Broker, upgradable_topic: Topic, bodies: list[bytes]) -> Observation:
    """Messages unread before an upgrade are delivered unchanged after it."""
    messages: list[Sent] = [(None, body) for body in bodies]
    with broker.subscribe(upgradable_topic, ready=0) as old:
        _publish(broker, upgradable_topic, messages)
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED

    with broker.subscribe(topic, channel=old.channel, ready=READY) as consumer:
        return read_all(consumer, messages)


@case("nsq/upgrade/old-and-new", clause="ext.upgrade.old-messages", waiting=True)
def test_old_and_new(broker: Broker, upgradable_topic: Topic) -> Observation:
    """Messages from before and after an upgrade are delivered on the same channel."""
    old_messages: list[Sent] = [(None, broker.unique_body()) for _ in range(3)]
    with broker.subscribe(upgradable_topic, ready=0) as old:
        _publish(broker, upgradable_topic, old_messages)
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    headers = [{"k": "v"}, None, {"l": "w"}]
    new_messages: list[Sent] = [(header, broker.unique_body()) for header in headers]
    _publish(broker, topic, new_messages)

    with broker.subscribe(topic, channel=old.channel, ready=READY) as consumer:
        return read_all(consumer, old_messages + new_messages)


@case("nsq/upgrade/old-in-flight", clause="ext.upgrade.old-messages", waiting=True)
def test_old_in_flight(broker: Broker, upgradable_topic: Topic) -> Observation:
    """Messages that are in flight or unread at an upgrade are delivered afterwards."""
    messages: list[Sent] = [(None, broker.unique_body()) for _ in range(4)]
    soon = {"msg_timeout": 1000}  # a broker may keep what a departed client held until then
    with broker.subscribe(upgradable_topic, ready=2, identify=soon) as old:
        _publish(broker, upgradable_topic, messages)
        finished = old.next()
        old.take()
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    owed = [body for _, body in messages if finished is None or body != finished.body]

    with broker.subscribe(topic, channel=old.channel, ready=READY) as consumer:
        return read_all(consumer, messages, owed=owed)


@case("nsq/upgrade/old-attempts", clause="ext.upgrade.old-messages", waiting=True)
def test_old_attempts(broker: Broker, upgradable_topic: Topic) -> Observation:
    """A message published before its topic is upgraded is delivered afterwards with attempts 1."""
    body = broker.unique_body()
    with broker.subscribe(upgradable_topic, ready=0) as old:
        broker.publish_accepted(upgradable_topic, body)
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED

    with broker.subscribe(topic, channel=old.channel) as consumer:
        return attempts_of(consumer.next(body))


def _publish(broker: Broker, topic: Topic, messages: list[Sent]) -> None:
    for header, body in messages:
        broker.publish_accepted(topic, body, header)
