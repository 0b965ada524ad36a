"""Random histories of a channel, held to a model: nothing lost, misdelivered or out of order."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.runner.rule_machine import SHORT, Effort
from wireproof_suites.nsq.history.channel_history import SHORTEST_TIMEOUT_MS, Kind, play
from wireproof_suites.nsq.steps.leader_changes import wait_for_leader

TAGS = (None, "tagA", "tagB")
# Each time-out takes a second at least, and a history may have two.
TIMED = Effort(examples=14, steps=14)
MOVED = Effort(examples=5, steps=14)


@case("nsq/history/plain", clause="smart.history.kept", waiting=True)
def test_plain_channel(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Random client activity on a plain channel loses no message."""
    return play(broker, fresh_plain_topic, Kind(), SHORT)


@case("nsq/history/plain-timed", clause="smart.history.kept", waiting=True)
def test_plain_channel_with_time_outs(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Random client activity with message timeouts on a plain channel loses no message."""
    return play(broker, fresh_plain_topic, Kind(timed=True), TIMED)


@case("nsq/history/timed-out-twice", clause="smart.history.kept", waiting=True)
@pytest.mark.parametrize("first", ["timed-out", "requeued"])
def test_message_that_times_out_again(
    broker: Broker, fresh_plain_topic: Topic, first: str
) -> Observation:
    """A message that was redelivered once is not lost when it then times out."""
    soon, body = {"msg_timeout": SHORTEST_TIMEOUT_MS}, broker.unique_body()
    with broker.subscribe(fresh_plain_topic, identify=soon) as consumer:
        broker.publish_accepted(fresh_plain_topic, body)
        seconds = consumer.connection.seconds(REDELIVERY) + SHORTEST_TIMEOUT_MS / 1000
        delivery = consumer.take(body, seconds=seconds)
        if delivery is not None and first == "requeued":
            consumer.requeue(delivery, 0)
        for _ in range(2):
            if delivery is None:
                return observed("lost", overdue=True)
            delivery = consumer.take(body, seconds=seconds)
        return observed("kept") if delivery else observed("lost", overdue=True)


@case("nsq/history/tagged", clause="ext.dispatch.history", waiting=True)
def test_tagged_channel(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Random client activity on a channel with tags sends each message to an allowed client."""
    return play(broker, fresh_ext_topic, Kind(tags=TAGS), SHORT)


@case("nsq/history/tagged-timed", clause="ext.dispatch.history", waiting=True)
def test_tagged_channel_with_time_outs(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Random client activity with timeouts sends tagged messages to allowed clients only."""
    return play(broker, fresh_ext_topic, Kind(tags=TAGS, timed=True), TIMED)


@case("nsq/history/ordered", clause="smart.history.order", waiting=True)
def test_ordered_channel(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """An ordered channel keeps the publish order through random FIN, REQ and reconnects."""
    return play(broker, fresh_ordered_topic, Kind(ordered=True), SHORT)


@case("nsq/history/ordered-timed", clause="smart.history.order", waiting=True)
def test_ordered_channel_with_time_outs(broker: Broker, fresh_ordered_topic: Topic) -> Observation:
    """Random client activity with timeouts on an ordered channel keeps the publish order."""
    return play(broker, fresh_ordered_topic, Kind(ordered=True, timed=True), TIMED)


@case("nsq/history/moved", clause="smart.history.kept", needs=("leader-move",), alone=True)
def test_plain_channel_with_leader_moves(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """Random client activity with leader changes on an unordered channel loses no message."""
    return play(broker, wait_for_leader(broker, cluster, movable_topic), Kind(), MOVED, cluster)


@case(
    "nsq/history/moved-ordered", clause="smart.history.order", needs=("leader-move",), alone=True
)
def test_ordered_channel_with_leader_moves(
    broker: Broker, cluster: Cluster, movable_ordered_topic: Topic
) -> Observation:
    """Random client activity with leader changes on an ordered channel keeps the order."""
    return play(
        broker,
        wait_for_leader(broker, cluster, movable_ordered_topic),
        Kind(ordered=True),
        MOVED,
        cluster,
    )
