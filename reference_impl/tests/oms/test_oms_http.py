"""The adapter over HTTP, without sockets: answers in order, waiting, and what is refused."""

import json

import pytest
from oms_client import FIRST_NS, Client

from wireproof_reference_impl.oms.adapter.exact_json import exact_json
from wireproof_reference_impl.oms.http import HttpConnection
from wireproof_spec.driver.lines import MAX_LINE_BYTES
from wireproof_spec.strict_json import JsonValue


def request(op: str, **fields: JsonValue) -> bytes:
    body = exact_json({"id": 1, "op": op, **fields})
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Http:
    def __init__(self) -> None:
        self.client = Client()
        self.changes = 0
        self.connection = HttpConnection(self.client.adapter, "127.0.0.1:5", self._note)

    def _note(self) -> None:
        self.changes += 1

    def send(self, data: bytes) -> list[bytes]:
        """Send bytes, and return the answers that come at once."""
        self.connection.receive(data, FIRST_NS)
        return self.take()

    def take(self) -> list[bytes]:
        output = self.connection.take_output()
        return [b"HTTP/1.1 " + each for each in output.split(b"HTTP/1.1 ")[1:]]


def body(answer: bytes) -> object:
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def test_a_request_is_answered_however_it_is_cut() -> None:
    http, data = Http(), request("clock")
    answers = [answer for byte in data for answer in http.send(bytes([byte]))]
    assert [body(each) for each in answers] == [{"id": 1, "ok": {"now_ms": FIRST_NS // 10**6}}]
    assert answers[0].startswith(b"HTTP/1.1 200 OK\r\n")


def test_many_requests_at_once_are_answered_in_order() -> None:
    answers = Http().send(b"".join(request(f"fly-{number}") for number in range(2_000)))
    assert len(answers) == 2_000
    assert body(answers[-1]) == {"id": 1, "unsupported": "fly-1999"}


def test_requests_behind_one_that_waits_wait_too() -> None:
    http = Http()
    http.client.ok("create_destination", destination="q")
    waiting = request("receive", destination="q", group="g", timeout_ms=100)
    assert http.send(waiting + request("fly")) == []
    before = http.changes
    http.client.wait(0.1)
    assert http.changes == before + 2
    assert [body(each) for each in http.take()] == [
        {"id": 1, "ok": {"messages": []}},
        {"id": 1, "unsupported": "fly"},
    ]


def test_a_lost_connection_takes_no_message() -> None:
    http = Http()
    http.client.ok("create_destination", destination="q")
    http.send(request("receive", destination="q", group="g", timeout_ms=100))
    http.connection.lose()
    assert http.client.adapter.next_due_ns is None


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (MAX_LINE_BYTES + 1),
            b"413",
        ),
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_ends(data: bytes, status: bytes) -> None:
    http = Http()
    (answer,) = http.send(data)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"Connection: close" in answer
    assert http.connection.closed


def test_a_client_that_waits_for_100_is_told_so() -> None:
    http = Http()
    head = request("clock").replace(b"Host: x", b"Host: x\r\nExpect: 100-continue")
    start, _, rest = head.partition(b"\r\n\r\n")
    assert http.send(start + b"\r\n\r\n") == [b"HTTP/1.1 100 Continue\r\n\r\n"]
    assert len(http.send(rest)) == 1


def test_the_end_of_the_stream_ends_the_connection() -> None:
    http = Http()
    http.connection.end(FIRST_NS)
    assert http.connection.closed
