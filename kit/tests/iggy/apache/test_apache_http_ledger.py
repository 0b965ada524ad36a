"""The ledger of generation apache over HTTP: JSON is held against what was sent and polled."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from apache_talk import TIME_US, Talk, stamped
from msgspec.structs import replace

from wireproof_kit.iggy.apache.batches import NAME, batch, message
from wireproof_kit.iggy.wire.http import base64_text
from wireproof_kit.wire.http import request_bytes

LONG_ID = (1 << 127) + 5
PATH = "/streams/0/topics/3"
HEADERS = [
    {
        "key": {"kind": "string", "value": base64_text(NAME.key.value)},
        "value": {"kind": "string", "value": base64_text(NAME.value.value)},
    }
]
SENT = batch(message(b"payload", NAME, id=LONG_ID), origin_us=TIME_US)
Object = dict[str, Any]


class HttpTalk(Talk):
    """A transcript of one connection over TCP and of requests over HTTP."""

    def exchange(
        self, method: str, target: str, body: object, status: int, answer: object
    ) -> None:
        """Record an HTTP request and its response."""
        name = self.transcript.connection_label()
        data = b"" if body is None else json.dumps(body).encode()
        wire = request_bytes(method, f"{PATH}{target}", ("127.0.0.1", 3000), body=data)
        self.transcript.add("request", name, data=wire)
        text = json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} OK\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
        self.transcript.add("response", name, data=head.encode() + text)

    def get(self, answer: object, **more: object) -> None:
        """Record a poll of partition 0 by offset."""
        query = {"consumer_id": 1, "partition_id": 0, "kind": "offset", "value": 0, "count": 10}
        text = "&".join(f"{name}={value}" for name, value in {**query, **more}.items())
        self.exchange("GET", f"/messages?{text}", None, 200, answer)

    def post(self, status: int = 201) -> None:
        """Record the message as sent over HTTP."""
        sent = {"id": str(LONG_ID), "payload": base64_text(b"payload"), "user_headers": HEADERS}
        where = {"kind": "partition_id", "value": base64_text(bytes(4))}
        body = {"partitioning": where, "messages": [sent]}
        self.exchange("POST", "/messages", body, status, {})


def shown(**changes: object) -> Object:
    """Return the message in JSON, with changes in its header or beside it."""
    header = {
        "checksum": SENT.frames[0].checksum,
        "id": LONG_ID,
        "offset": 0,
        "timestamp": TIME_US + 1,
        "origin_timestamp": TIME_US,
        "payload_length": 7,
    }
    inner = {name: each for name, each in changes.items() if name in header}
    outer = {name: each for name, each in changes.items() if name not in header}
    found = {"payload": base64_text(b"payload"), "user_headers": HEADERS}
    return {"header": {**header, **inner}, **found, **outer}


def answer(*messages: Object, **more: object) -> Object:
    head = {"partition_id": 0, "current_offset": 0, "count": len(messages)}
    return {**head, "messages": [*messages], **more}


CHANGES: Mapping[str, tuple[Object, dict[str, str]]] = {
    "nothing": (shown(), {}),
    "id": (shown(id=5), {"json.same": "different:id", "json.id": "id:other"}),
    "checksum": (shown(checksum=5), {"json.same": "different:checksum"}),
    "time": (shown(timestamp=5), {"json.same": "different:timestamp"}),
    "origin": (shown(origin_timestamp=5), {"json.same": "different:origin_timestamp"}),
    "payload": (shown(payload="b3RoZXIwMA=="), {"json.same": "different:payload"}),
    "length": (shown(payload_length=8), {"json.same": "different:payload_length"}),
    "headers": (
        shown(user_headers=[]),
        {"json.same": "different:user_headers", "json.headers": "headers:other"},
    ),
    "no-base64": (shown(payload="b3RoZXI"), {"json.base64": "payload:other"}),
    "object": (shown(user_headers={}), {"json.headers": "headers:other"}),
    "no-id": (shown(id=None), {"json.shape": "shape:lacking"}),
}


@pytest.mark.parametrize(("found", "broken"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("tcp", ["before", "behind", "never"])
def test_json_is_held_against_what_was_sent_and_is_polled(
    found: Object, broken: dict[str, str], tcp: str
) -> None:
    talk = HttpTalk()
    talk.send(SENT)
    if tcp == "before":
        talk.poll(stamped(SENT))
    talk.get(answer(found))
    if tcp == "behind":
        talk.poll(stamped(SENT))
    assert talk.broken() == broken


HEADS: Mapping[str, tuple[Object, dict[str, object]]] = {
    "partition": (answer(shown(), partition_id=1), {}),
    "count": (answer(shown(), count=2), {}),
    "more": (answer(shown(), shown(offset=1)), {"count": 1}),
    "order": (answer(shown(offset=1), shown(offset=0)), {}),
}


@pytest.mark.parametrize(("found", "asked"), HEADS.values(), ids=HEADS)
def test_what_stands_beside_messages_is_held_against_the_poll(
    found: Object, asked: dict[str, object]
) -> None:
    talk = HttpTalk()
    talk.get(found, **asked)
    assert set(talk.broken()) == {"json.poll"}


POLLED: Mapping[str, Callable[[], dict[str, object]]] = {
    "payload": lambda: {"payload": b"other"},
    "headers": lambda: {"user_headers": b""},
    "id": lambda: {"id": 5},
}


@pytest.mark.parametrize("change", [{}, *(each() for each in POLLED.values())])
def test_what_was_sent_over_http_is_polled_over_tcp(change: dict[str, object]) -> None:
    talk = HttpTalk()
    talk.post()
    frame = replace(SENT.frames[0], **change)
    talk.poll(stamped(batch(frame, origin_us=TIME_US + 9)))
    name = next(iter(change), "").removeprefix("user_")
    value = "delivered:user_headers" if name == "headers" else f"delivered:{name}"
    assert talk.broken() == ({"json.sent": value} if change else {})


def test_what_was_refused_over_http_is_not_compared() -> None:
    talk = HttpTalk()
    talk.post(400)
    talk.get(answer(shown(payload=base64_text(b"another"))))
    assert talk.broken() == {}


def test_a_block_that_is_no_list_of_headers_is_like_anything() -> None:
    talk = HttpTalk()
    talk.send(batch(message(b"payload", block=b"\x63\x01", id=LONG_ID), origin_us=TIME_US))
    talk.get(answer(shown(user_headers="YwE=", checksum=0)))
    assert talk.broken() == {"json.same": "different:checksum"}
