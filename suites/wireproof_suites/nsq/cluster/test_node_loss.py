"""A cluster that loses a node, or in which nothing may be written."""

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.waiting import until
from wireproof_suites.nsq.steps.leader_changes import (
    bring_back,
    publish_when_ready,
    story,
    wait_for_leader,
)


@case("nsq/cluster/gone-kept", clause="smart.cluster.gone-kept", alone=True)
def test_node_gone(broker: Broker, cluster: Cluster, movable_topic: Topic) -> Observation:
    """After a leader fails, a replica becomes leader and delivers the acknowledged messages."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    tale = story(broker, topic)
    tale.consumer().close()
    tale.publish(5)
    cluster.node_down(topic)
    leader = cluster.next_leader(topic)
    if leader is None:
        return observed("not-named", overdue=True)
    tale.topic = leader
    return tale.rest(tale.consumer())


@case("nsq/cluster/gone-order", clause="smart.cluster.gone-order", alone=True)
def test_node_of_an_ordered_topic_gone(
    broker: Broker, cluster: Cluster, movable_ordered_topic: Topic
) -> Observation:
    """After the leader of an ordered topic fails, the unfinished messages arrive in order."""
    topic = wait_for_leader(broker, cluster, movable_ordered_topic)
    tale = story(broker, topic)
    with tale.consumer() as consumer:
        tale.publish(5)
        tale.finish(consumer, 1)
    cluster.node_down(topic)
    leader = cluster.next_leader(topic)
    if leader is None:
        return observed("not-named", overdue=True)
    tale.topic = leader
    return tale.rest(tale.consumer())


@case("nsq/cluster/gone-writes", clause="smart.cluster.gone-writes", alone=True)
def test_publish_with_a_node_gone(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """After a leader fails, the new leader accepts and delivers messages."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    cluster.node_down(topic)
    leader = cluster.next_leader(topic)
    if leader is None:
        return observed("not-named", overdue=True)
    tale = story(broker, leader, in_use=False)
    consumer = tale.consumer()
    body = broker.unique_body()
    answer = observe(publish_when_ready(broker, leader, body))
    tale.owed.append(body)
    return tale.rest(consumer) if answer.value == "ok" else answer


@case("nsq/cluster/gone-back", clause="smart.cluster.gone-kept", alone=True)
def test_node_back_and_the_other_gone(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """A node that rejoins delivers messages that were acknowledged while it was away."""
    first = wait_for_leader(broker, cluster, movable_topic)
    tale = story(broker, first)
    tale.publish(2)
    cluster.node_down(first)
    second = cluster.next_leader(first)
    if second is None:
        return observed("not-named", overdue=True)
    tale.topic = second
    for _ in range(3):
        body = broker.unique_body()
        answer = observe(publish_when_ready(broker, second, body))
        if answer.value != "ok":
            return answer
        tale.owed.append(body)
    if not bring_back(cluster, first):
        return observed("not-back")
    cluster.node_down(second)
    third = cluster.next_leader(second)
    if third is None:
        return observed("not-named", overdue=True)
    tale.topic = third
    return tale.rest(tale.consumer())


@case("nsq/cluster/gone-lookup", clause="smart.cluster.gone-lookup", alone=True)
def test_lookup_with_a_node_gone(
    broker: Broker, cluster: Cluster, fresh_plain_topic: Topic
) -> Observation:
    """A lookup with access=w no longer returns a node that has failed."""
    topic = fresh_plain_topic
    _with_channel(broker, topic)
    if cluster.leader_of(topic, access="w") is None:
        return observed("never-named")
    cluster.node_down(topic)

    def look() -> bool | None:
        return None if cluster.leader_of(topic, access="w") else True

    gone = until(look, seconds=broker.patience.seconds(REDELIVERY), every=0.5)
    return observed("not-named" if gone else "named")


@case("nsq/cluster/disabled-lookup", clause="smart.cluster.disabled-lookup", alone=True)
def test_lookup_with_writing_disabled(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """While writing is disabled, lookups return nodes for access=r but not for access=w."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    _with_channel(broker, topic)
    if cluster.leader_of(topic, access="w") is None:
        return observed("never-named")
    cluster.disable_writes()
    names = {access: cluster.leader_of(topic, access=access) for access in "rw"}
    named = "".join(access for access, found in names.items() if found)
    return observed(f"named:{named or 'nobody'}")


@case("nsq/cluster/disabled-publish", clause="smart.cluster.disabled-publish", alone=True)
def test_publish_with_writing_disabled(
    broker: Broker, cluster: Cluster, movable_topic: Topic
) -> Observation:
    """With writing disabled in nsqlookupd, a producer that knows the leader can publish."""
    topic = wait_for_leader(broker, cluster, movable_topic)
    broker.publish_accepted(topic, broker.unique_body())
    cluster.disable_writes()
    return observe(broker.publish(topic, broker.unique_body()))


def _with_channel(broker: Broker, topic: Topic) -> None:
    """Create a channel: without one, some lookup servers name no node to producers."""
    broker.subscribe(topic).close()
