"""Requests that the HTTP API refuses: unknown resources, invalid values, ids out of range."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import observe_http
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import Body, base64_text, error_of, is_success, messages_body
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.wire.http import TransferResult
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.statuses import (
    INVALID_MESSAGES_COUNT,
    PARTITION_NOT_FOUND,
    STATUSES,
    STREAM_ID_NOT_FOUND,
    STREAM_NAME_NOT_FOUND,
    TOPIC_ID_NOT_FOUND,
    TOPIC_NAME_NOT_FOUND,
)
from wireproof_suites.iggy.steps.json_messages import observe_unread_json
from wireproof_suites.iggy.steps.message_contents import message
from wireproof_suites.iggy.steps.requests import ABSENT, ABSENT_NAME
from wireproof_suites.iggy.steps.transports import post_messages

SENTINEL = b"sentinel"
NO_SUCH_RESOURCE = (404, "not_found")
"""What server 0.4.209 tells where a stream or a topic is asked for."""
OUT_OF_RANGE = {
    "negative": b"-1",
    "fraction": b"1.5",
    "string": b'"7"',
    "2-to-the-128": str(1 << 128).encode(),
    "true": b"true",
}


@dataclass(frozen=True, slots=True)
class WrongForm:
    """A malformed HTTP request: a POST of messages, or a poll if it has a ``query``."""

    body: Body = None
    query: str = ""
    method: str = "POST"
    path: str = "/messages"
    with_type: bool = True


def _body(**changes: object) -> dict[str, object]:
    right = messages_body([message()], partition_id(1))
    return {**right, **changes}


WRONG_FORMS: Mapping[str, WrongForm] = {
    "cut": WrongForm(json.dumps(_body()).encode()[:-3]),
    "no-json": WrongForm(b"messages"),
    "no-body": WrongForm(b""),
    "an-array": WrongForm([]),
    "no-partitioning": WrongForm({"messages": _body()["messages"]}),
    "no-messages": WrongForm({"partitioning": _body()["partitioning"]}),
    "messages-no-array": WrongForm(_body(messages={})),
    "no-payload": WrongForm(_body(messages=[{"id": 1}])),
    "payload-no-base64": WrongForm(_body(messages=[{"payload": "!"}])),
    "payload-a-number": WrongForm(_body(messages=[{"payload": 1}])),
    "unknown-partitioning": WrongForm(_body(partitioning={"kind": "random", "value": ""})),
    "no-content-type": WrongForm(_body(), with_type=False),
    "unknown-strategy": WrongForm(method="GET", query="kind=newest"),
    "count-no-number": WrongForm(method="GET", query="count=many"),
    "count-negative": WrongForm(method="GET", query="count=-1"),
    "value-beyond-64-bits": WrongForm(method="GET", query="value=18446744073709551616"),
    "partition-beyond-32-bits": WrongForm(method="GET", query="partition_id=4294967296"),
    "commit-no-bool": WrongForm(method="GET", query="auto_commit=perhaps"),
    "unknown-path": WrongForm(method="GET", path="/letters"),
    "unknown-method": WrongForm(method="PATCH"),
}


@case("iggy/http/error-object", clause="iggy.http.errors")
@pytest.mark.parametrize("absent", ["stream", "topic", "partition"])
def test_error_object(server: Server, topic: Topic, absent: str) -> Observation:
    """An HTTP request with the number of no stream, topic or partition returns code and name."""
    paths = {
        "stream": (f"/streams/{ABSENT}/topics/1/messages", STREAM_ID_NOT_FOUND),
        "topic": (f"/streams/{topic.stream.number}/topics/{ABSENT}/messages", TOPIC_ID_NOT_FOUND),
        "partition": (f"{topic.path}/messages", PARTITION_NOT_FOUND),
    }
    path, error = paths[absent]
    partition = ABSENT if absent == "partition" else 1

    return _error(server.http.get(path, {"partition_id": partition}), error)


@case("iggy/http/error-object/told", clause="iggy.http.errors")
@pytest.mark.parametrize("absent", ["stream", "topic"])
def test_error_when_asked(server: Server, topic: Topic, absent: str) -> Observation:
    """An HTTP GET of an unknown stream or topic returns status 404."""
    paths = {
        "stream": (f"/streams/{ABSENT}", STREAM_ID_NOT_FOUND),
        "topic": (f"/streams/{topic.stream.number}/topics/{ABSENT}", TOPIC_ID_NOT_FOUND),
    }
    path, error = paths[absent]

    answer = server.http.get(path)
    if error_of(answer) == NO_SUCH_RESOURCE:
        return observe_http(answer)
    return _error(answer, error)


@case("iggy/http/error-name", clause="iggy.http.errors")
@pytest.mark.parametrize("absent", ["stream", "topic"])
def test_error_by_name(server: Server, topic: Topic, absent: str) -> Observation:
    """An HTTP request with the name of no stream or topic returns an error code and name."""
    paths = {
        "stream": (f"/streams/{ABSENT_NAME}/topics/1/messages", STREAM_NAME_NOT_FOUND),
        "topic": (
            f"/streams/{topic.stream.number}/topics/{ABSENT_NAME}/messages",
            TOPIC_NAME_NOT_FOUND,
        ),
    }
    path, error = paths[absent]

    return _error(server.http.get(path), error)


@case("iggy/http/error-count", clause="iggy.http.errors")
def test_error_count(server: Server, topic: Topic) -> Observation:
    """An HTTP poll with a count of 0 returns the error invalid_messages_count."""
    return _error(server.get(topic, count=0).answer, INVALID_MESSAGES_COUNT)


@case("iggy/http/form", clause="iggy.http.form")
@pytest.mark.parametrize("form", WRONG_FORMS.values(), ids=WRONG_FORMS)
def test_form(server: Server, topic: Topic, form: WrongForm) -> Observation:
    """A malformed HTTP request is refused, and the server keeps serving requests."""
    answer = server.http.request(
        form.method,
        topic.path + form.path,
        query=form.query,
        body=form.body,
        headers=None if form.with_type else (),
    )
    goes_on = is_success(server.get(topic).answer)

    return observe_http(answer).then("others-open" if goes_on else "others-broken")


@case("iggy/http/id-range", clause="iggy.http.form")
@pytest.mark.parametrize("number", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_id_range(server: Server, topic: Topic, number: bytes) -> Observation:
    """A posted message id that does not fit 128 bits is refused, and nothing is stored."""
    body = json.dumps(messages_body([message(b"unwanted", id=123456789)], partition_id(1)))
    answer = server.http.post(
        f"{topic.path}/messages", body.encode().replace(b"123456789", number)
    )
    post_messages(server, topic, message(SENTINEL))
    polled = server.get_until(topic, 1)
    unread = observe_unread_json(polled)
    if unread is not None:
        return unread
    payloads = [found.get("payload") for found in polled.objects]
    if base64_text(SENTINEL) not in payloads:
        return observed("no-sentinel", overdue=True)
    word = "absent" if payloads == [base64_text(SENTINEL)] else "unwanted"

    return observe_http(answer).then(word)


def _error(answer: TransferResult, error: int) -> Observation:
    """Compare an error object with the status that is due.

    ``unlisted`` is an error object with another number or name, or without a reason.
    """
    seen = observe_http(answer)
    found = error_of(answer)
    value = answer.json.value if answer.json is not None else None
    has_reason = isinstance(value, dict) and isinstance(value.get("reason"), str)
    if answer.failure is not None or (found == (error, STATUSES[error]) and has_reason):
        return seen
    expected = f"{error} {STATUSES[error]} and a reason"
    difference = Difference("id", None, expected, f"{found[0]} {found[1]}".strip())
    return observed(f"http:{answer.status},unlisted", difference=difference)
