"""Lookups with metainfo: partitions of a topic, nodes for each partition, and features."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.lookup_answers import observe_extend, observe_meta
from wireproof_suites.nsq.steps.lookup_requests import (
    ACCESS,
    STYLES,
    eventually,
    look,
    with_channel,
)

ASKED = "true"


@case("nsq/lookup/metainfo", clause="smart.lookup.metainfo")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_metainfo(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """/lookup with metainfo=true returns the topic's number of partitions and replicas in meta."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def meta() -> Observation:
        answer = look(lookup, topic, v1=v1, access=access, metainfo=ASKED)
        return observe_meta(answer, partitions=len(topic.places), replicas=1)

    return eventually(broker, meta, due=["true"])


@case("nsq/lookup/metainfo-ordered", clause="smart.lookup.metainfo")
def test_metainfo_of_ordered_topic(
    lookup: LookupClient, shared_partitioned_ordered_topic: Topic
) -> Observation:
    """The meta of an ordered topic has the number of partitions and replicas."""
    topic = shared_partitioned_ordered_topic
    answer = look(lookup, topic, access="r", metainfo=ASKED)
    return observe_meta(answer, partitions=len(topic.places), replicas=1)


@case("nsq/lookup/metainfo-copies", clause="smart.lookup.metainfo", needs=("replica",))
def test_metainfo_of_copies(lookup: LookupClient, shared_replicated_topic: Topic) -> Observation:
    """The meta of a topic on two nodes has a replica count of 2."""
    answer = look(lookup, shared_replicated_topic, access="r", metainfo=ASKED)
    return observe_meta(answer, partitions=len(shared_replicated_topic.places), replicas=2)


@case("nsq/lookup/no-metainfo", clause="smart.lookup.metainfo-unasked")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_no_metainfo(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """A lookup without metainfo returns no meta."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def meta() -> Observation:
        answer = look(lookup, topic, v1=v1, access=access)
        return observe_meta(answer, partitions=len(topic.places), replicas=1)

    return eventually(broker, meta, due=["no-meta"])


@case("nsq/lookup/metainfo-empty", clause="smart.lookup.metainfo-unasked")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_empty_metainfo(
    lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A lookup with an empty metainfo parameter returns no meta."""
    topic = shared_partitioned_topic
    answer = look(lookup, topic, v1=v1, access="r", metainfo="")
    return observe_meta(answer, partitions=len(topic.places), replicas=1)


@case("nsq/lookup/metainfo-false", clause="smart.lookup.metainfo-unasked")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_metainfo_false(
    lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A lookup with any non-empty metainfo value returns meta, even "false"."""
    topic = shared_partitioned_topic
    answer = look(lookup, topic, v1=v1, access="r", metainfo="false")
    return observe_meta(answer, partitions=len(topic.places), replicas=1)


@case("nsq/lookup/extend", clause="ext.lookup.extend-support")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_extend_support(
    broker: Broker, lookup: LookupClient, ext_topic: Topic, access: str, v1: bool
) -> Observation:
    """The meta of an ext topic has extend_support true."""
    with_channel(broker, ext_topic)

    def extend() -> Observation:
        return observe_extend(look(lookup, ext_topic, v1=v1, access=access, metainfo=ASKED))

    return eventually(broker, extend, due=["true"])


@case("nsq/lookup/extend-partitioned", clause="ext.lookup.extend-support")
def test_extend_support_of_partitions(
    lookup: LookupClient, shared_partitioned_ext_topic: Topic
) -> Observation:
    """The meta of an ext topic with several partitions has extend_support true."""
    return observe_extend(look(lookup, shared_partitioned_ext_topic, access="r", metainfo=ASKED))


@case("nsq/lookup/extend-plain", clause="ext.lookup.extend-support")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_no_extend_support(lookup: LookupClient, plain_topic: Topic, v1: bool) -> Observation:
    """The meta of a plain topic does not have extend_support true."""
    return observe_extend(look(lookup, plain_topic, v1=v1, access="r", metainfo=ASKED))


@case(
    "nsq/lookup/extend-upgraded",
    clause="ext.lookup.extend-support",
    needs=("upgrade",),
    waiting=True,
)
def test_extend_support_after_upgrade(
    broker: Broker, lookup: LookupClient, upgradable_topic: Topic
) -> Observation:
    """After a topic is upgraded to extend support, its lookup meta has extend_support true."""
    broker.upgrade(upgradable_topic)

    def extend() -> Observation:
        return observe_extend(look(lookup, upgradable_topic, access="r", metainfo=ASKED))

    return eventually(broker, extend, due=["true"])


@case("nsq/lookup/extend-meta", clause="ext.lookup.meta-fields")
@pytest.mark.parametrize("access", ACCESS)
def test_meta_of_ext_topic(
    broker: Broker, lookup: LookupClient, shared_partitioned_ext_topic: Topic, access: str
) -> Observation:
    """The meta of an ext topic has partition and replica counts beside extend_support."""
    topic = shared_partitioned_ext_topic
    with_channel(broker, topic)

    def meta() -> Observation:
        answer = look(lookup, topic, access=access, metainfo=ASKED)
        return observe_meta(answer, partitions=len(topic.places), replicas=1)

    return eventually(broker, meta, due=["true"])


@case("nsq/lookup/ordered-ext-meta", clause="ext.lookup.meta-fields")
def test_meta_of_ordered_ext_topic(
    lookup: LookupClient, fresh_ordered_ext_topic: Topic
) -> Observation:
    """The meta of an ordered ext topic has the number of partitions and replicas."""
    topic = fresh_ordered_ext_topic
    answer = look(lookup, topic, access="r", metainfo=ASKED)
    return observe_meta(answer, partitions=len(topic.places), replicas=1)
