"""The HTTP API beside the message: posting, polling, errors, wrong forms, offsets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.http import Transferred
from wireproof_kit.iggy.http import Body, base64_text, error_of, is_success, messages_body
from wireproof_kit.iggy.observing import observe_http, observe_messages
from wireproof_kit.iggy.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.partitioning import partition_id
from wireproof_spec.iggy.statuses import (
    INVALID_MESSAGES_COUNT,
    PARTITION_NOT_FOUND,
    STATUSES,
    STREAM_ID_NOT_FOUND,
    STREAM_NAME_NOT_FOUND,
    TOPIC_ID_NOT_FOUND,
    TOPIC_NAME_NOT_FOUND,
)
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.iggy.contents import HEADER_SETS, message, numbered
from wireproof_suites.iggy.json_reading import observe_json_messages, observe_unread_json
from wireproof_suites.iggy.offsets import AS_STORED, observe_offset
from wireproof_suites.iggy.polling import AS_ASKED, kept
from wireproof_suites.iggy.posting import posted

ABSENT = 4_000_000_000
ABSENT_NAME = "wp_no_such_name"
SENTINEL = b"sentinel"
ASKED: dict[str, tuple[dict[str, object], slice]] = {
    "offset": ({"kind": "offset", "value": 2}, slice(2, None)),
    "first": ({"kind": "first", "value": 3}, slice(0, None)),
    "last": ({"kind": "last", "count": 2}, slice(-2, None)),
    "next": ({"kind": "next", "id": 1}, slice(0, None)),
}
OUT_OF_RANGE = {
    "negative": b"-1",
    "fraction": b"1.5",
    "string": b'"7"',
    "2-to-the-128": str(1 << 128).encode(),
    "true": b"true",
}
UNCHECKED = {
    "empty-key": {"": {"kind": "raw", "value": base64_text(b"v")}},
    "empty-value": {"key": {"kind": "raw", "value": ""}},
}


@dataclass(frozen=True, slots=True)
class WrongForm:
    """A request of a wrong form: a POST of messages unless ``query`` makes it a poll."""

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


@case("iggy/http/send", clause="iggy.http.send")
@pytest.mark.parametrize("number", [0, 7, (1 << 128) - 1], ids=["no-id", "id", "greatest-id"])
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_send(
    server: Server, topic: Topic, headers: tuple[Header, ...], number: int
) -> Observation:
    """Messages are posted with and without id and headers, and polled as sent."""
    sent = [message(b"payload", *headers, id=number)]
    answer = server.post(topic, *sent)
    if not is_success(answer):
        return observe_http(answer)
    seen = observe_json_messages(server.got(topic, 1), sent)

    return replace(seen, value=f"{observe_http(answer).value},{seen.value}")


@case("iggy/http/send-polled-over-tcp", clause="iggy.http.send", needs=("poll",))
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_polled_over_tcp(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """What is posted is polled over TCP as it was sent."""
    sent = [message(each.payload, *headers, id=each.id) for each in numbered(3)]
    posted(server, topic, *sent)

    return observe_messages(server.polled(topic, 3), sent)


@case("iggy/http/poll-defaults", clause="iggy.http.poll")
def test_poll_defaults(server: Server, topic: Topic) -> Observation:
    """A poll without parameters brings the first ten messages of partition 1."""
    sent = kept(server, topic, 12)
    polled = server.get_by(topic, "")

    return _as_asked(observe_json_messages(polled, sent[:10]))


@case("iggy/http/poll-strategies", clause="iggy.http.poll")
@pytest.mark.parametrize("strategy", ASKED)
def test_poll_strategies(server: Server, topic: Topic, strategy: str) -> Observation:
    """The strategies go by their names."""
    sent = kept(server, topic, 5)
    query, due = ASKED[strategy]

    return _as_asked(observe_json_messages(server.get(topic, **query), sent[due]))


@case("iggy/http/poll-strategies/timestamp", clause="iggy.http.poll")
def test_poll_by_timestamp(server: Server, topic: Topic) -> Observation:
    """Strategy timestamp takes microseconds."""
    sent = kept(server, topic, 3, one_by_one=True)
    everything = server.get(topic)
    unread = observe_unread_json(everything)
    if unread is not None:
        return unread
    value = everything.objects[1].get("timestamp") if len(everything.objects) > 1 else None
    polled = server.get(topic, kind="timestamp", value=value)

    return _as_asked(observe_json_messages(polled, sent[1:]))


@case("iggy/http/error-object", clause="iggy.http.errors")
@pytest.mark.parametrize("absent", ["stream", "topic", "partition"])
def test_error_object(server: Server, topic: Topic, absent: str) -> Observation:
    """What is not found by its number is told with its error's number and name."""
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
    """A stream or a topic that is not there cannot be told of."""
    paths = {
        "stream": (f"/streams/{ABSENT}", STREAM_ID_NOT_FOUND),
        "topic": (f"/streams/{topic.stream.number}/topics/{ABSENT}", TOPIC_ID_NOT_FOUND),
    }
    path, error = paths[absent]

    return _error(server.http.get(path), error)


