"""PUB_EXT as the text draws it: legal headers are accepted and answered OK.

What the delivered message looks like is judged among the consume cases; here only that an
accepted message does arrive.
"""

import string

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import pub_ext
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID
from wireproof_suites.nsq.steps.publish_results import publish_and_receive

HEADERS = {
    "one-name": {"k": "v"},
    "published-example": {
        CLIENT_DISPATCH_TAG: "test_tag",
        "custom_header1": "test_header",
        "custom_h2": "test",
    },
    "no-name": {},
    "tag-alone": {CLIENT_DISPATCH_TAG: "t"},
    "hundred-names": {f"name-{number}": str(number) for number in range(100)},
    "names-differ-in-case": {"k": "1", "K": "2"},
}

NAMES = {
    "lower-case": string.ascii_lowercase,
    "upper-case": string.ascii_uppercase,
    "digits": string.digits,
    "underscore": "_",
    "hyphen": "-",
    "hyphen-inside": "a-b",
    "number-sign": "#",
    "number-sign-first": "#a",
    "number-signs-inside": "a##b",
    "one-letter": "k",
    "1024-letters": "n" * 1024,
}

VALUES = {
    "empty": b'{"k":""}',
    "space": b'{"k":" "}',
    "digits": b'{"k":"1"}',
    "json-inside": rb'{"k":"{\"a\":1}"}',
    "quotes": rb'{"k":"say \"hi\""}',
    "backslash": rb'{"k":"a\\b"}',
    "four-backslashes-last": rb'{"k":"a\\\\"}',
    "escaped-slash": rb'{"k":"a\/b"}',
    "escaped-controls": rb'{"k":"\t\n\r\b\f"}',
    "escaped-nul": rb'{"k":"a\u0000b"}',
    "escaped-unicode": rb'{"k":"\u00e9"}',
    "escaped-surrogates": rb'{"k":"\ud83d\ude00"}',
    "unicode": '{"k":"grün 消息"}'.encode(),
    "outside-the-basic-plane": '{"k":"😀"}'.encode(),
    "4096-letters": b'{"k":"' + b"v" * 4096 + b'"}',
}

SPELLINGS = {
    "spaces": b' { "k" : "v" , "l" : "w" } ',
    "line-feeds": b'{\n"k":\n"v"\n}\n',
    "tabs": b'\t{\t"k"\t:\t"v"\t}',
    "carriage-returns": b'\r\n{\r\n"k":"v"\r\n}\r\n',
    "escaped-name": rb'{"\u006b":"v"}',
}

NO_TRACE_ID = {
    "name-without-signs": b'{"trace_id":"1"}',
    "one-sign": b'{"#trace_id":"1"}',
    "in-a-value": b'{"k":"##trace_id"}',
    "quoted-in-a-value": rb'{"k":"\"##trace_id\":\"1\""}',
    "longer-name": b'{"a##trace_id":"1"}',
}


@case("nsq/publish/header", clause="ext.publish.accept")
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_legal_header(broker: Broker, ext_topic: Topic, header: dict[str, str]) -> Observation:
    """PUB_EXT accepts a header with legal names and string values."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/name", clause="ext.publish.accept")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_legal_name(broker: Broker, ext_topic: Topic, name: str) -> Observation:
    """PUB_EXT accepts header names made of letters, digits, _ - and #."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, {name: "v"}, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/value", clause="ext.publish.accept")
@pytest.mark.parametrize("header", VALUES.values(), ids=VALUES)
def test_legal_value(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT accepts any JSON string as a header value."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/spelling", clause="ext.publish.accept")
@pytest.mark.parametrize("header", SPELLINGS.values(), ids=SPELLINGS)
def test_legal_spelling(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT accepts white space between JSON tokens and escapes in header names."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/arrives", clause="ext.publish.accept")
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_accepted_message_arrives(
    broker: Broker, ext_topic: Topic, header: dict[str, str]
) -> Observation:
    """A PUB_EXT answered OK is delivered."""
    return publish_and_receive(broker, ext_topic, header)


@case("nsq/publish/ok", clause="ext.publish.ok-response")
@pytest.mark.parametrize("header", NO_TRACE_ID.values(), ids=NO_TRACE_ID)
def test_answer_without_trace_id(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT without ##trace_id in the header is answered with exactly OK."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/ok-whatever-the-body", clause="ext.publish.ok-response")
def test_trace_id_in_the_body(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT ignores a trace id in the body and answers with exactly OK."""
    with broker.connect(topic=ext_topic) as client:
        body = broker.unique_body(b'{"##trace_id":"1"}')
        answer = client.ask(pub_ext(ext_topic, {"k": "v"}, body))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/ok-after-trace", clause="ext.publish.ok-response")
def test_answer_after_a_traced_message(broker: Broker, ext_topic: Topic) -> Observation:
    """A PUB_EXT without a trace id is answered OK even after a traced one."""
    with broker.connect(topic=ext_topic) as client:
        client.ask(pub_ext(ext_topic, {TRACE_ID: "77"}, broker.unique_body()))
        answer = client.ask(pub_ext(ext_topic, {"k": "v"}, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))
