"""A partition whose leader moves to another node that keeps it."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_suites.nsq.steps.leader_changes import (
    ask_at,
    publish_when_ready,
    story,
    subscribe_when_ready,
    wait_for_leader,
    wait_until_named,
)
from wireproof_suites.nsq.steps.trace_responses import read_trace, unread

TRACE_ID = 77


@case("nsq/cluster/moved-lookup", clause="smart.cluster.moved-lookup", alone=True)
@pytest.mark.parametrize("access", ["r", "w"])
def test_lookup_after_a_move(
    broker: Broker, cluster: Cluster, movable_topic: Topic, access: str
) -> Observation:
    """After a leader change, lookups return the new leader."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    consumer = broker.subscribe(topic)
    # Cases before may have moved the leader as well; of two nodes a wrong one is soon right again.
    found = wait_until_named(broker, cluster, topic, access=access)
    if found:
        cluster.begin_move(topic)
        found = cluster.next_leader(topic, access=access)
    consumer.close()
    if found is None:
        return observed("not-named", overdue=True)
    leader = wait_for_leader(broker, cluster, found)
    # A measured server names the old one again for a moment, once it has named the new one.
    is_named = wait_until_named(broker, cluster, leader, access=access) is not None
    return observed("named" if is_named else "another-named")


@case("nsq/cluster/moved-writes", clause="smart.cluster.moved-writes", alone=True)
def test_publish_to_the_new_leader(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """After a leader change, the new leader accepts and delivers messages."""
    moved = cluster.move_leader(wait_for_leader(broker, cluster, movable_topic))
    topic = wait_for_leader(broker, cluster, moved)
    consumer = subscribe_when_ready(broker, topic)
    body = broker.unique_body()
    answer = observe(publish_when_ready(broker, topic, body))
    if answer.value != "ok":
        return answer
    delivery = consumer.next(body, REDELIVERY)
    return observed("delivered") if delivery else observed("missing", overdue=True)


@case("nsq/cluster/moved-kept", clause="smart.cluster.moved-kept", alone=True)
def test_messages_from_before_a_move(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """The new leader delivers messages that the old leader acknowledged and no client finished."""
    tale = story(broker, wait_for_leader(broker, cluster, movable_topic))
    with tale.consumer() as consumer:
        tale.publish(5)
        tale.finish(consumer, 2)
        tale.move(cluster)
    return tale.rest(tale.consumer())


@case("nsq/cluster/moved-kept-unread", clause="smart.cluster.moved-kept", alone=True)
def test_unread_messages_from_before_a_move(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """The new leader delivers messages the old leader never sent to a client, and its own."""
    tale = story(broker, wait_for_leader(broker, cluster, movable_topic))
    tale.consumer().close()
    tale.publish(3)
    tale.move(cluster)
    consumer = tale.consumer()
    body = broker.unique_body()
    answer = observe(publish_when_ready(broker, tale.topic, body))
    if answer.value != "ok":
        return answer
    tale.owed.append(body)
    return tale.rest(consumer)


@case("nsq/cluster/moved-kept-twice", clause="smart.cluster.moved-kept", alone=True)
def test_messages_from_before_two_moves(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """After a partition's leader moves away and back, all acknowledged messages are delivered."""
    tale = story(broker, wait_for_leader(broker, cluster, movable_topic))
    tale.consumer().close()
    tale.publish(2)
    tale.move(cluster)
    body = broker.unique_body()
    if observe(publish_when_ready(broker, tale.topic, body)).value == "ok":
        tale.owed.append(body)
    tale.move(cluster)
    return tale.rest(tale.consumer())


@case("nsq/cluster/moved-order", clause="smart.cluster.moved-order", alone=True)
@pytest.mark.parametrize("finished", [0, 2], ids=["unread", "half-read"])
def test_order_over_a_move(
    broker: Broker, cluster: Cluster, movable_ordered_topic: Topic, finished: int
) -> Observation:
    """On an ordered topic, the new leader continues delivery in publish order."""
    tale = story(broker, wait_for_leader(broker, cluster, movable_ordered_topic))
    with tale.consumer() as consumer:
        tale.publish(5)
        tale.finish(consumer, finished)
        tale.move(cluster)
    return tale.rest(tale.consumer())


@case("nsq/cluster/moved-ids", clause="smart.cluster.moved-ids", alone=True)
def test_ids_over_a_move(broker: Broker, cluster: Cluster, movable_topic: Topic) -> Observation:
    """The new leader assigns internal ids and offsets above those of the old leader."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    answers = [broker.publish(topic, broker.unique_body(), trace_id=TRACE_ID) for _ in range(3)]
    topic = cluster.move_leader(topic)
    answers += [
        publish_when_ready(broker, topic, broker.unique_body(), TRACE_ID) for _ in range(2)
    ]
    read = [read_trace(answer) for answer in answers]
    found = [each for each in read if each is not None]
    if len(found) < len(answers):
        return unread(answers, observed("no-trace"))
    ids = [each.internal_id for each in found]
    offsets = [each.disk_queue_offset for each in found]
    words = [word for word, values in (("ids", ids), ("offsets", offsets)) if _falls(values)]
    return observed("increasing" if not words else f"{'-and-'.join(words)}-fall-back")


@case("nsq/cluster/moved-old", clause="smart.cluster.moved-old", alone=True)
@pytest.mark.parametrize("connection", ["new", "held"])
def test_publish_to_the_old_leader(
    broker: Broker, cluster: Cluster, movable_topic: Topic, connection: str
) -> Observation:
    """The old leader refuses publishes on new and on already open connections."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    with broker.connect(topic=topic) as held:
        held.ask(frames.pub(topic, broker.unique_body()))
        cluster.move_leader(topic)
        frame = frames.pub(topic, broker.unique_body())
        return observe(held.ask(frame)) if connection == "held" else ask_at(broker, topic, frame)


@case("nsq/cluster/moved-consumer", clause="smart.cluster.moved-consumer", alone=True)
def test_subscription_at_the_old_leader(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """The old leader disconnects its subscribed clients after a leader change."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    consumer = broker.subscribe(topic)
    cluster.move_leader(topic)
    delivery = consumer.next(wait=REDELIVERY)
    if delivery is not None:
        return observed("message")
    return observed("closed" if consumer.ended else "kept")


@case("nsq/cluster/moved-new-channel", clause="smart.cluster.moved-new-channel", alone=True)
def test_new_channel_over_a_move(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """The new leader serves a channel that was subscribed to but unused before the change."""
    tale = story(broker, wait_for_leader(broker, cluster, movable_topic), in_use=False)
    with tale.consumer():
        tale.publish(3)
        tale.move(cluster)
    with tale.consumer() as consumer:
        return tale.last(consumer)


def _falls(values: list[int]) -> bool:
    return values != sorted(set(values))
