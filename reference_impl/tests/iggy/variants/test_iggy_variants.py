"""Variants of the Iggy reference: each shows, in the way that its sentence says."""

import json
from typing import cast

import pytest
from iggy_bench import PLACE, Bench, frame, polling, sending, sent, u32

from wireproof_reference_impl.iggy.http import routes
from wireproof_spec.iggy import commands

TOPIC_PATH = "/streams/1/topics/1"
TOPIC_MESSAGES = f"{TOPIC_PATH}/messages"
UNKNOWN_COMMAND = 999
BALANCED = b"\x01\x00"
CONSUMER = b"\x01" + u32(1)


def count_of(body: bytes) -> int:
    return int.from_bytes(body[:4], "little")


def header(key: bytes) -> bytes:
    return u32(len(key)) + key + b"\x01" + u32(1) + b"v"


@pytest.mark.parametrize(
    ("variant", "name", "value"),
    [
        ("http-lower-case", "content-length", "4"),
        ("http-more-fields", "Server", "another"),
        ("http-chunked", "Transfer-Encoding", "chunked"),
        ("http-closing", "Connection", "close"),
    ],
)
def test_answers_over_http_have_other_fields(variant: str, name: str, value: str) -> None:
    raw = over_http(Bench(variants=[variant]), "/ping")
    assert f"{name}: {value}\r\n".encode() in raw
    assert f"{name}: {value}\r\n".encode() not in over_http(Bench(), "/ping")


def test_bodies_come_in_chunks_to_whoever_takes_them() -> None:
    bench = Bench(variants=["http-chunked"])
    bench.with_topic().ok(commands.SEND_MESSAGES, sending(sent(b"a" * 5000)))
    found = cast(list[dict[str, str]], bench.http("GET", TOPIC_MESSAGES).json)
    assert len(found[0]["payload"]) > 5000
    assert over_http(bench, "/ping").endswith(b"\r\n\r\n4\r\npong\r\n0\r\n\r\n")
    assert over_http(bench, "/ping", version="1.0").endswith(b"\r\n\r\npong")
    gone = over_http(bench, "/streams/1", method="DELETE")
    assert gone.startswith(b"HTTP/1.1 204 ")
    assert not gone.endswith(b"0\r\n\r\n")


