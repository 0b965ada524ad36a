"""PUB_EXT with ##trace_id: the answer of 30 bytes, compared with the delivered message."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import pub_ext
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID
from wireproof_suites.nsq.steps.publish_results import observe_traced, then_goes_on
from wireproof_suites.nsq.steps.trace_responses import observe_ids, observe_next_record

TRACE_IDS = {
    "zero": 0,
    "one": 1,
    "published-example": 123456789,
    "each-byte-different": 0x0102030405060708,
    "above-2-to-the-53": 2**53 + 1,
    "below-2-to-the-63": 2**63 - 1,
    "2-to-the-63": 2**63,
    "greatest": 2**64 - 1,
    "equal-halves": 0x0102030401020304,
}

AMONG_OTHERS = {
    "first": b'{"##trace_id":"77","k":"v"}',
    "last": b'{"k":"v","##trace_id":"77"}',
    "beside-a-tag": b'{"##client_dispatch_tag":"t","##trace_id":"77"}',
    "behind-one-like-it": b'{"trace_id":"5","k":"##trace_id","##trace_id":"77"}',
    "behind-quotes": rb'{"k":"say \"hi\"","##trace_id":"77"}',
    "spaces": b'{ "##trace_id" : "77" }',
}

SPELLINGS = {
    "escaped-name": rb'{"\u0023#trace_id":"77"}',
    "escaped-value": rb'{"##trace_id":"\u00377"}',
}

EMPTY = {
    "alone": {TRACE_ID: ""},
    "beside-others": {"k": "v", TRACE_ID: "", "l": "w"},
    "beside-a-tag": {CLIENT_DISPATCH_TAG: "t", TRACE_ID: ""},
}

NO_NUMBER = {
    "letters": b'{"##trace_id":"abc"}',
    "digits-then-letters": b'{"##trace_id":"12ab"}',
    "minus": b'{"##trace_id":"-1"}',
    "minus-zero": b'{"##trace_id":"-0"}',
    "plus": b'{"##trace_id":"+1"}',
    "space-first": b'{"##trace_id":" 1"}',
    "space-last": b'{"##trace_id":"1 "}',
    "space-alone": b'{"##trace_id":" "}',
    "hexadecimal": b'{"##trace_id":"0x10"}',
    "underscore": b'{"##trace_id":"1_0"}',
    "fraction": b'{"##trace_id":"1.0"}',
    "exponent": b'{"##trace_id":"1e3"}',
    "full-width-digit": '{"##trace_id":"\uff11"}'.encode(),
    "2-to-the-64": b'{"##trace_id":"18446744073709551616"}',
    "2-to-the-64-and-one": b'{"##trace_id":"18446744073709551617"}',
    "hundred-digits": b'{"##trace_id":"' + b"9" * 100 + b'"}',
    "number": b'{"##trace_id":1}',
    "null": b'{"##trace_id":null}',
    "true": b'{"##trace_id":true}',
    "array": b'{"##trace_id":["1"]}',
    "object": b'{"##trace_id":{"k":"1"}}',
}


@case("nsq/publish/trace", clause="ext.publish.trace-response")
@pytest.mark.parametrize("trace_id", TRACE_IDS.values(), ids=TRACE_IDS)
def test_answer_with_trace_id(broker: Broker, ext_topic: Topic, trace_id: int) -> Observation:
    """PUB_EXT with a trace id returns OK, internal id, trace id, offset and size."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, {TRACE_ID: str(trace_id)}, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic), trace_id=trace_id)


@case("nsq/publish/trace-among-others", clause="ext.publish.trace-response")
@pytest.mark.parametrize("header", AMONG_OTHERS.values(), ids=AMONG_OTHERS)
def test_trace_id_among_other_names(
    broker: Broker, ext_topic: Topic, header: bytes
) -> Observation:
    """PUB_EXT recognises the trace id at any place in the header."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic), trace_id=77)


@case("nsq/publish/trace-spelling", clause="ext.publish.trace-response")
@pytest.mark.parametrize("header", SPELLINGS.values(), ids=SPELLINGS)
def test_trace_id_in_escapes(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT recognises the trace id in any JSON spelling."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic), trace_id=77)


@case("nsq/publish/trace-ids", clause="ext.publish.trace-response")
@pytest.mark.parametrize("trace_id", [1, 2**63, 2**64 - 1], ids=["one", "2-to-the-63", "greatest"])
def test_ids_of_the_answer(broker: Broker, ext_topic: Topic, trace_id: int) -> Observation:
    """The internal id and trace id in a PUB_EXT answer match the delivered message."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        answer = broker.publish(ext_topic, body, {TRACE_ID: str(trace_id)})

        return observe_ids(answer, consumer, body)


@case("nsq/publish/trace-offset", clause="ext.publish.trace-response")
@pytest.mark.parametrize("size", [1, 1000], ids=["small", "large"])
def test_offset_of_the_next_record(
    broker: Broker, fresh_ext_topic: Topic, size: int
) -> Observation:
    """In PUB_EXT answers, the offset increases from message to message."""
    first = broker.publish(fresh_ext_topic, b"x" * size, {TRACE_ID: "1"})
    second = broker.publish(fresh_ext_topic, b"y", {TRACE_ID: "2"})

    return observe_next_record(first, second)


@case("nsq/publish/trace-empty", clause="ext.publish.trace-empty")
@pytest.mark.parametrize("header", EMPTY.values(), ids=EMPTY)
def test_empty_trace_id(broker: Broker, ext_topic: Topic, header: dict[str, str]) -> Observation:
    """PUB_EXT with an empty trace id is answered OK, or refused with INVALID_TRACE_ID."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/trace-form", clause="ext.publish.trace-id-form")
@pytest.mark.parametrize("header", NO_NUMBER.values(), ids=NO_NUMBER)
def test_trace_id_that_is_no_number(
    broker: Broker, ext_topic: Topic, header: bytes
) -> Observation:
    """PUB_EXT with a trace id that is not a decimal 64-bit number is refused."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/trace-leading-zeros", clause="ext.publish.trace-id-form")
def test_trace_id_with_leading_zeros(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT ignores leading zeros in a trace id, refuses them, or answers OK."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, {TRACE_ID: "007"}, broker.unique_body()))

        return then_goes_on(observe_traced(answer, 7), client, ext_topic)
