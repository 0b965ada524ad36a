"""Requests that POST /pub_ext refuses; the server accepts valid requests afterwards."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_absence, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import Headers
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID, X_NSQEXT
from wireproof_suites.nsq.http.pub_ext import post, post_and_receive
from wireproof_suites.nsq.steps.frame_edits import header_of
from wireproof_suites.nsq.steps.publish_results import followed_by, then_others

NOT_AN_OBJECT = {
    "cut": b'{"k":"v"',
    "brace": b"{",
    "no-value": b'{"k":}',
    "comma-at-end": b'{"k":"v",}',
    "name-without-quotes": b'{k:"v"}',
    "text": b"hello",
    "text-behind": b'{"k":"v"}x',
    "two-objects": b"{}{}",
    "comment": b"{/**/}",
    "binary": b"\xff\xfe",
    "array": b'["k","v"]',
    "string": b'"k"',
    "number": b"1",
    "true": b"true",
}

STYLES = {"old": False, "v1": True}

LENGTHS = (255, 256, 4096, 32767, 32768, 65506)

# Such a message is not read: see the longest headers over TCP.
LONG_LENGTHS = (65507, 65535)

# No 2 bytes of length can tell these.
ENDLESS_LENGTHS = (65536, 70000)

ON_PLAIN: dict[str, tuple[dict[str, str], Headers]] = {
    "own-name": ({"k": "v"}, ()),
    "tag": ({CLIENT_DISPATCH_TAG: "t"}, ()),
    "trace-id": ({TRACE_ID: "77"}, ()),
    "request-header": ({}, [(X_NSQEXT + "K", "v")]),
}


@case("nsq/http/header-json", clause="ext.http.header-json")
@pytest.mark.parametrize("ext", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT)
def test_ext_that_is_not_an_object(broker: Broker, ext_topic: Topic, ext: bytes) -> Observation:
    """POST /pub_ext refuses an ext parameter that is not a JSON object."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext=ext))


@case("nsq/http/header-json-then-right", clause="ext.http.header-json")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_right_request_after_a_refused_one(
    broker: Broker, ext_topic: Topic, v1: bool
) -> Observation:
    """A refused POST /pub_ext does not affect the next request."""
    refused = post(broker, ext_topic, broker.unique_body(), ext=b"{", v1=v1)
    right = post(broker, ext_topic, broker.unique_body(), ext={"k": "v"}, v1=v1)

    return followed_by(observe_http(refused), observe_http(right))


@case("nsq/http/header-json-unpublished", clause="ext.http.header-json")
def test_message_under_a_refused_ext(broker: Broker, ext_topic: Topic) -> Observation:
    """A message whose ext parameter is refused is not delivered."""
    refused, sentinel = broker.unique_body(), broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        post(broker, ext_topic, refused, ext=b'{"k":"v"')
        broker.publish_accepted(ext_topic, sentinel, {})

        return observe_absence(consumer.until(sentinel), of=refused)


@case("nsq/http/single-quotes", clause="ext.http.header-json")
def test_single_quotes(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext refuses the published example in single quotes, or takes it as JSON."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext=b"{'k1':'v1'}"))


@case("nsq/http/ext-missing", clause="ext.http.ext-missing")
def test_without_ext(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext without the ext parameter is refused or answered OK."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext=None))


@case("nsq/http/ext-empty", clause="ext.http.ext-missing")
def test_empty_ext(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext with an empty ext parameter is refused with an HTTP error or answered OK."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext=b""))


@case("nsq/http/ext-null", clause="ext.http.ext-missing")
def test_ext_null(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext with ext=null is refused or answered OK."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext=b"null"))


@case("nsq/http/ext-null-and-request-header", clause="ext.http.ext-missing")
def test_ext_null_and_request_header(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext with ext=null and an X-NSQEXT- request header leaves other clients served."""
    headers = [(X_NSQEXT + "K", "v")]
    answer = post(broker, ext_topic, broker.unique_body(), ext=b"null", headers=headers)

    return then_others(observe_http(answer), ext_topic, broker.connect(topic=ext_topic))


@case("nsq/http/ext-missing-request-header", clause="ext.http.ext-missing")
def test_request_header_without_ext(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext with an X-NSQEXT- header but no ext parameter is refused or delivered."""
    headers = [(X_NSQEXT + "K", "v")]

    return post_and_receive(broker, ext_topic, ext=None, headers=headers, stored={"k": "v"})


@case("nsq/http/plain-topic", clause="ext.http.plain-topic")
@pytest.mark.parametrize(("ext", "headers"), ON_PLAIN.values(), ids=ON_PLAIN)
def test_header_on_a_plain_topic(
    broker: Broker, plain_topic: Topic, ext: dict[str, str], headers: Headers
) -> Observation:
    """POST /pub_ext to a topic without the extend feature is refused."""
    body = broker.unique_body()

    return observe_http(post(broker, plain_topic, body, ext=ext, headers=headers))


@case("nsq/http/header-length", clause="ext.parser.header-length", needs=("http",))
@pytest.mark.parametrize("length", LENGTHS)
def test_header_of_length(broker: Broker, ext_topic: Topic, length: int) -> Observation:
    """POST /pub_ext refuses or delivers an ext header of any length; the broker keeps running."""
    observation = post_and_receive(broker, ext_topic, ext=header_of(length))

    return then_others(observation, ext_topic, broker.connect(topic=ext_topic))


@case("nsq/http/header-length-long", clause="ext.parser.header-length", needs=("http",))
@pytest.mark.parametrize("length", LONG_LENGTHS)
def test_header_of_long_length(broker: Broker, fresh_ext_topic: Topic, length: int) -> Observation:
    """POST /pub_ext refuses or accepts a near-maximal header, and the broker keeps running."""
    answer = post(broker, fresh_ext_topic, broker.unique_body(), ext=header_of(length))

    return then_others(
        observe_http(answer), fresh_ext_topic, broker.connect(topic=fresh_ext_topic)
    )


@case("nsq/http/header-length-endless", clause="ext.parser.header-length", needs=("http",))
@pytest.mark.parametrize("length", ENDLESS_LENGTHS)
def test_header_of_impossible_length(
    broker: Broker, fresh_ext_topic: Topic, length: int
) -> Observation:
    """POST /pub_ext refuses an ext header over the maximum length; the broker keeps running."""
    answer = post(broker, fresh_ext_topic, broker.unique_body(), ext=header_of(length))

    return then_others(
        observe_http(answer), fresh_ext_topic, broker.connect(topic=fresh_ext_topic)
    )
