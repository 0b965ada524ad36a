"""POST /pub_ext: accepted, and delivered with the header that was given in ext."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_delivery, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID, X_NSQEXT
from wireproof_suites.nsq.http.pub_ext import post, post_and_read, post_and_receive, was_taken

STYLES = {"old": False, "v1": True}

HEADERS: dict[str, dict[str, str] | bytes] = {
    "published-example": {"k1": "v1"},
    "no-name": {},
    "several-names": {"b": "2", "a": "1", "c": "3"},
    "names-of-every-kind": {"Az09": "v", "a_b-c": "v", "#a": "v"},
    "names-differ-in-case": {"k": "1", "K": "2"},
    "tag": {CLIENT_DISPATCH_TAG: "test_tag", "k": "v"},
    "traced": {TRACE_ID: "77", "k": "v"},
    "empty-value": {"k": ""},
    "digits": {"k": "1"},
    "quotes": {"k": 'say "hi"'},
    "backslash": {"k": "a\\b"},
    "unicode": {"k": "grün 消息"},
    "spaces": b' { "k" : "v" } ',
    "escaped-name": rb'{"\u006b":"v"}',
    "1000-letters": {"k": "v" * 1000},
    "4096-letters": {"k": "v" * 4096},
}

TEXTS = {
    "plus-sign": "a+b",
    "percent-sign": "100%",
    "percent-escape": "%41",
    "ampersand": "a&b=c",
    "number-sign": "a#b",
    "semicolon": "a;b",
    "question-mark": "a?b",
    "html": "<b>&</b>",
    "line-separator": "a\u2028b",
    "nul": "a\x00b",
    "controls": "\t\n\r",
    "outside-the-basic-plane": "😀",
    "replacement-character": "\ufffd",
}

NUMBERS = {
    "2-to-the-53-and-one": b'{"k":9007199254740993}',
    "2-to-the-64": b'{"k":18446744073709551616}',
    "20-digits": b'{"k":12345678901234567890}',
    "fraction": b'{"k":0.1}',
    "long-fraction": b'{"k":0.12345678901234567890123}',
    "minus-zero": b'{"k":-0}',
    "one": b'{"k":1}',
    "smallest-without-exponent": b'{"k":0.000001}',
    "small-exponent": b'{"k":1e-7}',
    "large-exponent": b'{"k":1e21}',
    "many-digits-and-exponent": b'{"k":-1.25e-9}',
}

OTHER_VALUES = {
    "array": b'{"k":["a","b"]}',
    "array-of-one": b'{"k":["a"]}',
    "empty-array": b'{"k":[]}',
    "true": b'{"k":true}',
    "false": b'{"k":false}',
    "null": b'{"k":null}',
}

BODIES = {
    "every-byte": bytes(range(256)),
    "line-feeds": b"a\nb\n\nc\n",
    "form": b"topic=other&ext=%7B%7D",
    "json": b'{"##trace_id":"1"}',
    "100-kilobytes": b"x" * 100_000,
}


@case("nsq/http/accept", clause="ext.http.accept")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_post(broker: Broker, ext_topic: Topic, v1: bool) -> Observation:
    """POST /pub_ext with topic, partition and ext is answered OK."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext={"k1": "v1"}, v1=v1))


@case("nsq/http/ok-text", clause="ext.http.accept")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_text_of_success(broker: Broker, ext_topic: Topic, v1: bool) -> Observation:
    """The body of a successful POST /pub_ext answer is OK, with or without quotes."""
    answer = post(broker, ext_topic, broker.unique_body(), ext={"k1": "v1"}, v1=v1)

    words = {b"OK": "bare", b'"OK"': "quoted"}
    word = words.get(answer.body.strip())
    return observed(word) if word and was_taken(answer) else observe_http(answer)


@case("nsq/http/body", clause="ext.http.accept")
@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES)
def test_body_of_the_request(broker: Broker, ext_topic: Topic, content: bytes) -> Observation:
    """The body of a POST /pub_ext request is delivered byte for byte as the message body."""
    return post_and_receive(broker, ext_topic, ext={"k1": "v1"}, content=content)


@case("nsq/http/body-as-curl-sends-it", clause="ext.http.accept")
def test_body_declared_a_form(broker: Broker, ext_topic: Topic) -> Observation:
    """A POST /pub_ext body with curl's form content type is published unchanged."""
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    content = b"a=b&ext={}&c=%20+"
    return post_and_receive(broker, ext_topic, ext={"k1": "v1"}, headers=form, content=content)


@case("nsq/http/header", clause="ext.http.header-stored")
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_header_in_ext(
    broker: Broker, ext_topic: Topic, header: dict[str, str] | bytes
) -> Observation:
    """A message from POST /pub_ext is delivered with the JSON header given in ext."""
    return post_and_receive(broker, ext_topic, ext=header)


@case("nsq/http/text", clause="ext.http.value-exact")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_in_ext(broker: Broker, ext_topic: Topic, text: str) -> Observation:
    """No character of a string value in ext is lost or changed in the delivered header."""
    return post_and_read(broker, ext_topic, ext={"k": text}, due={"k": text}, headers=())


@case("nsq/http/number", clause="ext.http.odd-value")
@pytest.mark.parametrize("header", NUMBERS.values(), ids=NUMBERS)
def test_number_in_ext(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """A number in the JSON header, if accepted, is delivered with the same value."""
    return post_and_read(broker, ext_topic, ext=header, due=header, headers=())


@case("nsq/http/other-value", clause="ext.http.odd-value")
@pytest.mark.parametrize("header", OTHER_VALUES.values(), ids=OTHER_VALUES)
def test_other_value_in_ext(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """A boolean, null, array or object in ext, if accepted, is delivered unchanged."""
    return post_and_read(broker, ext_topic, ext=header, due=header, headers=())


@case("nsq/http/number-beside-a-request-header", clause="ext.http.odd-value")
@pytest.mark.parametrize("header", NUMBERS.values(), ids=NUMBERS)
def test_number_beside_a_request_header(
    broker: Broker, ext_topic: Topic, header: bytes
) -> Observation:
    """A number in ext keeps its value when an X-NSQEXT- request header is added."""
    added = [(X_NSQEXT + "A", "w")]

    return post_and_read(broker, ext_topic, ext=header, due=header, headers=added)


@case("nsq/http/partition", clause="ext.http.accept", needs=("partition",), waiting=True)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_partition(broker: Broker, wide_ext_topic: Topic, number: int) -> Observation:
    """POST /pub_ext publishes to the partition it names."""
    topic, body = wide_ext_topic.at_rank(number), broker.unique_body()
    with broker.subscribe(topic) as consumer:
        answer = post(broker, topic, body, ext={"k": "v"})
        if not was_taken(answer):
            return observe_http(answer)
        return observe_delivery(consumer.next(body), body=body, header={"k": "v"})