@case("iggy/http/error-name", clause="iggy.http.errors")
@pytest.mark.parametrize("absent", ["stream", "topic"])
def test_error_by_name(server: Server, topic: Topic, absent: str) -> Observation:
    """What is not found by its name is told with its error's number and name."""
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
    """A poll for no message is an error."""
    return _error(server.get(topic, count=0).answer, INVALID_MESSAGES_COUNT)


@case("iggy/http/form", clause="iggy.http.form")
@pytest.mark.parametrize("form", WRONG_FORMS.values(), ids=WRONG_FORMS)
def test_form(server: Server, topic: Topic, form: WrongForm) -> Observation:
    """A request of a wrong form is refused, and the server goes on."""
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
    """An id that no 128 bits hold is refused, and nothing is stored."""
    body = json.dumps(messages_body([message(b"unwanted", id=123456789)], partition_id(1)))
    answer = server.http.post(
        f"{topic.path}/messages", body.encode().replace(b"123456789", number)
    )
    posted(server, topic, message(SENTINEL))
    polled = server.got(topic, 1)
    unread = observe_unread_json(polled)
    if unread is not None:
        return unread
    payloads = [found.get("payload") for found in polled.objects]
    if base64_text(SENTINEL) not in payloads:
        return observed("no-sentinel", overdue=True)
    word = "absent" if payloads == [base64_text(SENTINEL)] else "unwanted"

    return observe_http(answer).then(word)


@case("iggy/http/unchecked", clause="iggy.http.unchecked")
@pytest.mark.parametrize("headers", UNCHECKED.values(), ids=UNCHECKED)
def test_unchecked(server: Server, topic: Topic, headers: dict[str, object]) -> Observation:
    """Headers that the binary transport refuses are refused, or stored as they are."""
    answer = server.post(topic, {"payload": base64_text(b"payload"), "headers": headers})

    return _stored_or_refused(answer, server.poll(topic), 1)


@case("iggy/http/unchecked/empty-payload", clause="iggy.http.unchecked")
def test_unchecked_payload(server: Server, topic: Topic) -> Observation:
    """A payload of no byte beside another one is refused, or stored."""
    answer = server.post(topic, message(b"payload"), {"payload": ""})

    return _stored_or_refused(answer, server.poll(topic), 2)


@case("iggy/http/offset", clause="iggy.http.offsets", needs=("poll",))
@pytest.mark.parametrize("offset", [0, 3])
def test_offset(server: Server, topic: Topic, offset: int) -> Observation:
    """An offset stored over HTTP is told over both transports."""
    kept(server, topic, 5)
    path = f"{topic.path}/consumer-offsets"
    answer = server.http.put(path, server.offset_body(offset))
    if not is_success(answer):
        return observe_http(answer)
    told = server.http.get(path, {"id": 1, "consumer_id": 1, "partition_id": 1})
    found = _told_offset(told)
    if found != offset:
        difference = Difference("offset", None, str(offset), str(found))
        return observed("offset:other", difference=difference)
    over_tcp = observe_offset(server, topic, offset)

    return over_tcp if over_tcp.value != AS_STORED else observed(AS_STORED)


@case("iggy/http/offset/stored-over-tcp", clause="iggy.http.offsets", needs=("poll",))
def test_offset_of_tcp(server: Server, topic: Topic) -> Observation:
    """An offset stored over TCP is told over HTTP."""
    kept(server, topic, 5)
    server.store_offset(topic, 2)
    told = server.http.get(
        f"{topic.path}/consumer-offsets", {"id": 1, "consumer_id": 1, "partition_id": 1}
    )
    if not is_success(told):
        return observe_http(told)
    found = _told_offset(told)

    return observed(AS_STORED if found == 2 else "offset:other", note=str(found))


def _told_offset(answer: Transferred) -> JsonValue:
    value = answer.json.value if answer.json is not None else None
    if not isinstance(value, dict):
        return None
    return value.get("stored_offset", value.get("offset"))


def _error(answer: Transferred, error: int) -> Observation:
    """Name an error object; ``unlisted`` stands for one that is not the one of a status."""
    seen = observe_http(answer)
    found = error_of(answer)
    value = answer.json.value if answer.json is not None else None
    has_reason = isinstance(value, dict) and isinstance(value.get("reason"), str)
    if answer.failure is not None or (found == (error, STATUSES[error]) and has_reason):
        return seen
    expected = f"{error} {STATUSES[error]} and a reason"
    difference = Difference("id", None, expected, f"{found[0]} {found[1]}".strip())
    return observed(f"http:{answer.status},unlisted", difference=difference)


def _as_asked(seen: Observation) -> Observation:
    words = {"delivered:as-sent": AS_ASKED, "missing": "delivered:fewer"}
    return replace(seen, value=words.get(seen.value, seen.value), overdue=False)


def _stored_or_refused(answer: Transferred, polled: Polled, count: int) -> Observation:
    """Name a refusal; else say, too, whether binary readers can read so many messages."""
    seen = observe_http(answer)
    if not is_success(answer):
        return seen
    if polled.fault is not None:
        return replace(seen.then("delivered:undecodable"), note=str(polled.fault))
    return seen.then("delivered:as-sent" if len(polled.seen) == count else "delivered:fewer")
