"""Several lookup servers: listlookup lists all of them, and each of them answers lookups."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.answer import read_servers
from wireproof_kit.nsq.lookup.errors import LookupRequest
from wireproof_kit.nsq.lookup.servers import LookupClient, is_same
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.observation import Observation, observed, uncompared
from wireproof_suites.nsq.lookup.lookup_services import is_named, observe_led, observe_service
from wireproof_suites.nsq.steps.lookup_answers import (
    ALL,
    compare_leaders,
    observe_answer,
    observe_leading,
    observe_meta,
    observe_places,
    who_leads,
)
from wireproof_suites.nsq.steps.lookup_requests import (
    ACCESS,
    LIST,
    STYLES,
    ask,
    eventually,
    every_server,
    look,
    with_channel,
)
from wireproof_suites.nsq.steps.topic_creation import ONE, create

SERVICES = ("nodes", "topics", "info")
SEVERAL = ("lookups",)


@case("nsq/lookup/list", clause="smart.lookup.listlookup")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_list(lookup: LookupClient, v1: bool) -> Observation:
    """The /listlookup answer names the HTTP port of every lookup server."""
    answer = ask(lookup, LIST, v1=v1)
    if answer.status != 200 or answer.json is None:
        return observe_http(answer)
    named = [is_named(answer.data, server.address) for server in lookup.servers]
    return observed(ALL if all(named) else "some" if any(named) else "none")


@case("nsq/lookup/list-of-each", clause="smart.lookup.listlookup", needs=SEVERAL)
def test_list_of_each(lookup: LookupClient) -> Observation:
    """The /listlookup answer of every lookup server names every other server."""

    def list_names(server: HttpClient) -> Observation:
        answer = ask(server, LIST)
        if answer.status != 200 or answer.json is None:
            return observe_http(answer)
        found = [is_named(answer.data, other.address) for other in lookup.servers]
        return observed(ALL if all(found) else "some")

    return every_server(lookup, list_names, due=ALL)


@case("nsq/lookup/list-form", clause="smart.lookup.listlookup-form")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_form_of_list(lookup: LookupClient, v1: bool) -> Observation:
    """In /listlookup, ports are strings and names are capitalised as in the published text."""
    return observe_service(ask(lookup, LIST, v1=v1), "listlookup", v1=v1)


@case("nsq/lookup/list-master", clause="smart.lookup.listlookup-form")
def test_master(lookup: LookupClient) -> Observation:
    """All lookup servers name the same master, which is one of the servers listed."""
    answers = [ask(server, LIST) for server in lookup.servers]
    for answer in answers:
        if missing := uncompared(observe_http(answer), "the answer of another lookup server"):
            return missing
    told = [
        read_servers(answer, LookupRequest(server.address, f"GET {LIST}"))
        for server, answer in zip(lookup.servers, answers, strict=True)
    ]
    masters = {servers.master for servers in told}
    if len(masters) > 1:
        return observed("differ").on(*answers)
    master = masters.pop()
    listed = master is not None and any(is_same(each, master) for each in told[0].all)
    return observed("one-of-them" if listed else "no-master" if master is None else "not-listed")


@case("nsq/lookup/each", clause="smart.lookup.slaves", needs=SEVERAL)
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_each_server_answers(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """Every lookup server answers lookups, whether or not it is the master."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def answers(server: HttpClient) -> Observation:
        return observe_answer(look(server, topic, v1=v1, access=access))

    return eventually(broker, lambda: every_server(lookup, answers, due="lookup"), due=["lookup"])


