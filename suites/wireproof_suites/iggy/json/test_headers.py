"""Headers in JSON: null, an object of kinds by name, and refused values."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import MISSING, observe_http, observe_unread
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import base64_text
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND
from wireproof_suites.iggy.steps.json_messages import (
    compare_transports,
    each_field,
    headers_value,
    observe_unread_json,
)
from wireproof_suites.iggy.steps.message_contents import (
    HEADER_SETS,
    PUBLISHED_HEADERS,
    make_numbered,
    message,
)
from wireproof_suites.iggy.steps.transports import OVER_HTTP, TRANSPORTS, send_over

UNKNOWN_KINDS: dict[str, object] = {
    "no-such-kind": "uint256",
    "upper-case": "UINT64",
    "capitalised": "Uint64",
    "empty": "",
    "code": 12,
    "null": None,
}


@case("iggy/json/headers-null", clause="iggy.json.headers-null")
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_headers_null(server: Server, topic: Topic, transport: str) -> Observation:
    """A JSON message without headers has the value null in its headers field."""
    sent = make_numbered(2)
    send_over(transport, server, topic, *sent)

    return each_field(server.get_until(topic, 2), sent, "headers", lambda _: None, word="null")


@case("iggy/json/headers", clause="iggy.json.headers-object")
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "headers",
    [*[(each,) for each in PUBLISHED_HEADERS], PUBLISHED_HEADERS],
    ids=["uint64", "string", "bool", "all-three"],
)
def test_headers(
    server: Server, topic: Topic, headers: tuple[Header, ...], transport: str
) -> Observation:
    """In JSON, headers are an object of entries with the kind's name and a base64 value."""
    return _as_sent(server, topic, transport, message(b"orders_data_3", *headers))


@case("iggy/json/kind", clause="iggy.json.other-kinds")
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_kind(server: Server, topic: Topic, kind: str, transport: str) -> Observation:
    """JSON headers name each header kind by its documented name."""
    return _as_sent(server, topic, transport, message(b"payload", *EVERY_KIND[kind]))


@case("iggy/json/unknown-kind", clause="iggy.json.other-kinds")
@pytest.mark.parametrize("kind", UNKNOWN_KINDS.values(), ids=UNKNOWN_KINDS)
def test_unknown_kind(server: Server, topic: Topic, kind: object) -> Observation:
    """A header whose JSON names an unknown kind of value is refused."""
    header = {"kind": kind, "value": base64_text(bytes(8))}
    sent = {"payload": base64_text(b"payload"), "headers": {"key": header}}

    return observe_http(server.post(topic, sent))


@case("iggy/json/headers-empty", clause="iggy.json.headers-empty")
def test_headers_empty(server: Server, topic: Topic) -> Observation:
    """A message sent with an empty headers object is polled with an empty object or null."""
    server.post(topic, {"payload": base64_text(b"payload"), "headers": {}})
    polled = server.get_until(topic, 1)
    unread = observe_unread_json(polled)
    if unread is not None:
        return unread
    if not polled.objects:
        return observed(MISSING, overdue=True)
    found = polled.objects[0].get("headers")
    if found is None:
        return observed("headers:null" if "headers" in polled.objects[0] else "headers:absent")

    return observed("headers:empty" if found == {} else "headers:other")


@case("iggy/json/same-as-binary", clause="iggy.json.same-as-binary")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_same_as_binary(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """A message sent over TCP has the same content when polled over TCP and over HTTP."""
    return _same(server, topic, "over-tcp", headers)


@case("iggy/json/same-when-posted", clause="iggy.json.same-as-binary")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_same_when_posted(
    server: Server, topic: Topic, headers: tuple[Header, ...]
) -> Observation:
    """A message sent over HTTP has the same content when polled over TCP and over HTTP."""
    return _same(server, topic, "over-http", headers)


def _as_sent(server: Server, topic: Topic, transport: str, sent: SentMessage) -> Observation:
    server.over_http = transport == OVER_HTTP
    server.send_allowed(topic, sent)
    polled = server.get_until(topic, 1)
    return each_field(polled, [sent], "headers", lambda each: headers_value(each.headers))


def _same(
    server: Server, topic: Topic, transport: str, headers: tuple[Header, ...]
) -> Observation:
    ids = (0, 1, (1 << 128) - 1)
    sent = [message(b"payload %d" % n, *headers, id=id) for n, id in enumerate(ids)]
    send_over(transport, server, topic, *sent)
    binary = server.poll_until(topic, len(sent))
    json = server.get_until(topic, len(sent))
    unread = observe_unread(binary) or observe_unread_json(json)
    if unread is not None:
        return unread
    if len(binary.seen) < len(sent) or len(json.objects) < len(sent):
        return observed(MISSING, overdue=True)
    return compare_transports(binary.messages, json.objects).on(json, binary)
