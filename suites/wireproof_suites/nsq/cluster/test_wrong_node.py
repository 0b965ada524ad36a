"""Requests that a node must refuse: it does not lead the partition, or does not have it."""

from collections.abc import Callable, Mapping

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.observe.observations import observe, observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.waiting import until
from wireproof_suites.nsq.steps.leader_changes import ask_at, publish_when_ready

TRACE_ID = 77
PUBLISHES: Mapping[str, Callable[[Topic, bytes], Outgoing]] = {
    "pub": lambda topic, body: frames.pub(topic, body),
    "pub-trace": lambda topic, body: frames.pub_trace(topic, TRACE_ID, body),
    "mpub": lambda topic, body: frames.mpub(topic, [body, body]),
}
NEEDED = {"mpub": ("batch",), "pub-trace": ("trace",)}
EVERY_PUBLISH = pytest.mark.parametrize("command", PUBLISHES)


@case("nsq/cluster/not-leader", clause="smart.cluster.not-leader", needs_of=NEEDED)
@EVERY_PUBLISH
def test_publish_to_a_follower(
    broker: Broker, cluster: Cluster, shared_replicated_topic: Topic, command: str
) -> Observation:
    """A node refuses publishes to a partition it does not lead."""
    topic = cluster.elsewhere(shared_replicated_topic)
    return ask_at(broker, topic, PUBLISHES[command](topic, broker.unique_body()))


@case("nsq/cluster/not-leader-ext", clause="smart.cluster.not-leader", needs=("ext",))
def test_publish_with_header_to_a_follower(
    broker: Broker, cluster: Cluster, replicated_ext_topic: Topic
) -> Observation:
    """A node refuses PUB_EXT for a partition that it does not lead."""
    topic = cluster.elsewhere(replicated_ext_topic)
    return ask_at(broker, topic, frames.pub_ext(topic, {"k": "v"}, broker.unique_body()))


@case("nsq/cluster/not-leader-again", clause="smart.cluster.not-leader")
def test_publish_to_a_follower_again(
    broker: Broker, cluster: Cluster, shared_replicated_topic: Topic
) -> Observation:
    """A follower still refuses publishes after the leader has accepted some."""
    topic = cluster.elsewhere(shared_replicated_topic)
    first = ask_at(broker, topic, frames.pub(topic, broker.unique_body()))
    broker.publish_accepted(shared_replicated_topic, broker.unique_body())
    second = ask_at(broker, topic, frames.pub(topic, broker.unique_body()))
    return second if second.value != first.value else first


@case("nsq/cluster/not-leader-stored", clause="smart.cluster.not-leader-stored")
def test_refused_message_is_not_delivered(
    broker: Broker, cluster: Cluster, shared_replicated_topic: Topic
) -> Observation:
    """The leader does not deliver a message that a follower refused."""
    elsewhere = cluster.elsewhere(shared_replicated_topic)
    consumer = broker.subscribe(shared_replicated_topic, ready=50)
    refused, sentinel = broker.unique_body(), broker.unique_body()
    if ask_at(broker, elsewhere, frames.pub(elsewhere, refused)).value == "ok":
        return observed("ok")
    broker.publish_accepted(shared_replicated_topic, sentinel)
    return observe_absence(consumer.until(sentinel), of=refused)


@case("nsq/cluster/sub-not-leader", clause="smart.cluster.sub-not-leader")
def test_subscribe_at_a_follower(
    broker: Broker, cluster: Cluster, shared_replicated_topic: Topic
) -> Observation:
    """A node refuses subscriptions to a partition it does not lead."""
    topic = cluster.elsewhere(shared_replicated_topic)
    return ask_at(broker, topic, frames.subscribe(topic, topic.channel()))


@case("nsq/cluster/elsewhere", clause="smart.cluster.elsewhere", needs_of=NEEDED)
@EVERY_PUBLISH
def test_publish_to_a_node_without_the_partition(
    broker: Broker, cluster: Cluster, shared_partitioned_topic: Topic, command: str
) -> Observation:
    """A node refuses publishes to a partition it does not hold."""
    topic = cluster.elsewhere(shared_partitioned_topic)
    return ask_at(broker, topic, PUBLISHES[command](topic, broker.unique_body()))