@case("nsq/lookup/each-lists", clause="smart.lookup.agree", needs=SEVERAL)
@pytest.mark.parametrize("access", ACCESS)
def test_each_server_lists_all(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """Every lookup server lists every partition of a topic."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def places(server: HttpClient) -> Observation:
        return observe_places(look(server, topic, access=access), topic)

    return eventually(broker, lambda: every_server(lookup, places, due=ALL), due=[ALL])


@case("nsq/lookup/each-meta", clause="smart.lookup.slaves", needs=SEVERAL)
def test_each_server_has_meta(
    lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """Every lookup server returns the meta of a topic."""
    topic = shared_partitioned_topic

    def meta(server: HttpClient) -> Observation:
        answer = look(server, topic, access="r", metainfo="true")
        return observe_meta(answer, partitions=len(topic.places), replicas=1)

    return every_server(lookup, meta, due="true")


@case("nsq/lookup/each-leads", clause="smart.lookup.slaves", needs=SEVERAL)
def test_each_server_names_leaders(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """The nodes that any lookup server lists accept messages for their partitions."""
    topic = shared_partitioned_topic

    def find_leaders(server: HttpClient) -> Observation:
        return observe_leading(broker, topic, look(server, topic, access="r"))

    return every_server(lookup, find_leaders, due="leads")


@case("nsq/lookup/agree", clause="smart.lookup.agree", needs=SEVERAL)
@pytest.mark.parametrize("access", ACCESS)
def test_servers_agree(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """Taken together, all lookup servers name exactly one node for each partition."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def agree() -> Observation:
        answers = [look(server, topic, access=access) for server in lookup.servers]
        seen = compare_leaders(answers)
        if seen.value != "same":
            return seen
        is_whole = len(who_leads(answers[0])) == len(topic.places)
        return observed("agree" if is_whole else "differ").on(*answers)

    return eventually(broker, agree, due=["agree"])


@case("nsq/lookup/service", clause="smart.lookup.services-form")
@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_service(lookup: LookupClient, name: str, v1: bool) -> Observation:
    """The lookup server answers /nodes, /topics and /info with and without version 1.0."""
    return observe_service(ask(lookup, f"/{name}", v1=v1), name, v1=v1)


@case("nsq/lookup/service-channels", clause="smart.lookup.services")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_channels_service(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """The /channels answer lists the channels of the topic."""
    topic = shared_partitioned_topic
    channel = with_channel(broker, topic)

    def channels() -> Observation:
        answer = ask(lookup, "/channels", v1=v1, topic=topic.name)
        return observe_service(answer, "channels", v1=v1, holding=channel)

    return eventually(broker, channels, due=["service"])


@case("nsq/lookup/service-channels-of-partition", clause="smart.lookup.services-form")
def test_channels_of_partition(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """The /channels answer for one partition lists the channels of that partition."""
    topic = shared_partitioned_topic
    channel = with_channel(broker, topic)

    def channels() -> Observation:
        number = str(topic.partition)
        answer = ask(lookup, "/channels", topic=topic.name, partition=number)
        return observe_service(answer, "channels", v1=True, holding=channel)

    return eventually(broker, channels, due=["service"])


@case("nsq/lookup/service-channels-of-other", clause="smart.lookup.services-form")
def test_channels_of_other_partition(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """The /channels answer for a partition does not list another partition's channels."""
    topic, channel = shared_partitioned_topic, shared_partitioned_topic.channel()
    here, there = (place.partition for place in topic.places[:2])
    broker.subscribe(topic.at(here), channel=channel, ready=0)

    def channels(partition: int) -> Observation:
        answer = ask(lookup, "/channels", topic=topic.name, partition=str(partition))
        return observe_service(answer, "channels", v1=True, holding=channel)

    seen = eventually(broker, lambda: channels(here), due=["service"])
    return channels(there) if seen.value == "service" else observed("never-listed")


@case("nsq/lookup/service-channels-none", clause="smart.lookup.services-form")
@pytest.mark.parametrize("path", ["/topics", "/nodes"], ids=["topics", "nodes"])
def test_service_beside_a_topic_without_channels(
    lookup: LookupClient, new_topic_name: str, path: str
) -> Observation:
    """Requests for /topics and /nodes succeed although one topic has no channels."""
    answer = create(lookup, new_topic_name, **ONE, disable_channel_auto_create="true")
    if answer.status != 200:
        return observe_http(answer)
    look(lookup, new_topic_name, access="w")
    return observe_service(ask(lookup, path), path.strip("/"), v1=True)


@case("nsq/lookup/service-nodes-lead", clause="smart.lookup.services-form")
def test_nodes_and_leaders(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """If the /nodes answer lists partitions, each is listed with the node that leads it."""
    topic = shared_partitioned_topic

    def nodes() -> Observation:
        led = {place.partition: place.address[1] for place in topic.places}
        return observe_led(ask(lookup, "/nodes"), topic, due=led)

    return eventually(broker, nodes, due=["true", "not-told"])


@case("nsq/lookup/service-channels-unknown", clause="smart.lookup.services-form")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_channels_of_unknown_topic(
    lookup: LookupClient, plain_topic: Topic, v1: bool
) -> Observation:
    """The /channels answer for a topic that does not exist lists no channels."""
    absent = f"{plain_topic.name}_absent"
    return observe_service(ask(lookup, "/channels", v1=v1, topic=absent), "channels", v1=v1)


@case("nsq/lookup/service-topics", clause="smart.lookup.services")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_topic_is_listed(lookup: LookupClient, plain_topic: Topic, v1: bool) -> Observation:
    """The /topics answer lists the topic; the lower-case parameter metainfo is ignored."""
    answer = ask(lookup, "/topics", v1=v1, metainfo="true")
    return observe_service(answer, "topics", v1=v1, holding=plain_topic.name)


@case("nsq/lookup/service-topics-meta", clause="smart.lookup.services-form")
def test_topics_with_meta(lookup: LookupClient, plain_topic: Topic) -> Observation:
    """The /topics answer with metaInfo=true lists the topic, with or without its settings."""
    answer = ask(lookup, "/topics", metaInfo="true")
    if isinstance(answer.data, dict) and "meta_info" not in answer.data:
        return observed("no-meta-info")
    return observe_service(answer, "topics", v1=True, holding=plain_topic.name)


@case("nsq/lookup/service-nodes", clause="smart.lookup.services")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_leader_is_a_node(
    lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """The /nodes answer lists the node that leads a partition."""
    port = shared_partitioned_topic.address[1]
    return observe_service(ask(lookup, "/nodes", v1=v1), "nodes", v1=v1, holding=port)


@case("nsq/lookup/service-refused", clause="smart.lookup.services-refused")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_channels_of_nothing(lookup: LookupClient, v1: bool) -> Observation:
    """A /channels request without a topic is refused."""
    return observe_http(ask(lookup, "/channels", v1=v1))


@case("nsq/lookup/service-unknown", clause="smart.lookup.services-refused")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_unknown_path(lookup: LookupClient, v1: bool) -> Observation:
    """A lookup server answers an unknown path with status 404."""
    return observe_http(ask(lookup, "/nosuch", v1=v1))


@case("nsq/lookup/ping", clause="smart.lookup.ping")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_ping(lookup: LookupClient, v1: bool) -> Observation:
    """A lookup server answers /ping with OK, with and without version 1.0."""
    return every_server(
        lookup, lambda server: observe_http(ask(server, "/ping", v1=v1)), due="http:200,ok"
    )
