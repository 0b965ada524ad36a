"""Replies: what refuses a request, result sections, and reads without one."""

from typing import Any

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Answer, Replied, read_payload, read_result
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies.resources import (
    STREAM_DETAILS,
    TOPIC_DETAILS,
)
from wireproof_spec.iggy.bodies.identifier import Identifier, numeric
from wireproof_spec.wire_error import WireError
from wireproof_suites.iggy.apache import steps

DENIED: dict[str, steps.Ask] = {
    "unknown-code": steps.unknown_code,
    "before-login": steps.get_streams,
    "poll-unknown": steps.poll_unknown,
    "send-unknown": steps.send_unknown,
}


@case("iggy/apache/reply/denied-empty", clause="iggy.apache.reply.denied-empty")
@pytest.mark.parametrize("kind", DENIED)
def test_denied_empty(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A reply that refuses a request has no body."""
    client = apache.connect(enter=kind != "before-login")
    answer = client.ask(DENIED[kind](apache, apache_topic, client))
    if not isinstance(answer, Replied) or answer.is_accepted:
        return observed("not-refused", note=observe(answer).describe()).on(answer)
    return observed("body" if answer.body else "empty").on(answer)


@case("iggy/apache/reply/result", clause="iggy.apache.reply.result")
@pytest.mark.parametrize("kind", ["stream", "topic", "offset"])
@pytest.mark.parametrize("verb", ["create", "delete"])
def test_result(apache: ApacheServer, apache_topic: Topic, kind: str, verb: str) -> Observation:
    """The body of a reply to a replicated operation begins with an empty result section."""
    if kind == "offset":
        steps.store(apache, apache_topic, [1])
        answer = apache.store_offset(apache_topic, 0)
        if verb == "delete":
            body = requests.delete_offset_body(apache_topic, requests.consumer(1), 0)
            answer = apache.ask(operations.DELETE_CONSUMER_OFFSET, body)
    elif verb == "create":
        number, name = apache.new_stream()
        body = requests.create_topic_body(numeric(number), name, 1)
        if kind == "stream":
            body = requests.create_stream_body(apache.new_name())
        operation = operations.CREATE_STREAM if kind == "stream" else operations.CREATE_TOPIC
        answer = apache.ask(operation, body)
    else:
        is_stream = kind == "stream"
        stream = numeric(apache.new_stream()[0]) if is_stream else apache_topic.by_number[0]
        answer = apache.delete(stream, None if is_stream else apache_topic.by_number[1])
    result = read_result(answer)
    is_done = result is not None and not result.rejections
    return observed("result:done").on(answer) if is_done else observe(answer, framed=True)


WITHOUT_PAYLOAD: dict[str, steps.Ask] = {
    "delete-topic": steps.delete_topic,
    "store-offset": steps.store_offset,
    "delete-offset": steps.delete_offset,
}


@case("iggy/apache/reply/no-payload", clause="iggy.apache.reply.no-payload")
@pytest.mark.parametrize("ask", WITHOUT_PAYLOAD.values(), ids=WITHOUT_PAYLOAD)
def test_no_payload(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """Nothing stands behind the result section of a reply without a payload."""
    steps.store(apache, apache_topic, [1])
    answer = apache.client.ask(ask(apache, apache_topic, apache.client))
    payload = read_payload(answer)
    if payload is None:
        return observe(answer, framed=True)
    return observed("result:more" if payload else "result:done").on(answer)


@case("iggy/apache/reply/result-rejected", clause="iggy.apache.reply.result-rejected")
def test_result_rejected(apache: ApacheServer) -> Observation:
    """A rejection that was committed is one entry with an error code, and nothing more."""
    _, name = apache.new_stream()
    body = requests.create_stream_body(name)
    return _observe_rejected(apache.ask(operations.CREATE_STREAM, body))


def _observe_rejected(answer: Answer) -> Observation:
    if isinstance(answer, Replied) and not answer.is_accepted:
        return observed("refused", note=observe(answer).value).on(answer)
    result = read_result(answer)
    if result is None:
        return observe(answer, framed=True)
    entries = [(each.index, bool(each.result)) for each in result.rejections]
    is_right = entries == [(0, True)] and not result.payload
    return observed("result:rejected" if is_right else "result:other").on(answer)


REJECTED: dict[str, steps.Ask] = {
    "topic-of-same-name": steps.create_topic,
    "topic-in-no-stream": steps.create_topic_nowhere,
    "topic-deleted-nowhere": steps.delete_topic_nowhere,
    "offset-not-stored": steps.delete_no_offset,
}


@case("iggy/apache/reply/rejected", clause="iggy.apache.reply.result-rejected")
@pytest.mark.parametrize("ask", REJECTED.values(), ids=REJECTED)
def test_rejected(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """A rejection that was committed is one entry with an error code, and nothing more."""
    client = apache.client
    return _observe_rejected(client.ask_before(ask(apache, apache_topic, client)))


@case("iggy/apache/reply/reads-bare", clause="iggy.apache.reply.reads-bare")
@pytest.mark.parametrize("kind", ["ping", "stream", "stream-by-name", "topic", "topic-by-name"])
def test_reads_bare(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A reply to a read has no result section."""
    where = apache_topic.by_name if kind.endswith("name") else apache_topic.by_number
    if kind == "ping":
        answer = apache.read(operations.PING)
        is_empty = isinstance(answer, Replied) and not answer.body
        return observed("bare").on(answer) if is_empty else observed("body").on(answer)
    if kind.startswith("topic"):
        return _observe_read(apache, operations.GET_TOPIC, where, TOPIC_DETAILS, apache_topic.name)
    name = apache_topic.stream_name
    return _observe_read(apache, operations.GET_STREAM, (where[0],), STREAM_DETAILS, name)


def _observe_read(
    apache: ApacheServer,
    code: int,
    where: tuple[Identifier, ...],
    schema: Schema[Any],
    name: str,
) -> Observation:
    is_topic = len(where) > 1
    stream = where[0]
    body = requests.topic_body(*where[:2]) if is_topic else requests.stream_body(stream)
    answer = apache.read(code, body)
    if not isinstance(answer, Replied) or not answer.is_accepted:
        return observe(answer)
    try:
        decode(schema, answer.body)
    except WireError as error:
        return observed("undecodable", note=str(error)).on(answer)
    is_it = name.encode() in answer.body
    return observed("bare" if is_it else "other").on(answer)


@case("iggy/apache/reply/codes", clause="iggy.apache.reply.codes")
@pytest.mark.parametrize("code", [0, 2, steps.UNKNOWN_CODE, 202, 302])
def test_codes(apache: ApacheServer, code: int) -> Observation:
    """A read whose code is not that of a read is refused with a status."""
    with apache.connect() as client:
        return observe(client.ask_before(client.read(code)))
