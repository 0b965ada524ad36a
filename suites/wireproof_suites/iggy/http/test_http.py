"""The HTTP API beside the message: posting, polling, errors, wrong forms, offsets."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.forms import SHORT
from wireproof_kit.iggy.observe.observations import observe, observe_http, observe_messages
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.http import base64_text, is_success
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.wire.http import TransferResult
from wireproof_spec.iggy.headers import Header
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.iggy.steps.json_messages import observe_json_messages, observe_unread_json
from wireproof_suites.iggy.steps.message_contents import HEADER_SETS, make_numbered, message
from wireproof_suites.iggy.steps.poll_results import AS_ASKED, offsets_of, send_and_check
from wireproof_suites.iggy.steps.stored_offsets import AS_STORED, observe_offset
from wireproof_suites.iggy.steps.transports import post_messages

ASKED: dict[str, tuple[dict[str, object], slice]] = {
    "offset": ({"kind": "offset", "value": 2}, slice(2, None)),
    "first": ({"kind": "first", "value": 3}, slice(0, None)),
    "last": ({"kind": "last", "count": 2}, slice(-2, None)),
    "next": ({"kind": "next", "id": 1}, slice(0, None)),
}
UNCHECKED = {
    "empty-key": {"": {"kind": "raw", "value": base64_text(b"v")}},
    "empty-value": {"key": {"kind": "raw", "value": ""}},
}


@case("iggy/http/send", clause="iggy.http.send")
@pytest.mark.parametrize("number", [0, 7, (1 << 128) - 1], ids=["no-id", "id", "greatest-id"])
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_send(
    server: Server, topic: Topic, headers: tuple[Header, ...], number: int
) -> Observation:
    """Messages posted over HTTP, with any id and with or without headers, are polled as sent."""
    sent = [message(b"payload", *headers, id=number)]
    answer = server.post(topic, *sent)
    if not is_success(answer):
        return observe_http(answer)
    seen = observe_json_messages(server.get_until(topic, 1), sent)

    return replace(seen, value=f"{observe_http(answer).value},{seen.value}")


@case("iggy/http/send-polled-over-tcp", clause="iggy.http.send", needs=("poll",))
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_polled_over_tcp(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """Messages posted over HTTP are polled over TCP as sent."""
    sent = [message(each.payload, *headers, id=each.id) for each in make_numbered(3)]
    post_messages(server, topic, *sent)

    return observe_messages(server.poll_until(topic, 3), sent, ordered=False)


@case("iggy/http/poll-defaults", clause="iggy.http.poll")
def test_poll_defaults(server: Server, topic: Topic) -> Observation:
    """An HTTP poll without parameters returns the first ten messages of partition 1."""
    sent = send_and_check(server, topic, 12)
    polled = server.get_by(topic, "")

    return _as_asked(observe_json_messages(polled, sent[:10]))


@case("iggy/http/poll-strategies", clause="iggy.http.poll")
@pytest.mark.parametrize("strategy", ASKED)
def test_poll_strategies(server: Server, topic: Topic, strategy: str) -> Observation:
    """An HTTP poll accepts each polling strategy by its name."""
    sent = send_and_check(server, topic, 5)
    query, due = ASKED[strategy]

    return _as_asked(observe_json_messages(server.get(topic, **query), sent[due]))


@case("iggy/http/poll-strategies/timestamp", clause="iggy.http.poll")
def test_poll_by_timestamp(server: Server, topic: Topic) -> Observation:
    """An HTTP poll by timestamp (microseconds) starts at the first message not older than it."""
    sent = send_and_check(server, topic, 3, one_by_one=True)
    everything = server.get_until(topic, len(sent))
    unread = observe_unread_json(everything)
    if unread is not None:
        return unread
    times = [each.get("timestamp") for each in everything.objects]
    value = times[1] if len(times) > 1 else None
    polled = server.get(topic, kind="timestamp", value=value)

    return _as_asked(observe_json_messages(polled, sent[times.index(value) :] if times else sent))


@case("iggy/http/unchecked", clause="iggy.http.unchecked")
@pytest.mark.parametrize("headers", UNCHECKED.values(), ids=UNCHECKED)
def test_unchecked(server: Server, topic: Topic, headers: dict[str, object]) -> Observation:
    """Headers illegal over TCP are refused or accepted over HTTP; TCP polls may then fail."""
    answer = server.post(topic, {"payload": base64_text(b"payload"), "headers": headers})

    return _stored_or_refused(answer, server.poll(topic), 1)


@case("iggy/http/unchecked/empty-payload", clause="iggy.http.unchecked")
def test_unchecked_payload(server: Server, topic: Topic) -> Observation:
    """An empty payload posted over HTTP is refused or accepted; a TCP poll may then fail."""
    answer = server.post(topic, message(b"payload"), {"payload": ""})

    return _stored_or_refused(answer, server.poll(topic), 2)


@case("iggy/http/offset", clause="iggy.http.offsets", needs=("poll",))
@pytest.mark.parametrize("which", [0, 3])
def test_offset(server: Server, topic: Topic, which: int) -> Observation:
    """An offset stored over HTTP is returned over both HTTP and TCP."""
    send_and_check(server, topic, 5)
    offset = offsets_of(server, topic, 5)[which]
    path = f"{topic.path}/consumer-offsets"
    answer = server.http.put(path, server.offset_body(topic, offset))
    if not is_success(answer):
        return observe_http(answer)
    told = server.http.get(path, {"id": 1, "consumer_id": 1, "partition_id": topic.partition})
    if not is_success(told):
        return observe_http(told)
    found = _told_offset(server, told)
    if found != offset:
        difference = Difference("offset", None, str(offset), str(found))
        return observed("offset:other", difference=difference).on(told)
    over_tcp = observe_offset(server, topic, offset)

    return over_tcp if over_tcp.value != AS_STORED else observed(AS_STORED)


@case("iggy/http/offset/stored-over-tcp", clause="iggy.http.offsets", needs=("poll",))
def test_offset_of_tcp(server: Server, topic: Topic) -> Observation:
    """An offset stored over TCP is returned over HTTP."""
    send_and_check(server, topic, 5)
    offset = offsets_of(server, topic, 5)[2]
    server.store_offset(topic, offset)
    told = server.http.get(
        f"{topic.path}/consumer-offsets",
        {"id": 1, "consumer_id": 1, "partition_id": topic.partition},
    )
    if not is_success(told):
        return observe_http(told)
    found = _told_offset(server, told)

    return observed(AS_STORED if found == offset else "offset:other", note=str(found))


def _told_offset(server: Server, answer: TransferResult) -> JsonValue:
    value = answer.json.value if answer.json is not None else None
    if not isinstance(value, dict):
        return None
    return value.get("offset" if server.access.forms.stored_offset == SHORT else "stored_offset")


def _as_asked(seen: Observation) -> Observation:
    words = {"delivered:as-sent": AS_ASKED, "missing": "delivered:fewer"}
    return replace(seen, value=words.get(seen.value, seen.value), overdue=False)


def _stored_or_refused(answer: TransferResult, polled: Polled, count: int) -> Observation:
    """Return the refusal, or the answer and whether a binary client can read `count` messages."""
    seen = observe_http(answer)
    if not is_success(answer):
        return seen
    if not isinstance(polled.answer, Done):
        return seen.then(observe(polled.answer).value)
    if polled.fault is not None:
        return replace(seen.then("delivered:undecodable"), note=str(polled.fault))
    return seen.then("delivered:as-sent" if len(polled.seen) == count else "delivered:fewer")
