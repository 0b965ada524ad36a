"""A header published over TCP comes out with the JSON value it had."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.deliveries import Sent, deliver, deliver_all

HEADERS = {
    "one-name": b'{"k":"v"}',
    "empty-value": b'{"k":""}',
    "names-not-sorted": b'{"z":"1","a":"2","m":"3"}',
    "hundred-names": b"{%s}" % b",".join(b'"n%d":"%d"' % (n, n) for n in range(100)),
    "long-name": b'{"%s":"v"}' % (b"n" * 1024),
    "long-value": b'{"k":"%s"}' % (b"v" * 20000),
    "number-sign": b'{"#":"1","a#":"2","#a":"3"}',
    "hyphen": b'{"a-b_c":"1"}',
    "blanks": b'  { "k" :  "v" }  ',
    "tabs-and-line-feeds": b'\t{\r\n\t"k"\t:\n"v"\n}\r\n',
    "unicode": '{"k":"grün 消息 \U0001f600"}'.encode(),
    "line-separators": '{"k":"a\u2028b\u2029c\u0085d"}'.encode(),
    "delete-character": b'{"k":"a\x7fb"}',
    "escaped-letter": rb'{"k":"\u0041"}',
    "escaped-upper-case-hex": rb'{"k":"\u00E9\u00e9"}',
    "escaped-surrogates": rb'{"k":"\ud83d\ude00"}',
    "escaped-nul": rb'{"k":"a\u0000b"}',
    "escaped-controls": rb'{"k":"\b\f\n\r\t\"\\"}',
    "escaped-slash": rb'{"k":"a\/b","l":"a/b"}',
    "escaped-name": rb'{"\u006b":"v"}',
    "markup": b'{"k":"<a href=\'x\'>&amp;</a>"}',
    "json-inside": rb'{"k":"{\"a\":[1,2,{}]}"}',
    "digits": b'{"k":"18446744073709551615","l":"007","m":"1e400"}',
    "dispatch-tag": b'{"##client_dispatch_tag":"t","k":"v"}',
    "dispatch-tag-last": b'{"k":"v","##client_dispatch_tag":"t"}',
    "trace-id": b'{"##trace_id":"123456789","k":"v"}',
}

# The text forbids some of these, a broker may refuse all; one that takes them must not mend them.
ODD_HEADERS = {
    "literal-values": b'{"k":true,"l":null}',
    "nested": b'{"k":{"b":1,"a":[1, 2]}}',
    "duplicate-names": b'{"k":"1","k":"2"}',
    "name-with-blank": b'{"a b":"1"}',
    "empty-name": b'{"":"1"}',
    "reserved-name": b'{"##mine":"1"}',
    "lone-surrogate": rb'{"k":"\ud800"}',
    "no-object": b'["k","v"]',
}


@case("nsq/consume/header", clause="ext.consume.header-intact")
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_header(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """A legal JSON header is delivered with the names and values that were published."""
    return deliver(broker, ext_topic, broker.unique_body(), header=header, exact=True)


@case("nsq/consume/header-empty", clause="ext.consume.header-intact")
def test_empty_header(broker: Broker, ext_topic: Topic) -> Observation:
    """An empty JSON header is delivered as published, or left out."""
    return deliver(broker, ext_topic, broker.unique_body(), header=b"{}")


@case("nsq/consume/header-odd", clause="ext.consume.header-intact")
@pytest.mark.parametrize("header", ODD_HEADERS.values(), ids=ODD_HEADERS)
def test_odd_header(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """A header of doubtful legality is refused, or delivered with the value published."""
    return deliver(broker, ext_topic, broker.unique_body(), header=header, exact=True)


@case("nsq/consume/header-odd/number-value", clause="ext.consume.number-precision")
def test_numbers(broker: Broker, ext_topic: Topic) -> Observation:
    """A number as a header value is refused, or delivered with its precision."""
    header = b'{"k":1.50,"l":12345678901234567890}'
    return deliver(broker, ext_topic, broker.unique_body(), header=header, exact=True)


@case("nsq/consume/header-mixed", clause="ext.consume.header-intact", waiting=True)
def test_headers_between_none(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages with and without a header, published in turn, are each delivered as sent."""
    headers = [None, b'{"k":"1"}', None, None, b'{"k":"%s"}' % (b"v" * 300), b'{"l":""}', None]
    messages: list[Sent] = [(header, broker.unique_body()) for header in headers]

    return deliver_all(broker, fresh_ext_topic, messages)
