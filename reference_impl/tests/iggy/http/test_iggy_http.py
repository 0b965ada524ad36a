"""The HTTP API where the recording does not reach: refusals, edges, both dialects."""

import random
from base64 import b64encode

import pytest
from iggy_bench import Bench, exchange

from wireproof_reference_impl.iggy.http import routes
from wireproof_spec.iggy import commands, golden

MESSAGES = "/streams/1/topics/1/messages"
ODD_BYTES = (b"", b'"', b"\\", b"\xff", b"\0", b"-", b"9" * 40, b"{", b"]", b"\\ud800", b"1e9")
BALANCED = {"kind": "balanced", "value": ""}


def message(payload: bytes = b"x", **others: object) -> dict[str, object]:
    return {"payload": b64encode(payload).decode(), **others}


def sending(*messages: object) -> dict[str, object]:
    return {"partitioning": BALANCED, "messages": list(messages)}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (message(b""), 4024),
        (message(headers={"": {"kind": "string", "value": "dg=="}}), 4018),
        (message(headers={"k": {"kind": "string", "value": ""}}), 4019),
        (message(headers={"k" * 256: {"kind": "string", "value": "dg=="}}), 4018),
    ],
    ids=["no-payload", "no-key", "no-value", "key-256"],
)
def test_http_refuses_what_tcp_refuses_unless_deployed(given: object, code: int) -> None:
    for dialect, status in (("published", 400), ("deployed", 201)):
        bench = Bench(dialect=dialect)
        bench.with_topic()
        answer = bench.http("POST", MESSAGES, sending(message(), given))
        assert answer.status == status
        if status == 400:
            assert isinstance(answer.json, dict)
            assert answer.json["id"] == code
            assert bench.http("GET", MESSAGES).json == []


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 415),
        (b"[]", 422),
        (b"nul", 400),
        (b'{"partitioning":null,"messages":[]}', 422),
        (b'{"partitioning":{"kind":"balanced","value":""},"messages":{}}', 422),
        (b'{"partitioning":{"kind":"balanced","value":""},"messages":[1]}', 422),
        (b'{"partitioning":{"kind":"balanced","value":"eA"},"messages":[]}', 422),
        (b'{"messages":[],"messages":[]}', 422),
        (b'{"messages":"\xff"}', 400),
        (b'{"messages\xff":1}', 400),
        (b'{"messages":"\\ud800"}', 400),
        (b'{"messages":NaN}', 400),
        (b"[" * 100_000, 400),
    ],
)
def test_bodies_that_cannot_be_read(raw: bytes, status: int) -> None:
    bench = Bench()
    bench.with_topic()

    answer = bench.http("POST", MESSAGES, raw=raw)

    assert (answer.status, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
    assert bench.http("GET", MESSAGES).json == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/streams/1/topics/1/messages/2", 404),
        ("/clients/x", 400),
        ("/streams/4294967296", 400),
        (f"/streams/{'n' * 256}", 400),
        (f"{MESSAGES}?count=1&count=2", 400),
        (f"{MESSAGES}?value=18446744073709551616", 400),
        ("/streams/%ff", 400),
    ],
)
def test_addresses_that_lead_nowhere(path: str, status: int) -> None:
    bench = Bench()
    bench.with_topic()
    assert bench.http("GET", path).status == status


def test_names_are_unescaped() -> None:
    bench = Bench()
    assert bench.http("POST", "/streams", {"stream_id": 5, "name": "Ä Ö"}).status == 201
    found = bench.http("GET", "/streams/%C3%A4.%C3%B6").json
    assert isinstance(found, dict)
    assert found["name"] == "ä.ö"


def test_head_is_get_without_a_body() -> None:
    answer = Bench().http("HEAD", "/ping")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "4")


def test_bodies_have_a_limit() -> None:
    bench = Bench(dialect="deployed")
    bench.with_topic()
    large = sending(message(b"x" * 2 * 1024 * 1024))
    assert bench.http("POST", MESSAGES, large).status == 413
    bench = Bench()
    bench.with_topic()
    assert bench.http("POST", MESSAGES, large).status == 201


def test_a_body_cut_short_is_refused() -> None:
    connection = routes.connection(Bench().server)
    connection.receive(b"POST /streams HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", 0)
    connection.end()
    assert connection.take_output().startswith(b"HTTP/1.1 400")


def test_garbage_is_refused() -> None:
    connection = routes.connection(Bench().server)
    connection.receive(b"\0\1\2\r\n\r\n", 0)
    assert connection.closed
    assert connection.take_output().startswith(b"HTTP/1.1 400")


def test_a_connection_serves_more_than_one_request() -> None:
    bench = Bench()
    connection = routes.connection(bench.server)
    for _ in range(2):
        answer = exchange(connection, "GET", "/ping", b"", {}, now_us=bench.tick())
        assert answer.body == b"pong"


def test_clients_are_those_over_tcp() -> None:
    bench = Bench()
    client = bench.connect()
    number = int.from_bytes(client.ok(commands.GET_ME)[:4], "little")
    assert bench.http("GET", "/clients").json == [
        {
            "id": number,
            "address": "127.0.0.1:40000",
            "transport": "TCP",
            "consumer_groups_count": 0,
        }
    ]
    details = bench.http("GET", f"/clients/{number}").json
    assert isinstance(details, dict)
    assert details["consumer_groups"] == []


def test_requests_that_were_damaged_are_answered() -> None:
    chance = random.Random(2)
    rows = [
        (f"{step.method} {step.path} HTTP/1.1\r\nHost: x", step.headers, step.body.encode())
        for scenario in golden.http()
        for step in scenario.steps
        if step.direction == "c2s" and step.body
    ]
    bench = Bench()
    bench.with_topic()
    for _ in range(1000):
        line, headers, body = chance.choice(rows)
        damaged = bytearray(body)
        for _ in range(3):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(3)] = chance.choice(ODD_BYTES)
        named = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"{line}\r\n{named}Content-Length: {len(damaged)}\r\n\r\n"
        connection = routes.connection(bench.server)
        connection.receive(head.encode() + damaged, bench.tick())
        assert connection.take_output()[9:10] in b"24"