@case("nsq/cluster/sub-elsewhere", clause="smart.cluster.sub-elsewhere")
def test_subscribe_at_a_node_without_the_partition(
    broker: Broker, cluster: Cluster, shared_partitioned_topic: Topic
) -> Observation:
    """A node refuses subscriptions to a partition it does not hold."""
    topic = cluster.elsewhere(shared_partitioned_topic)
    return ask_at(broker, topic, frames.subscribe(topic, topic.channel()))


@case("nsq/cluster/not-writable", clause="smart.cluster.not-writable", needs_of=NEEDED)
@EVERY_PUBLISH
def test_publish_to_an_unwritable_partition(
    broker: Broker, cluster: Cluster, fresh_plain_topic: Topic, command: str
) -> Observation:
    """The broker refuses publishes to a partition that is not writable."""
    topic = fresh_plain_topic
    cluster.make_unwritable(topic)
    return ask_at(broker, topic, PUBLISHES[command](topic, broker.unique_body()))


@case("nsq/lookup/unwritable", clause="smart.lookup.access", needs=("unwritable",), waiting=True)
def test_lookup_of_an_unwritable_partition(
    broker: Broker, cluster: Cluster, fresh_plain_topic: Topic
) -> Observation:
    """A partition that is not writable is listed for access=r but not for access=w."""
    topic = fresh_plain_topic
    broker.subscribe(topic).close()
    if cluster.leader_of(topic, access="w") is None:
        return observed("never-named")
    cluster.make_unwritable(topic)

    def look() -> bool | None:
        return None if cluster.leader_of(topic, access="w") else True

    if not until(look, seconds=broker.patience.settling_seconds(), every=0.5):
        return observed("named:w", overdue=True)
    return observed("named:r" if cluster.leader_of(topic, access="r") else "named:nobody")


@case("nsq/cluster/writable-again", clause="smart.cluster.writable-again")
def test_publish_to_a_partition_that_is_writable_again(
    broker: Broker, cluster: Cluster, fresh_plain_topic: Topic
) -> Observation:
    """A partition accepts messages once it is writable again."""
    topic = fresh_plain_topic
    cluster.make_unwritable(topic)
    broker.publish(topic, broker.unique_body())
    cluster.make_writable(topic)
    return observe(publish_when_ready(broker, topic, broker.unique_body()))


@case("nsq/cluster/unwritable-read", clause="smart.cluster.unwritable-read", waiting=True)
def test_read_an_unwritable_partition(
    broker: Broker, cluster: Cluster, fresh_plain_topic: Topic
) -> Observation:
    """A partition that is not writable still delivers the messages acknowledged before."""
    topic = fresh_plain_topic
    consumer = broker.subscribe(topic, ready=0)
    body = broker.unique_body()
    broker.publish_accepted(topic, body)
    cluster.make_unwritable(topic)
    consumer.connection.send(frames.rdy(1))
    delivery = consumer.next(body)
    return observed("delivered") if delivery else observed("missing", overdue=True)


@case("nsq/cluster/named", clause="smart.cluster.named", waiting=True)
def test_nodes_named_by_lookups(
    broker: Broker, cluster: Cluster, partitioned_topic: Topic
) -> Observation:
    """The node that a lookup returns for a partition accepts and delivers its messages."""
    for place in partitioned_topic.places:
        named = cluster.leader_of(partitioned_topic.at(place.partition))
        if named is None:
            return observed("not-named")
        seen = ask_at(broker, named, frames.subscribe(named, named.channel()))
        if seen.value != "ok":
            return seen
        consumer = broker.subscribe(named)
        body = broker.unique_body()
        answer = observe(broker.publish(named, body))
        if answer.value != "ok":
            return answer
        if consumer.next(body) is None:
            return observed("missing", overdue=True)
    return observed("all")
