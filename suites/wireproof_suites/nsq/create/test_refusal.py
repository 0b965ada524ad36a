"""Requests to create or change a topic that cannot be granted, and odd ones that may be."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import CREATE_PATHS, DELETE_PATH, UPDATE_PATH, LookupClient
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.limits import MAX_NAME_SIZE
from wireproof_suites.nsq.steps.lookup_answers import (
    observe_extend,
    observe_lists,
    observe_meta,
    observe_places,
)
from wireproof_suites.nsq.steps.lookup_requests import eventually, look, slaves, tell
from wireproof_suites.nsq.steps.topic_creation import (
    ONE,
    create,
    create_and_look_up,
    create_and_wait,
    create_at,
    observe_word,
)

NO_NAME = ""
# A name that cannot be: {} is a new and good one.
NAMES = {
    "missing": NO_NAME,
    "65-letters": "{}" + "a" * (MAX_NAME_SIZE + 1),
    "256-letters": "{}" + "a" * 256,
    "space": "{} b",
    "slash": "{}/b",
}
PARAMETERS: dict[str, dict[str, str]] = {
    "no-partition-num": {"replicator": "1"},
    "partition-num-0": {**ONE, "partition_num": "0"},
    "partition-num-word": {**ONE, "partition_num": "abc"},
    "partition-num-fraction": {**ONE, "partition_num": "1.5"},
    "partition-num-negative": {**ONE, "partition_num": "-1"},
    "partition-num-255": {**ONE, "partition_num": "255"},
    "partition-num-256": {**ONE, "partition_num": "256"},
    "no-replicator": {"partition_num": "1"},
    "replicator-0": {**ONE, "replicator": "0"},
    "replicator-negative": {**ONE, "replicator": "-1"},
    "replicator-6": {**ONE, "replicator": "6"},
    "suggestload-word": {**ONE, "suggestload": "-1x"},
    "suggestload-10001": {**ONE, "suggestload": "10001"},
    "syncdisk-word": {**ONE, "syncdisk": "abc"},
    "retention-word": {**ONE, "retention": "abc"},
}
ODD: dict[str, dict[str, str]] = {
    "extend-upper-case": {"extend": "TRUE"},
    "extend-1": {"extend": "1"},
    "syncdisk-100000": {"syncdisk": "100000"},
    "syncdisk-negative": {"syncdisk": "-5"},
    "retention-1000": {"retention": "1000"},
    "retention-negative": {"retention": "-1"},
    "all-optional": {"syncdisk": "1", "retention": "3", "suggestload": "10000"},
    "unknown-parameter": {"nosuchparam": "1"},
    "multipart": {"multipart": "true"},
}


@case("nsq/create/bad-topic", clause="ext.create.refused")
@pytest.mark.parametrize("pattern", NAMES.values(), ids=NAMES)
def test_bad_topic(lookup: LookupClient, new_topic_name: str, pattern: str) -> Observation:
    """Creating a topic with a missing or illegal name is refused."""
    return observe_http(create(lookup, pattern.format(new_topic_name), **ONE))


@case("nsq/create/bad-parameter", clause="ext.create.refused")
@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_bad_parameter(
    lookup: LookupClient, new_topic_name: str, parameters: dict[str, str]
) -> Observation:
    """/topic/create with a missing, non-numeric or out-of-range parameter is refused."""
    return observe_http(create(lookup, new_topic_name, **parameters))


@case("nsq/create/parameters-in-body", clause="ext.create.refused")
def test_parameters_in_body(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Creation parameters are read from the query string only, not from the request body."""
    body = f"topic={new_topic_name}&partition_num=1&replicator=1".encode()
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    answers = [
        server.request("POST", CREATE_PATHS[0], headers=form, body=body, v1=True)
        for server in lookup.servers
    ]
    return observe_http(answers[0])


@case("nsq/create/refused-makes-none", clause="ext.create.refused")
def test_refused_creation_makes_none(
    lookup: LookupClient, new_topic_name: str, plain_topic: Topic
) -> Observation:
    """After the creation of a topic was refused, the topic does not exist."""
    create(lookup, new_topic_name, partition_num="0", replicator="1")

    return observe_places(look(lookup, new_topic_name, access="r"), plain_topic)


