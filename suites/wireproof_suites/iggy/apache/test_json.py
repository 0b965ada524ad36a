"""The HTTP API: the values of TCP in JSON, and what is sent in JSON polled over TCP."""

from collections.abc import Sequence

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache.batches import message
from wireproof_kit.iggy.apache.observe import differ, observe_messages, observe_unread
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.wire.http import JsonPolled, base64_text, is_success
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, UserHeader, text_header
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.header_kinds import BOOL, HEADER_KINDS, KIND_WIDTHS, STRING
from wireproof_suites.iggy.apache import json_steps
from wireproof_suites.iggy.apache.json_steps import header_object, header_of

PAYLOADS = {"1": b"a", "2": b"ab", "3": b"abc", "every-byte": bytes(range(256))}
HEADERS = tuple(
    text_header(name, kind, b"\x01" * KIND_WIDTHS.get(kind, 3))
    for kind, name in HEADER_KINDS.items()
    if kind not in (BOOL, STRING)
)
SENT = (message(b"first", *HEADERS), message(b"second"))
HEAD = {"partition_id", "current_offset", "count", "messages"}
FIELDS = {"checksum", "id", "offset", "timestamp", "origin_timestamp"}


@case("iggy/apache/json/same", clause="iggy.apache.json.same")
def test_same(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A message that was sent over TCP has the same values over HTTP."""
    polled = apache.sent_and_polled(apache_topic, *SENT)
    unread = observe_unread(polled)
    found = json_steps.poll_until(apache, apache_topic, len(SENT))
    if unread is not None or len(found.objects) != len(polled.frames):
        return unread or json_steps.observe_unread(found)
    frames = zip(polled.offsets, polled.frames, found.objects, strict=True)
    for offset, frame, each in frames:
        origin = polled.batches[0].header.origin_timestamp + frame.timestamp_delta
        due = {
            "checksum": frame.checksum,
            "id": frame.id,
            "offset": offset,
            "timestamp": polled.batches[0].header.base_timestamp,
            "origin_timestamp": origin,
        }
        unlike = next((name for name in due if header_of(each).get(name) != due[name]), None)
        if unlike or each.get("payload") != base64_text(frame.payload):
            return observed(f"different:{unlike or 'payload'}").on(polled, found)
    return observed("same").on(polled, found)


@case("iggy/apache/json/sent", clause="iggy.apache.json.sent")
def test_sent(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A message that was sent over HTTP is polled over TCP as it was sent."""
    sent = [message(b"first", *HEADERS, id=7), message(b"second", id=8)]
    answer = json_steps.send(apache, apache_topic, sent, partition_id(0))
    if not is_success(answer):
        return observed(f"http:{answer.failure or answer.status}").on(answer)
    polled = apache.poll_until(apache_topic, len(sent))
    return observe_messages(polled, sent, _differ_but_in_order)


def _differ_but_in_order(due: MessageFrame, found: MessageFrame) -> Difference | None:
    """Compare messages; no text says in which order user headers of a JSON array are stored."""
    difference = differ(due, found)
    if difference is None or difference.field != "headers":
        return difference
    one, other = (decode(USER_HEADERS, each.user_headers) for each in (due, found))
    is_same = sorted(map(repr, one)) == sorted(map(repr, other))
    return None if is_same else difference


@case("iggy/apache/json/shape", clause="iggy.apache.json.shape")
def test_shape(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A poll over HTTP returns an object with its head and the messages."""
    apache.send_accepted(apache_topic, *SENT)
    found = json_steps.poll_until(apache, apache_topic, len(SENT))
    value = found.answer.json.value if found.answer.json is not None else None
    if not isinstance(value, dict) or not found.objects:
        return json_steps.observe_unread(found)
    lacking = HEAD - value.keys()
    for each in found.objects:
        lacking |= {"header", "payload", "user_headers"} - each.keys()
        lacking |= FIELDS - header_of(each).keys()
    note = ", ".join(sorted(lacking))
    return observed("shape:lacking" if lacking else "shape:right", note=note).on(found)


@case("iggy/apache/json/id", clause="iggy.apache.json.id")
@pytest.mark.parametrize("number", [1 << 64, (1 << 128) - 1], ids=["2-to-64", "highest"])
def test_id(apache: ApacheServer, apache_topic: Topic, number: int) -> Observation:
    """An id beyond 2^64 is polled as the number that it is."""
    found = _send_and_get(apache, apache_topic, message(id=number))
    if not found.objects:
        return json_steps.observe_unread(found)
    is_it = header_of(found.objects[0]).get("id") == number
    return observed("id:as-sent" if is_it else "id:other").on(found)


@case("iggy/apache/json/base64", clause="iggy.apache.json.base64")
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def testbase64_text(apache: ApacheServer, apache_topic: Topic, payload: bytes) -> Observation:
    """The payload of a message is base64 text."""
    found = _send_and_get(apache, apache_topic, message(payload))
    if not found.objects:
        return json_steps.observe_unread(found)
    is_it = found.objects[0].get("payload") == base64_text(payload)
    return observed("payload:as-sent" if is_it else "payload:other").on(found)


@case("iggy/apache/json/headers", clause="iggy.apache.json.headers")
@pytest.mark.parametrize("headers", [HEADERS, ()], ids=["all-kinds", "none"])
def test_headers(
    apache: ApacheServer, apache_topic: Topic, headers: Sequence[UserHeader]
) -> Observation:
    """User headers are an array of typed keys and values."""
    found = _send_and_get(apache, apache_topic, message(b"payload", *headers))
    if not found.objects:
        return json_steps.observe_unread(found)
    shown = found.objects[0].get("user_headers")
    # No text says in which order: the server at commit cc269ef sorts by key.
    due = sorted(repr(header_object(each)) for each in headers)
    is_it = isinstance(shown, list) and sorted(map(repr, shown)) == due
    return observed("headers:as-sent" if is_it else "headers:other").on(found)


def _send_and_get(apache: ApacheServer, topic: Topic, sent: MessageFrame) -> JsonPolled:
    apache.send_accepted(topic, sent)
    return json_steps.poll_until(apache, topic, 1)
