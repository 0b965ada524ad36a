"""POST /pub_ext with ##trace_id: the JSON answer, compared with the delivered message."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed, uncompared
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.http.pub_ext import (
    observe_http_ids,
    observe_http_next_record,
    observe_http_position,
    observe_http_trace,
    post,
    was_taken,
)
from wireproof_suites.nsq.steps.ordered_delivery import open_consumer, take_of

STYLES = {"old": False, "v1": True}

TRACE_IDS = {
    "zero": 0,
    "one": 1,
    "published-example": 123456789,
    "above-2-to-the-53": 2**53 + 1,
    "2-to-the-63": 2**63,
    "greatest": 2**64 - 1,
    "equal-halves": 0x0102030401020304,
}

NO_NUMBER = {
    "letters": b'{"##trace_id":"abc"}',
    "minus": b'{"##trace_id":"-1"}',
    "plus": b'{"##trace_id":"+1"}',
    "space": b'{"##trace_id":" 1"}',
    "hexadecimal": b'{"##trace_id":"0x10"}',
    "2-to-the-64": b'{"##trace_id":"18446744073709551616"}',
    "number": b'{"##trace_id":1}',
    "null": b'{"##trace_id":null}',
}


@case("nsq/http/trace", clause="ext.http.trace-response")
@pytest.mark.parametrize("trace_id", TRACE_IDS.values(), ids=TRACE_IDS)
def test_answer_with_trace_id(broker: Broker, ext_topic: Topic, trace_id: int) -> Observation:
    """POST /pub_ext with a trace id returns status, id, trace_id, queue_offset and rawsize."""
    header = {TRACE_ID: str(trace_id)}
    answer = post(broker, ext_topic, broker.unique_body(), ext=header, v1=True)

    return observe_http_trace(answer, trace_id)


@case("nsq/http/trace-old-style", clause="ext.http.trace-response")
def test_answer_in_old_style(broker: Broker, ext_topic: Topic) -> Observation:
    """POST /pub_ext with a trace id returns a trace object also without the version 1.0 header."""
    header = {TRACE_ID: "123456789", "k": "v"}
    answer = post(broker, ext_topic, broker.unique_body(), ext=header, v1=False)

    return observe_http_trace(answer, 123456789)


@case("nsq/http/trace-ids", clause="ext.http.trace-response")
@pytest.mark.parametrize("trace_id", [1, 2**63, 2**64 - 1], ids=["one", "2-to-the-63", "greatest"])
def test_ids_of_the_answer(broker: Broker, ext_topic: Topic, trace_id: int) -> Observation:
    """The id and trace_id in a POST /pub_ext answer match the delivered message."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        answer = post(broker, ext_topic, body, ext={TRACE_ID: str(trace_id)})

        return observe_http_ids(answer, consumer, body=body, trace_id=trace_id)


@case("nsq/http/trace-offset", clause="ext.http.trace-response")
def test_offset_of_the_next_record(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """In POST /pub_ext answers, queue_offset increases from message to message."""
    first = post(broker, fresh_ext_topic, b"x" * 300, ext={TRACE_ID: "1"})
    second = post(broker, fresh_ext_topic, b"y", ext={TRACE_ID: "2"})

    return observe_http_next_record(first, second)


@case("nsq/http/trace-position", clause="ext.http.trace-response", needs=("order",), waiting=True)
def test_position_of_the_message(broker: Broker, fresh_ordered_ext_topic: Topic) -> Observation:
    """An ordered message has the queue_offset and rawsize that HTTP answered."""
    topic = fresh_ordered_ext_topic
    client = open_consumer(broker, topic)
    body = broker.unique_body(b"x" * 50)
    answer = post(broker, topic, body, ext={TRACE_ID: "5", "k": "v"})
    if not was_taken(answer):
        return observe_http(answer)

    return observe_http_position(answer, take_of(client, [body]))


@case("nsq/http/trace-empty", clause="ext.http.trace-empty")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_empty_trace_id(broker: Broker, ext_topic: Topic, v1: bool) -> Observation:
    """POST /pub_ext with an empty trace id is answered as without, or INVALID_TRACE_ID."""
    without = post(broker, ext_topic, broker.unique_body(), ext={"k": "v"}, v1=v1)
    empty = post(broker, ext_topic, broker.unique_body(), ext={TRACE_ID: "", "k": "v"}, v1=v1)

    seen, other = observe_http(empty), observe_http(without)
    if missing := uncompared(other, "the answer to the request without a trace id"):
        return missing
    same = (empty.status, empty.body) == (without.status, without.body)
    return observed("as-without") if same else seen.on(empty, without)


@case("nsq/http/trace-form", clause="ext.publish.trace-id-form", needs=("http",))
@pytest.mark.parametrize("header", NO_NUMBER.values(), ids=NO_NUMBER)
def test_trace_id_that_is_no_number(
    broker: Broker, ext_topic: Topic, header: bytes
) -> Observation:
    """POST /pub_ext refuses a trace id that is not a decimal 64-bit number."""
    return observe_http(post(broker, ext_topic, broker.unique_body(), ext=header))
