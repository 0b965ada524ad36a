"""Creating topics with extend support over a lookup server."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import CREATE_PATHS, LookupClient
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.limits import MAX_NAME_SIZE
from wireproof_suites.nsq.steps.lookup_answers import observe_extend, observe_meta
from wireproof_suites.nsq.steps.lookup_requests import look, tell
from wireproof_suites.nsq.steps.topic_creation import (
    ONE,
    create,
    create_and_look_up,
    create_and_wait,
    observe_count,
    observe_kind,
)

EXTEND = {"extend": "true"}
MORE: dict[str, dict[str, str]] = {
    "nothing": {},
    "ordered": {"orderedmulti": "true"},
    "multipart": {"multipart": "true"},
}
# No text names these parameters.
PRIVATE = {"ordered": {"orderedmulti": "true"}, "parts": {"multipart": "true"}}
NAMES = {
    "longest": "{}" + "a" * MAX_NAME_SIZE,
    "every-sign": "{}.-_Az09",
    "upper-case": "{}_TOPIC",
}


@case("nsq/create/path", clause="ext.create.extend")
def test_path(lookup: LookupClient, new_topic_name: str) -> Observation:
    """The lookup server creates topics under the published or the deployed path."""
    known: list[str] = []
    for path in reversed(CREATE_PATHS):
        for server in lookup.servers:
            answer = tell(server, path, topic=new_topic_name, **ONE, **EXTEND)
            if answer.status == 200:
                known.append(path.rpartition("/")[2])
                break
    return observed("+".join(known) or "none")


@case("nsq/create/extend", clause="ext.create.extend", waiting=True)
def test_extend(broker: Broker, lookup: LookupClient, new_topic_name: str) -> Observation:
    """A topic created with extend=true accepts and delivers headers."""
    topic = create_and_wait(broker, lookup, new_topic_name, EXTEND)
    return observe_kind(broker, topic) if isinstance(topic, Topic) else topic


@case("nsq/create/extend-meta", clause="ext.create.extend")
@pytest.mark.parametrize("more", [{}], ids=["plain"])
def test_extend_in_meta(
    broker: Broker, lookup: LookupClient, new_topic_name: str, more: dict[str, str]
) -> Observation:
    """The lookup meta of a topic created with extend=true has extend_support set."""
    return create_and_look_up(
        broker, lookup, new_topic_name, {**EXTEND, **more}, observe_extend, due="true"
    )


@case("nsq/create/extend-meta", clause="ext.create.odd")
@pytest.mark.parametrize("more", PRIVATE.values(), ids=PRIVATE)
def test_extend_beside_private_parameters(
    broker: Broker, lookup: LookupClient, new_topic_name: str, more: dict[str, str]
) -> Observation:
    """The lookup meta has extend_support set, whatever private parameter stands beside extend."""
    return create_and_look_up(
        broker, lookup, new_topic_name, {**EXTEND, **more}, observe_extend, due="true"
    )


@case(
    "nsq/create/extend-partitions", clause="ext.create.extend", needs=("partition",), waiting=True
)
def test_extend_everywhere(
    broker: Broker, lookup: LookupClient, new_topic_name: str
) -> Observation:
    """Every partition of a topic created with extend=true accepts and delivers headers."""
    topic = create_and_wait(broker, lookup, new_topic_name, EXTEND, partitions=2)
    return observe_kind(broker, topic) if isinstance(topic, Topic) else topic


@case("nsq/create/no-extend", clause="ext.create.parameters", waiting=True)
@pytest.mark.parametrize("parameters", [{}, {"extend": "false"}], ids=["absent", "false"])
def test_without_extend(
    broker: Broker, lookup: LookupClient, new_topic_name: str, parameters: dict[str, str]
) -> Observation:
    """A topic created without extend, or with extend=false, accepts no headers."""
    topic = create_and_wait(broker, lookup, new_topic_name, parameters)
    return observe_kind(broker, topic) if isinstance(topic, Topic) else topic


@case("nsq/create/partition-num", clause="ext.create.parameters", waiting=True)
def test_one_partition(broker: Broker, lookup: LookupClient, new_topic_name: str) -> Observation:
    """A topic created with partition_num=1 has one partition."""
    topic = create_and_wait(broker, lookup, new_topic_name, EXTEND)
    return observe_count(topic, lookup, due=1) if isinstance(topic, Topic) else topic


@case(
    "nsq/create/partition-num-two",
    clause="ext.create.parameters",
    needs=("partition",),
    waiting=True,
)
@pytest.mark.parametrize("parameters", [{}, EXTEND], ids=["plain", "ext"])
def test_two_partitions(
    broker: Broker, lookup: LookupClient, new_topic_name: str, parameters: dict[str, str]
) -> Observation:
    """A topic created with partition_num=2 has the partitions 0 and 1."""
    topic = create_and_wait(broker, lookup, new_topic_name, parameters, partitions=2)
    if not isinstance(topic, Topic):
        return topic
    if [place.partition for place in topic.places] != [0, 1]:
        return observed("other-numbers")
    return observe_count(topic, lookup, due=2)


@case("nsq/create/replicator", clause="ext.create.parameters")
@pytest.mark.parametrize("parameters", [{}, EXTEND], ids=["plain", "ext"])
def test_replicator(
    broker: Broker, lookup: LookupClient, new_topic_name: str, parameters: dict[str, str]
) -> Observation:
    """A topic created with replicator=1 is stored on one node."""
    return create_and_look_up(broker, lookup, new_topic_name, parameters, one_copy, due="true")


@case("nsq/create/replicator-two", clause="ext.create.parameters", needs=("replica",))
@pytest.mark.parametrize("parameters", [{}, EXTEND], ids=["plain", "ext"])
def test_two_replicas(
    broker: Broker, lookup: LookupClient, new_topic_name: str, parameters: dict[str, str]
) -> Observation:
    """A topic created with replicator=2 is stored on two nodes."""
    wanted = {"replicator": "2", **parameters}
    return create_and_look_up(broker, lookup, new_topic_name, wanted, two_copies, due="true")


@case("nsq/create/topic", clause="ext.create.names", waiting=True)
@pytest.mark.parametrize("pattern", NAMES.values(), ids=NAMES)
def test_topic(
    broker: Broker, lookup: LookupClient, new_topic_name: str, pattern: str
) -> Observation:
    """A created topic has exactly the requested name."""
    name = pattern.format(new_topic_name)[:MAX_NAME_SIZE]
    try:
        topic = create_and_wait(broker, lookup, name, {})
        return observe_kind(broker, topic) if isinstance(topic, Topic) else topic
    finally:
        lookup.delete(name)


@case("nsq/create/others-stay", clause="ext.create.parameters", waiting=True)
def test_others_stay_as_they_are(
    broker: Broker, lookup: LookupClient, fresh_plain_topic: Topic, new_topic_name: str
) -> Observation:
    """Creating an ext topic changes no other topic."""
    create(lookup, new_topic_name, **ONE, **EXTEND)

    return observe_extend(look(lookup, fresh_plain_topic, access="r", metainfo="true"))


def one_copy(answer: HttpAnswer) -> Observation:
    """Compare a lookup's meta with one partition and one replica."""
    return observe_meta(answer, partitions=1, replicas=1)


def two_copies(answer: HttpAnswer) -> Observation:
    """Compare a lookup's meta with one partition and two replicas."""
    return observe_meta(answer, partitions=1, replicas=2)
