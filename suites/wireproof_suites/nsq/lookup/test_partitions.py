"""The partitions in a lookup answer, and the nodes that lead them."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.lookup_answers import (
    ALL,
    NONE,
    observe_leading,
    observe_places,
    observe_producers,
    observe_records,
)
from wireproof_suites.nsq.steps.lookup_requests import (
    ACCESS,
    STYLES,
    eventually,
    look,
    with_channel,
)

NUMBERS = {"not-there": "700", "no-number": "abc", "negative": "-1"}


@case("nsq/lookup/partitions", clause="smart.lookup.partitions")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_partitions(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """A lookup lists every partition under its decimal number, and nothing else."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def places() -> Observation:
        return observe_places(look(lookup, topic, v1=v1, access=access), topic)

    return eventually(broker, places, due=[ALL])


@case("nsq/lookup/partitions-ordered", clause="smart.lookup.partitions")
@pytest.mark.parametrize("access", ACCESS)
def test_partitions_of_ordered_topic(
    broker: Broker, lookup: LookupClient, shared_partitioned_ordered_topic: Topic, access: str
) -> Observation:
    """A lookup lists every partition of an ordered topic."""
    topic = shared_partitioned_ordered_topic
    for place in topic.places:
        broker.subscribe(topic.at(place.partition), command="SUB_ORDER", ready=0)

    def places() -> Observation:
        return observe_places(look(lookup, topic, access=access), topic)

    return eventually(broker, places, due=[ALL])


@case("nsq/lookup/one-partition", clause="smart.lookup.partition-parameter")
def test_one_partition(lookup: LookupClient, shared_partitioned_topic: Topic) -> Observation:
    """A lookup for one partition lists that partition only."""
    topic = shared_partitioned_topic
    only = replace(topic, places=topic.places[-1:])
    return observe_places(look(lookup, topic, partition=str(only.places[0].partition)), only)


@case("nsq/lookup/no-partition", clause="smart.lookup.partition-parameter")
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_absent_partition(
    lookup: LookupClient, shared_partitioned_topic: Topic, number: str
) -> Observation:
    """A lookup for a partition that does not exist lists nothing."""
    topic = shared_partitioned_topic
    return observe_places(look(lookup, topic, partition=number), topic)


@case("nsq/lookup/consistent", clause="smart.lookup.partition-parameter")
@pytest.mark.parametrize("access", ACCESS)
def test_consistent(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """A lookup with consistent=true lists every partition."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def places() -> Observation:
        return observe_places(look(lookup, topic, access=access, consistent="true"), topic)

    return eventually(broker, places, due=[ALL])


@case("nsq/lookup/record", clause="smart.lookup.node-record")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_records(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """Each node in a lookup answer has the eight documented fields, with numeric ports."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def records() -> Observation:
        return observe_records(look(lookup, topic, v1=v1, access=access))

    return eventually(broker, records, due=["record"])


@case("nsq/lookup/producers", clause="smart.lookup.producers")
@pytest.mark.parametrize("access", ACCESS)
def test_producers(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """The producers of a lookup answer are the nodes of its partitions, each listed once."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def producers() -> Observation:
        return observe_producers(look(lookup, topic, access=access))

    return eventually(broker, producers, due=["same"])


@case("nsq/lookup/producers-ordered", clause="smart.lookup.producers")
@pytest.mark.parametrize("access", ACCESS)
def test_producers_of_ordered_topic(
    broker: Broker, lookup: LookupClient, shared_partitioned_ordered_topic: Topic, access: str
) -> Observation:
    """The producers of an ordered topic are the nodes of its partitions, each listed once."""
    topic = shared_partitioned_ordered_topic
    for place in topic.places:
        broker.subscribe(topic.at(place.partition), command="SUB_ORDER", ready=0)

    def producers() -> Observation:
        return observe_producers(look(lookup, topic, access=access))

    return eventually(broker, producers, due=["same"])


@case("nsq/lookup/leader", clause="smart.lookup.leader")
@pytest.mark.parametrize("access", ACCESS)
def test_leaders(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """Each partition accepts a message at the address the lookup lists for it."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def find_leaders() -> Observation:
        return observe_leading(broker, topic, look(lookup, topic, access=access))

    return eventually(broker, find_leaders, due=["leads"])


@case("nsq/lookup/leader-of-copies", clause="smart.lookup.leader", needs=("replica",))
@pytest.mark.parametrize("access", ACCESS)
def test_leader_of_copies(
    broker: Broker, lookup: LookupClient, shared_replicated_topic: Topic, access: str
) -> Observation:
    """Of the nodes that store a partition, a lookup lists the leader, which accepts messages."""
    with_channel(broker, shared_replicated_topic)

    def find_leaders() -> Observation:
        return observe_leading(
            broker, shared_replicated_topic, look(lookup, shared_replicated_topic, access=access)
        )

    return eventually(broker, find_leaders, due=["leads"])


@case("nsq/lookup/producers-of-copies", clause="smart.lookup.producers", needs=("replica",))
@pytest.mark.parametrize("access", ACCESS)
def test_producers_of_copies(
    broker: Broker, lookup: LookupClient, shared_replicated_topic: Topic, access: str
) -> Observation:
    """A node that stores only a replica of a partition is not listed as producer."""
    with_channel(broker, shared_replicated_topic)

    def producers() -> Observation:
        return observe_producers(look(lookup, shared_replicated_topic, access=access))

    return eventually(broker, producers, due=["same"])


@case("nsq/lookup/unknown-topic", clause="smart.lookup.unknown-topic")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_unknown_topic(
    lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """A lookup for a topic that does not exist returns no leader."""
    topic = shared_partitioned_topic
    absent = f"{topic.name}_absent"
    return observe_places(look(lookup, absent, v1=v1, access=access), topic)


@case("nsq/lookup/unknown-topic-metainfo", clause="smart.lookup.unknown-topic")
@pytest.mark.parametrize("access", ACCESS)
def test_unknown_topic_with_metainfo(
    lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """A lookup with metainfo for an unknown topic does not create the topic."""
    topic = shared_partitioned_topic
    absent = f"{topic.name}_absent"
    return observe_places(look(lookup, absent, access=access, metainfo="true"), topic)


@case("nsq/lookup/bad-name", clause="smart.lookup.unknown-topic")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_bad_name(lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool) -> Observation:
    """A lookup for an invalid topic name returns no leader."""
    return observe_places(look(lookup, "bad name", v1=v1, access="r"), shared_partitioned_topic)


@case("nsq/lookup/deleted-topic", clause="smart.lookup.unknown-topic")
def test_deleted_topic(
    broker: Broker, lookup: LookupClient, fresh_plain_topic: Topic
) -> Observation:
    """A lookup for a deleted topic returns no leader."""
    topic = fresh_plain_topic
    deleted = lookup.delete(topic.name)
    if deleted.status != 200:
        raise ArrangementFailed(f"deletion was answered {observe_http(deleted).describe()}")
    nobody = [NONE, "http:4*,*", "http:5*,*"]

    def places(access: str) -> Observation:
        return observe_places(look(lookup, topic, access=access), topic)

    seen = eventually(broker, lambda: places("r"), due=nobody)
    return seen if seen.overdue else eventually(broker, lambda: places("w"), due=nobody)