def test_connections_over_http_end_behind_each_answer() -> None:
    for bench, ends in ((Bench(), False), (Bench(variants=["http-closing"]), True)):
        connection = routes.connection(bench.server)
        connection.receive(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n", bench.tick())
        assert connection.closed is ends


def test_words_stand_behind_the_status() -> None:
    assert over_http(Bench(variants=["http-reasons"]), "/nowhere").startswith(
        b"HTTP/1.1 404 Not Found\r\n"
    )


def test_the_type_names_its_character_set() -> None:
    answer = Bench(variants=["http-charset"]).http("GET", "/stats")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("variant", ["json-sorted", "json-between-blanks"])
def test_json_says_the_same_in_another_way(variant: str) -> None:
    bodies: list[bytes] = []
    for variants in ([], [variant]):
        bench = Bench(variants=variants)
        bench.with_topic()
        bodies.append(bench.http("GET", TOPIC_PATH).body)
    assert bodies[0] != bodies[1]
    assert json.loads(bodies[0]) == json.loads(bodies[1])


def test_what_has_an_id_tells_when_it_was_made() -> None:
    bench = Bench(variants=["json-with-times"])
    client = bench.with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a")))
    assert b"created_at" in bench.http("GET", TOPIC_PATH).body
    assert b"created_at" not in bench.http("GET", TOPIC_MESSAGES).body


@pytest.mark.parametrize("variant", ["json-headers-backwards", "headers-shuffled"])
def test_headers_come_in_another_order_in_json(variant: str) -> None:
    bench = Bench(variants=[variant])
    keys = [b"%02d" % each for each in range(20)]
    block = b"".join(header(key) for key in keys)
    bench.with_topic().ok(commands.SEND_MESSAGES, sending(sent(b"a", headers=block)))
    polled = cast(list[dict[str, dict[str, object]]], bench.http("GET", TOPIC_MESSAGES).json)
    found = [*polled[0]["headers"]]
    assert found != sorted(found)
    assert sorted(found) == [key.decode() for key in keys]


def test_an_answer_is_given_before_the_end() -> None:
    client = Bench(variants=["answered-then-closed"]).connect()
    client.send(frame(UNKNOWN_COMMAND))
    assert client.take() == u32(3) + u32(0)
    assert client.closed


def test_bytes_behind_a_poll_are_refused() -> None:
    client = Bench(variants=["trailing-refused"]).with_topic()
    assert client.ok(commands.POLL_MESSAGES, polling()) == u32(0)
    assert client.status(commands.POLL_MESSAGES, polling() + b"\0") == 3
    assert not client.closed


def test_clients_are_counted() -> None:
    bench = Bench(variants=["clients-counted"])
    first, second = (int.from_bytes(bench.connect().ok(20)[:4], "little") for _ in range(2))
    assert second == first + 1


def test_new_ids_come_down_from_the_greatest() -> None:
    client = Bench(variants=["ids-greatest"]).with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a", number=0)))
    assert client.ok(commands.POLL_MESSAGES, polling())[4 + 17 : 4 + 33][1:] == b"\xff" * 15


def test_the_first_of_an_id_is_kept() -> None:
    client = Bench(variants=["repeated-ids-dropped"]).with_topic()
    for payload in (b"first", b"second"):
        client.ok(commands.SEND_MESSAGES, sending(sent(payload, number=7)))
    client.ok(commands.SEND_MESSAGES, sending(sent(b"x", number=0), sent(b"y", number=0)))
    body = client.ok(commands.POLL_MESSAGES, polling())
    assert count_of(body) == 3
    assert b"first" in body
    assert b"second" not in body


def test_balanced_sends_begin_with_the_last_partition() -> None:
    client = Bench(variants=["balanced-from-the-last"]).with_topic(partitions=3)
    for payload in (b"a", b"b", b"c"):
        client.ok(commands.SEND_MESSAGES, sending(sent(payload), partitioning=BALANCED))
    found = [client.ok(commands.POLL_MESSAGES, polling(partition=n))[-1:] for n in (1, 2, 3)]
    assert found == [b"b", b"c", b"a"]


def test_only_what_is_available_is_delivered() -> None:
    bench = Bench(variants=["only-available-delivered"])
    client = bench.with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b")))
    where = "/control/message?stream=1&topic=1&partition=1&offset=0"
    bench.control("POST", f"{where}&state=poisoned")
    assert count_of(client.ok(commands.POLL_MESSAGES, polling())) == 1


def test_an_offset_that_was_never_stored_is_refused() -> None:
    client = Bench(variants=["never-stored-refused"]).with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a")))
    asked = CONSUMER + PLACE + u32(1)
    assert client.status(commands.GET_CONSUMER_OFFSET, asked) == 4100
    client.ok(commands.STORE_CONSUMER_OFFSET, asked + bytes(8))
    assert client.ok(commands.GET_CONSUMER_OFFSET, asked) == u32(1) + bytes(8)


def test_segments_are_many() -> None:
    client = Bench(variants=["segments-small"]).with_topic()
    for _ in range(3):
        client.ok(commands.SEND_MESSAGES, sending(sent(b"x" * 300)))
    partition = client.ok(commands.GET_TOPIC, PLACE)[-32:]
    assert int.from_bytes(partition[4:8], "little") == 3


def over_http(bench: Bench, path: str, *, method: str = "GET", version: str = "1.1") -> bytes:
    """Return an answer as it stands on the wire."""
    connection = routes.connection(bench.server)
    request = f"{method} {path} HTTP/{version}\r\nHost: x\r\n\r\n"
    connection.receive(request.encode(), bench.tick())
    return connection.take_output()