@case("nsq/create/too-many-replicas", clause="ext.create.capacity")
def test_too_many_replicas(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Creating a topic with more replicas than there are nodes is refused."""
    replicas = min(lookup.node_count() + 1, 5)
    if replicas <= lookup.node_count():
        return observed("enough-nodes")
    return observe_http(
        create(lookup, new_topic_name, partition_num="1", replicator=str(replicas))
    )


@case("nsq/create/too-many-partitions", clause="ext.create.capacity")
def test_too_many_partitions(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Creating an unordered topic with more partitions than nodes is refused."""
    partitions = str(lookup.node_count() + 1)
    return observe_http(create(lookup, new_topic_name, partition_num=partitions, replicator="1"))


@case("nsq/create/many-partitions", clause="ext.create.capacity", waiting=True)
@pytest.mark.parametrize("kind", ["orderedmulti", "multipart"])
def test_many_partitions(
    broker: Broker, lookup: LookupClient, new_topic_name: str, kind: str
) -> Observation:
    """An orderedmulti or multipart topic may have more partitions than there are nodes."""
    partitions = lookup.node_count() + 1
    topic = create_and_wait(broker, lookup, new_topic_name, {kind: "true"}, partitions=partitions)
    return observed("created") if isinstance(topic, Topic) else topic


@case("nsq/create/get", clause="ext.create.method")
def test_get(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Creating a topic with GET is refused."""
    return observe_http(create(lookup, new_topic_name, "GET", **ONE))


@case("nsq/create/put", clause="ext.create.method")
def test_put(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Creating a topic with PUT succeeds or is refused."""
    return observe_word(create(lookup, new_topic_name, "PUT", **ONE))


@case("nsq/create/odd", clause="ext.create.odd")
@pytest.mark.parametrize("parameters", ODD.values(), ids=ODD)
def test_odd(
    broker: Broker, lookup: LookupClient, new_topic_name: str, parameters: dict[str, str]
) -> Observation:
    """A plain topic is created although the request has unknown parameters."""
    return create_and_look_up(
        broker, lookup, new_topic_name, parameters, plain_of_one, due="plain"
    )


@case("nsq/create/no-auto-channels", clause="ext.create.odd", waiting=True)
def test_channels_not_made(
    broker: Broker, lookup: LookupClient, new_topic_name: str
) -> Observation:
    """A topic created with automatic channel creation disabled is listed by a lookup."""
    answer = create(lookup, new_topic_name, **ONE, disable_channel_auto_create="true")
    if answer.status != 200:
        return observe_http(answer)

    def lists() -> Observation:
        return observe_lists(look(lookup, new_topic_name, access="r"))

    return eventually(broker, lists, due=["filled"])


@case("nsq/create/again", clause="ext.create.again")
def test_again(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Repeating the same request to create a topic succeeds."""
    create(lookup, new_topic_name, **ONE)

    return observe_word(create(lookup, new_topic_name, **ONE))


@case("nsq/create/again-other", clause="ext.create.again")
def test_again_with_other_parameters(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Creating an existing topic with other parameters is refused."""
    create(lookup, new_topic_name, **ONE)

    return observe_http(create(lookup, new_topic_name, **ONE, extend="true"))


@case("nsq/create/slave", clause="ext.create.slave", needs=("lookups",))
def test_creation_at_slave(lookup: LookupClient, new_topic_name: str) -> Observation:
    """A lookup server that is not the master refuses a creation or has the master perform it."""
    return observe_http(create_at(slaves(lookup)[0], new_topic_name, **ONE))


@case("nsq/create/slave-update", clause="ext.create.slave", needs=("lookups",))
def test_update_at_slave(lookup: LookupClient, plain_topic: Topic) -> Observation:
    """A lookup server that is not the master refuses an update or has the master perform it."""
    slave = slaves(lookup)[0]
    return observe_http(tell(slave, UPDATE_PATH, topic=plain_topic.name, upgradeext="false"))


@case("nsq/create/slave-delete", clause="ext.create.slave", needs=("lookups",))
def test_deletion_at_slave(lookup: LookupClient, fresh_plain_topic: Topic) -> Observation:
    """A lookup server that is not the master refuses a deletion or has the master perform it."""
    slave = slaves(lookup)[0]
    return observe_http(tell(slave, DELETE_PATH, topic=fresh_plain_topic.name, partition="**"))


def plain_of_one(answer: HttpAnswer) -> Observation:
    """Return ``plain`` if a lookup's meta has one partition and no ext, else what differs."""
    seen = observe_meta(answer, partitions=1, replicas=1)
    if seen.value != "true":
        return seen
    extend = observe_extend(answer)
    return observed("plain") if extend.value in ("false", "absent") else extend
