"""GET /lookup: answered in the form the text shows."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import V1_ACCEPT
from wireproof_suites.nsq.steps.lookup_answers import (
    observe_answer,
    observe_channel,
    observe_envelope,
    observe_form,
    observe_only_channel,
    observe_said,
)
from wireproof_suites.nsq.steps.lookup_requests import (
    ACCESS,
    LOOKUP,
    STYLES,
    eventually,
    every_server,
    first,
    look,
    with_channel,
)

# What a client may say it accepts without asking for version 1.0 to the letter.
OTHER_STYLES = {
    "other-version": V1_ACCEPT.replace("1.0", "2.0"),
    "no-space": V1_ACCEPT.replace(" ", ""),
    "list": f"{V1_ACCEPT}, application/json",
    "anything": "*/*",
}

REFUSED = {
    "no-topic": "",
    "empty-topic": "topic=",
    "bad-escape": "topic=%zz",
    "access-x": "topic=nosuch&access=x",
    "access-rw": "topic=nosuch&access=rw",
}


@case("nsq/lookup/answer", clause="smart.lookup.answer")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_answer(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str, v1: bool
) -> Observation:
    """A lookup answer has the fields channels, partitions and producers."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def answer() -> Observation:
        return observe_answer(look(lookup, topic, v1=v1, access=access, metainfo="true"))

    return eventually(broker, answer, due=["lookup"])


@case("nsq/lookup/consumer", clause="smart.lookup.consumer")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_consumer_without_metainfo(
    lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A lookup with access=r and without metainfo is answered."""
    return observe_answer(look(lookup, shared_partitioned_topic, v1=v1, access="r"))


@case("nsq/lookup/consumer-with-metainfo", clause="smart.lookup.consumer")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_consumer_with_metainfo(
    lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A lookup with access=r and metainfo is answered."""
    topic = shared_partitioned_topic
    return observe_answer(look(lookup, topic, v1=v1, access="r", metainfo="true"))


@case("nsq/lookup/envelope", clause="smart.lookup.envelope")
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("metainfo", ["", "true"], ids=["no-metainfo", "metainfo"])
def test_envelope(
    broker: Broker,
    lookup: LookupClient,
    shared_partitioned_topic: Topic,
    access: str,
    metainfo: str,
) -> Observation:
    """Without the version 1.0 Accept header, an answer has status_code, status_txt and data."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def envelope() -> Observation:
        answer = look(lookup, topic, v1=False, access=access, metainfo=metainfo)
        return observe_envelope(answer)

    return eventually(broker, envelope, due=["wrapped"])


@case("nsq/lookup/v1", clause="smart.lookup.v1")
def test_v1(lookup: LookupClient, shared_partitioned_topic: Topic) -> Observation:
    """With the version 1.0 Accept header, an answer has no envelope and a header that says so."""
    return observe_envelope(look(lookup, shared_partitioned_topic, v1=True, access="r"))


@case("nsq/lookup/other-style", clause="smart.lookup.v1")
@pytest.mark.parametrize("accept", OTHER_STYLES.values(), ids=OTHER_STYLES)
def test_other_accept(
    lookup: LookupClient, shared_partitioned_topic: Topic, accept: str
) -> Observation:
    """Any other Accept header is treated like a request without version 1.0."""
    query = {"topic": shared_partitioned_topic.name}
    headers = [("Accept", accept)]
    return observe_envelope(first(lookup).request("GET", LOOKUP, query=query, headers=headers))


@case("nsq/lookup/channels", clause="smart.lookup.channels")
@pytest.mark.parametrize("access", ACCESS)
def test_channels(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, access: str
) -> Observation:
    """A lookup lists the channels of the topic."""
    topic = shared_partitioned_topic
    channel = with_channel(broker, topic)

    def channels() -> Observation:
        return observe_channel(look(lookup, topic, access=access), channel)

    return eventually(broker, channels, due=["listed"])


@case("nsq/lookup/channels-of-others", clause="smart.lookup.channels")
def test_channels_of_others(
    broker: Broker, lookup: LookupClient, plain_topic: Topic, shared_partitioned_topic: Topic
) -> Observation:
    """A lookup lists a channel only with its own topic."""
    channel = with_channel(broker, plain_topic)

    def channels() -> Observation:
        return observe_channel(look(lookup, plain_topic), channel)

    seen = eventually(broker, channels, due=["listed"])
    if seen.value != "listed":
        return seen
    return observe_channel(look(lookup, shared_partitioned_topic), channel)


@case("nsq/lookup/channels-exactly", clause="smart.lookup.channels")
def test_channels_exactly(
    broker: Broker, lookup: LookupClient, fresh_plain_topic: Topic
) -> Observation:
    """A lookup lists the one channel of a new topic, and no other."""
    channel = with_channel(broker, fresh_plain_topic)

    def channels() -> Observation:
        return observe_only_channel(look(lookup, fresh_plain_topic), channel)

    return eventually(broker, channels, due=["exactly"])


@case("nsq/lookup/method", clause="smart.lookup.refused")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_method(lookup: LookupClient, plain_topic: Topic, method: str) -> Observation:
    """A lookup with an HTTP method other than GET is refused."""
    query = {"topic": plain_topic.name}
    return observe_http(first(lookup).request(method, LOOKUP, query=query))


@case("nsq/lookup/refused", clause="smart.lookup.refused")
@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_refused(lookup: LookupClient, query: str, v1: bool) -> Observation:
    """A lookup without a topic, or with an unknown access value, is refused."""
    return observe_http(first(lookup).request("GET", LOOKUP, query=query, v1=v1))


@case("nsq/lookup/error-form", clause="smart.lookup.error-form")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_form_of_errors(lookup: LookupClient, v1: bool) -> Observation:
    """A lookup error is an HTTP status with a bare message, or status 500 in the old envelope."""
    return observe_form(first(lookup).request("GET", LOOKUP, v1=v1))


@case("nsq/lookup/error-text", clause="smart.lookup.error-form")
@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_text_of_errors(lookup: LookupClient, query: str, v1: bool) -> Observation:
    """Every lookup server gives a reason for refusing a lookup, with and without version 1.0."""
    return every_server(
        lookup,
        lambda server: observe_said(server.request("GET", LOOKUP, query=query, v1=v1)),
        due="said",
    )
