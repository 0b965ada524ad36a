"""X-NSQEXT- request headers: added to the header of the message, names in lower case."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID, X_NSQEXT
from wireproof_suites.nsq.http.pub_ext import (
    observe_http_trace,
    post,
    post_and_read,
    post_and_receive,
)
from wireproof_suites.nsq.steps.frame_edits import header_of
from wireproof_suites.nsq.steps.publish_results import then_others

EXT = {"k": "v"}

# The name of a request header behind X-NSQEXT-, and the name due in the message's header.
NAMES = {
    "lower-case": ("abc", "abc"),
    "upper-case": ("ABC", "abc"),
    "mixed-case": ("aBc", "abc"),
    "hyphen": ("My-Key", "my-key"),
    "underscore": ("My_Key", "my_key"),
    "digits": ("K9", "k9"),
    "number-sign": ("#A", "#a"),
    "one-letter": ("Z", "z"),
    "prefix-again": ("X-NSQEXT-A", "x-nsqext-a"),
    "tag": (CLIENT_DISPATCH_TAG, CLIENT_DISPATCH_TAG),
}

VALUES = {
    "mixed-case": "MiXed",
    "digits": "123",
    "word-true": "true",
    "word-null": "null",
    "json-object": '{"a":1}',
    "quotes": 'say "hi"',
    "backslash": "a\\b",
    "comma": "a, b",
    "semicolon": "a; b=c",
    "percent": "%41+100%",
    "html": "<&>",
    "empty": "",
}

SPELLINGS = {
    "lower-case": "x-nsqext-abc",
    "mixed-case": "X-NsqExt-Abc",
    "upper-case": "X-NSQEXT-ABC",
}

OTHERS = {
    "other-header": "X-Other",
    "almost-the-prefix": "X-NSQEX-abc",
    "prefix-inside": "Y-X-NSQEXT-abc",
    "no-hyphen": "X-NSQEXTabc",
}

BAD_NAMES = {"full-stop": "a.b", "exclamation-mark": "a!b", "tilde": "a~b", "bar": "a|b"}


@case("nsq/http/x-nsqext", clause="ext.http.x-nsqext")
@pytest.mark.parametrize(("name", "due"), NAMES.values(), ids=NAMES)
def test_name_of_a_request_header(
    broker: Broker, ext_topic: Topic, name: str, due: str
) -> Observation:
    """The rest of an X-NSQEXT- request header name, in lower case, is a message header name."""
    return post_and_receive(
        broker, ext_topic, ext=EXT, headers=[(X_NSQEXT + name, "w")], stored={**EXT, due: "w"}
    )


@case("nsq/http/x-nsqext-prefix", clause="ext.http.x-nsqext")
@pytest.mark.parametrize("name", SPELLINGS.values(), ids=SPELLINGS)
def test_prefix_in_any_case(broker: Broker, ext_topic: Topic, name: str) -> Observation:
    """The X-NSQEXT- prefix of a request header is recognised in any letter case."""
    return post_and_receive(
        broker, ext_topic, ext=EXT, headers=[(name, "w")], stored={**EXT, "abc": "w"}
    )


@case("nsq/http/x-nsqext-value", clause="ext.http.x-nsqext")
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_value_of_a_request_header(broker: Broker, ext_topic: Topic, value: str) -> Observation:
    """The value of an X-NSQEXT- request header becomes an unchanged JSON string."""
    return post_and_receive(
        broker, ext_topic, ext=EXT, headers=[(X_NSQEXT + "a", value)], stored={**EXT, "a": value}
    )


@case("nsq/http/x-nsqext-several", clause="ext.http.x-nsqext")
def test_several_request_headers(broker: Broker, ext_topic: Topic) -> Observation:
    """Every X-NSQEXT- request header is added to the message header."""
    headers = [(f"{X_NSQEXT}Name-{number}", str(number)) for number in range(5)]
    added = {f"name-{number}": str(number) for number in range(5)}

    return post_and_receive(broker, ext_topic, ext=EXT, headers=headers, stored={**EXT, **added})


@case("nsq/http/x-nsqext-traced", clause="ext.http.x-nsqext")
def test_request_header_of_a_traced_message(broker: Broker, ext_topic: Topic) -> Observation:
    """An X-NSQEXT- request header is added to the header of a message with a trace id."""
    ext = {**EXT, TRACE_ID: "77"}

    return post_and_receive(
        broker, ext_topic, ext=ext, headers=[(X_NSQEXT + "A", "w")], stored={**ext, "a": "w"}
    )


@case("nsq/http/x-nsqext-alone", clause="ext.http.x-nsqext")
def test_request_header_beside_an_empty_ext(broker: Broker, ext_topic: Topic) -> Observation:
    """An X-NSQEXT- request header is added to an empty ext object."""
    return post_and_receive(
        broker, ext_topic, ext={}, headers=[(X_NSQEXT + "A", "w")], stored={"a": "w"}
    )


@case("nsq/http/x-nsqext-others", clause="ext.http.x-nsqext")
@pytest.mark.parametrize("name", OTHERS.values(), ids=OTHERS)
def test_other_request_headers(broker: Broker, ext_topic: Topic, name: str) -> Observation:
    """A request header without the X-NSQEXT- prefix is not added to the message header."""
    return post_and_receive(broker, ext_topic, ext=EXT, headers=[(name, "w")], stored=EXT)


@case("nsq/http/x-nsqext-trace", clause="ext.http.x-nsqext")
def test_trace_id_in_a_request_header(broker: Broker, ext_topic: Topic) -> Observation:
    """A trace id given in an X-NSQEXT- request header gets a trace answer."""
    headers = [(X_NSQEXT + TRACE_ID, "77")]
    answer = post(broker, ext_topic, broker.unique_body(), ext=EXT, headers=headers)

    return observe_http_trace(answer, 77)


@case("nsq/http/x-nsqext-too-long", clause="ext.http.x-nsqext")
def test_request_headers_beyond_the_length(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """POST /pub_ext refuses X-NSQEXT- headers that push the header over its length limit."""
    headers = [(f"{X_NSQEXT}{number}", "v" * 4000) for number in range(2)]
    answer = post(
        broker, fresh_ext_topic, broker.unique_body(), ext=header_of(65500), headers=headers
    )

    return then_others(
        observe_http(answer), fresh_ext_topic, broker.connect(topic=fresh_ext_topic)
    )


@case("nsq/http/x-nsqext-override", clause="ext.http.x-nsqext-override")
def test_same_name_in_both(broker: Broker, ext_topic: Topic) -> Observation:
    """If ext and an X-NSQEXT- request header share a name, one of the two values is stored."""
    added = [(X_NSQEXT + "K", "new")]

    return post_and_read(broker, ext_topic, ext=EXT, due={"k": "new"}, headers=added)


@case("nsq/http/x-nsqext-no-name", clause="ext.http.x-nsqext-override")
def test_request_header_without_a_name(broker: Broker, ext_topic: Topic) -> Observation:
    """A bare X-NSQEXT- request header is refused, ignored, or added under an empty name."""
    return post_and_receive(
        broker, ext_topic, ext=EXT, headers=[(X_NSQEXT, "w")], stored={**EXT, "": "w"}
    )


@case("nsq/http/x-nsqext-character", clause="ext.publish.header-name", needs=("http",))
@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_foreign_character_in_a_request_header(
    broker: Broker, ext_topic: Topic, name: str
) -> Observation:
    """X-NSQEXT- names with characters other than letters, digits, _ - # are refused."""
    return post_and_receive(
        broker, ext_topic, ext=EXT, headers=[(X_NSQEXT + name, "w")], stored={**EXT, name: "w"}
    )


@case("nsq/http/name-character", clause="ext.publish.header-name", needs=("http",))
@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_foreign_character_in_ext(broker: Broker, ext_topic: Topic, name: str) -> Observation:
    """Names in ext with characters other than letters, digits, _ - # are refused."""
    return post_and_receive(broker, ext_topic, ext={name: "v"})
