import json

import pytest
from scripted_peer import Peer, ScriptedPeer

from wireproof_kit.iggy.control import ControlClient
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.iggy.wire.http import HttpClient, error_of, json_polled, messages_body
from wireproof_kit.wire.http import TransferResult
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.bodies.partitioning import make_balanced, partition_id
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import BOOL
from wireproof_spec.iggy.headers import Header
from wireproof_spec.strict_json import read

TOPIC = Topic(Stream(5, "stream"), 7, "topic", 1)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"


def answered(body: bytes, status: int = 200) -> TransferResult:
    return TransferResult(status, (), body, read(body))


SHAPES = {
    "array": (b'[{"offset":0},{"offset":1}]', "array", 2),
    "object": (b'{"partition_id":1,"current_offset":1,"messages":[{"offset":0}]}', "object", 1),
    "empty-array": (b"[]", "array", 0),
    "object-without-messages": (b'{"offset":0}', "other", 0),
    "messages-no-array": (b'{"messages":{}}', "other", 0),
    "number": (b"7", "other", 0),
    "strange-elements": (b'[1,{"offset":0},null]', "array", 1),
}


@pytest.mark.parametrize(("body", "shape", "count"), SHAPES.values(), ids=SHAPES)
def test_a_poll_is_read_in_both_shapes(body: bytes, shape: str, count: int) -> None:
    polled = json_polled(answered(body))

    assert (polled.shape, len(polled.objects)) == (shape, count)
    assert polled.is_readable == (shape != "other")


def test_an_error_is_no_poll() -> None:
    assert json_polled(answered(b"[]", status=400)).shape == "other"


ERRORS = {
    "whole": (b'{"id":3,"code":"invalid_command","reason":"x"}', (3, "invalid_command")),
    "without-a-number": (b'{"code":"invalid_command"}', (None, "invalid_command")),
    "number-a-bool": (b'{"id":true,"code":1}', (None, "")),
    "no-object": (b"[]", (None, "")),
}


@pytest.mark.parametrize(("body", "error"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_read_as_far_as_it_goes(body: bytes, error: tuple[int | None, str]) -> None:
    assert error_of(answered(body, status=400)) == error


def test_messages_are_posted_with_what_they_have() -> None:
    whole = SentMessage((1 << 128) - 1, (Header("k", BOOL, b"\1"),), b"\xff")
    body = messages_body([whole, SentMessage(0, (), b"a"), {"odd": 1}], partition_id(1))

    assert json.loads(json.dumps(body)) == {
        "partitioning": {"kind": "partition_id", "value": "AQAAAA=="},
        "messages": [
            {
                "id": (1 << 128) - 1,
                "payload": "/w==",
                "headers": {"k": {"kind": "bool", "value": "AQ=="}},
            },
            {"id": 0, "payload": "YQ=="},
            {"odd": 1},
        ],
    }
    assert messages_body([], make_balanced())["partitioning"] == {"kind": "balanced", "value": ""}


def test_requests_and_answers_are_recorded_and_a_token_is_shown() -> None:
    requests: list[bytes] = []

    def script(peer: Peer) -> None:
        requests.append(peer.until(b"\r\n\r\n"))
        peer.say(OK)

    transcript = Transcript()
    with ScriptedPeer(script) as peer:
        client = HttpClient(peer.address, transcript=transcript, seconds=5.0, token="T")
        answer = client.post("/streams", {"a": 1}, {"q": "a b"})
    assert answer.status == 200
    assert b"POST /streams?q=a%20b HTTP/1.1" in requests[0]
    assert b"Content-Type: application/json" in requests[0]
    assert b"Authorization: Bearer T" in requests[0]
    assert [step.kind for step in transcript.steps()] == ["request", "response"]
    assert b"Bearer TOKEN\r\n" in transcript.steps()[0].data
    assert transcript.steps()[1].data == OK


def test_a_client_that_gets_no_answer_says_why() -> None:
    def closing(peer: Peer) -> None:
        peer.until(b"\r\n\r\n")

    with ScriptedPeer(closing) as peer:
        client = HttpClient(peer.address, transcript=Transcript(), seconds=5.0)
        assert client.get("/ping").failure == "closed"


@pytest.mark.parametrize(("status", "done"), [(200, True), (400, False)])
def test_a_state_is_set_where_the_message_is(status: int, done: bool) -> None:
    asked: list[bytes] = []

    def script(peer: Peer) -> None:
        asked.append(peer.until(b"\r\n\r\n"))
        peer.say(OK.replace(b"200", str(status).encode()))

    with ScriptedPeer(script) as peer:
        http = HttpClient(peer.address, transcript=Transcript(), seconds=5.0)
        assert ControlClient(http).is_set(TOPIC, 3, 20) == done
    assert b"/control/message?stream=5&topic=7&partition=1&offset=3&state=20 " in asked[0]
