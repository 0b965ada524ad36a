"""Iggy through the proxy: what each clause is shown by, and real traffic of the example peers."""

import base64
import gzip
import json
import socket
import sys
import zlib
from collections.abc import Iterable, Sequence

import msgspec
import pytest
from proxied import PATIENCE_S, Proxied, proxied

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.drivers.driver import Driver
from wireproof_kit.iggy.clients.answers import http_answer, polled_body, polled_json, tcp_answer
from wireproof_kit.iggy.clients.log import make_message
from wireproof_kit.iggy.clients.script import Messages
from wireproof_kit.iggy.proxy.decoder import KEPT, Answered
from wireproof_kit.iggy.proxy.part import CLAUSES, IggyWatcher, list_services, make_part
from wireproof_kit.protocols import read_target
from wireproof_kit.proxy.events import Clipped, Undecoded
from wireproof_kit.targets.embedded import start_reference
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.decoding import encode
from wireproof_spec.driver.lines import Fields
from wireproof_spec.iggy import commands, kinds
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.poll_messages import POLL_MESSAGES, PollMessages
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.frame import request
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.message import Message

ONE = numeric(1)
CHUNK = 7001
PING = request(commands.PING)
DRIVER = (sys.executable, "-m", "wireproof_reference_impl.iggy.drive")


def poll(count: int = 10, value: int = 0) -> bytes:
    asked = PollMessages(Consumer(1, 1), ONE, ONE, 1, kinds.OFFSET, value, count, 0)
    return request(commands.POLL_MESSAGES, encode(POLL_MESSAGES, asked))


def polled(*messages: Message, generation: Generation = "published", change: str = "") -> bytes:
    return tcp_answer(0, polled_body(Messages(messages, change), generation))


class Traffic:
    """A connection, and what its bytes show."""

    def __init__(self, conn: str = "tcp1.1") -> None:
        self.watcher = IggyWatcher(conn)
        self.shown: dict[str, str] = {}
        self.kinds: list[type] = []

    def client(self, *data: bytes) -> "Traffic":
        return self._pass(b"".join(data), by_client=True)

    def server(self, *data: bytes) -> "Traffic":
        return self._pass(b"".join(data), by_client=False)

    def _pass(self, data: bytes, *, by_client: bool) -> "Traffic":
        # As a socket gives them: in pieces that end anywhere.
        for part in (data[at : at + CHUNK] for at in range(0, len(data), CHUNK)):
            self._see(self.watcher.decode(0.0, part, by_client=by_client))
        return self

    def end(self) -> "Traffic":
        self._see(self.watcher.decode_end(0.0))
        return self

    def _see(self, events: Iterable[Event]) -> None:
        for event in events:
            self.kinds.append(type(event))
            for each in self.watcher.see(event):
                assert each.difference is None or not each.holds
                what = "" if each.holds else each.note or each.value
                self.shown[each.clause] = self.shown.get(each.clause) or what

    def deviating(self) -> set[str]:
        return {clause for clause, what in self.shown.items() if what}


M0, M1 = make_message(0), make_message(1)


def test_right_traffic_of_both_generations_conforms() -> None:
    for generation in ("published", "tagged"):
        traffic = Traffic().client(PING, poll(2)).server(tcp_answer(0))
        traffic.server(polled(M0, M1, generation=generation))

        assert traffic.deviating() == set()
        assert set(traffic.shown) == {
            "iggy.client.well-formed",
            "iggy.frame.response",
            "iggy.frame.pipelined",
            "iggy.poll.count",
            "iggy.poll.as-many",
            "iggy.poll.strategy-offset",
            "iggy.message.layout",
            "iggy.message.offset-sequence",
            "iggy.message.timestamp-kept",
            "iggy.state.codes",
            "iggy.checksum.polynomial",
        }


@pytest.mark.parametrize(
    ("answer", "clause"),
    [
        (polled(make_message(0, checksum=1)), "iggy.checksum.polynomial"),
        (polled(make_message(0, state=99)), "iggy.state.codes"),
        (polled(M1, M0), "iggy.message.offset-sequence"),
        (polled(*(make_message(each) for each in range(11))), "iggy.poll.as-many"),
        (polled(M0, M1, change="cut-in-payload"), "iggy.message.layout"),
        (polled(M0, M1, change="count-fewer"), "iggy.poll.count"),
        (tcp_answer(1009, b"why"), "iggy.frame.response"),
        (tcp_answer(0) + tcp_answer(0), "iggy.frame.pipelined"),
    ],
)
def test_a_wrong_answer_deviates_from_its_clause(answer: bytes, clause: str) -> None:
    assert Traffic().client(poll()).server(answer).deviating() == {clause}


def test_a_poll_by_time_must_not_begin_before_it() -> None:
    strategy = PollMessages(Consumer(1, 1), ONE, ONE, 1, kinds.TIMESTAMP, M1.timestamp, 10, 0)
    asked = request(commands.POLL_MESSAGES, encode(POLL_MESSAGES, strategy))

    assert Traffic().client(asked).server(polled(M1)).deviating() == set()
    before = msgspec.structs.replace(M0, timestamp=M1.timestamp - 1)
    assert Traffic().client(asked).server(polled(before)).deviating() == {
        "iggy.poll.strategy-timestamp"
    }


def test_a_poll_must_not_begin_before_its_offset() -> None:
    traffic = Traffic().client(poll(value=5)).server(polled(make_message(4)))
    assert traffic.deviating() == {"iggy.poll.strategy-offset"}
    later = Traffic().client(poll(value=5)).server(polled(make_message(7)))
    assert "iggy.poll.strategy-offset" not in later.shown


def counted(status: int, body: bytes = b"") -> bytes:
    """Return an answer whose length counts the status, as one of the texts has it."""
    size = 4 + len(body) if status == 0 else 0
    return status.to_bytes(4, "little") + size.to_bytes(4, "little") + body


USER = (1).to_bytes(4, "little")
NOTHING = bytes(4)


@pytest.mark.parametrize(
    "answers",
    [
        [(0, b""), (0, b""), (0, USER)],
        [(0, USER), (0, b""), (0, b"")],
        [(7, b""), (0, b"x" * 96), (7, b""), (0, b"")],
    ],
)
@pytest.mark.parametrize("together", [1, 2])
def test_lengths_that_count_the_status_are_not_judged(
    answers: list[tuple[int, bytes]], together: int
) -> None:
    traffic = Traffic()
    for at in range(0, len(answers), together):
        some = answers[at : at + together]
        traffic.client(PING * len(some)).server(*(counted(*each) for each in some))
    traffic.client(poll()).server(counted(0, polled_body(Messages((M0,)), "published")))
    traffic.client(PING).server(counted(0))

    assert traffic.deviating() == set()
    assert Undecoded in traffic.kinds


def test_an_answer_that_may_be_read_in_two_ways_is_held_back() -> None:
    """A ping and an empty poll, or one answer and an error."""
    traffic = Traffic().client(PING, poll()).server(counted(0), counted(0, NOTHING))

    assert Answered not in traffic.kinds
    assert traffic.client(PING).kinds[-1] is Undecoded


@pytest.mark.parametrize("size", [1, 4, 9, CHUNK])
@pytest.mark.parametrize("together", [1, 3])
def test_lengths_of_the_payload_are_judged_however_they_come(size: int, together: int) -> None:
    traffic = Traffic().client(PING * together)
    data = tcp_answer(0, USER) * together
    for at in range(0, len(data), size):
        traffic.server(data[at : at + size])
    traffic.client(poll()).server(polled(M1, M0))

    assert traffic.kinds.count(Answered) == together + 1
    assert traffic.deviating() == {"iggy.message.offset-sequence"}


def test_a_request_may_be_refused_before_its_last_byte() -> None:
    broken = poll()
    traffic = Traffic().client(PING).server(tcp_answer(0)).client(broken[:9])
    traffic.server(tcp_answer(3)).client(broken[9:], poll()).server(polled(M0))

    assert traffic.deviating() == set()
    assert "iggy.message.layout" in traffic.shown
    assert traffic.server(tcp_answer(3)).deviating() == {"iggy.frame.pipelined"}
    twice = Traffic().client(broken[:9]).server(tcp_answer(3), tcp_answer(3))
    assert twice.deviating() == {"iggy.frame.pipelined"}


@pytest.mark.parametrize("kept", [2, 4, 9])
def test_a_stream_that_ends_inside_a_request_is_malformed(kept: int) -> None:
    traffic = Traffic().client(PING).server(tcp_answer(0)).client(poll()[:kept]).end()
    assert traffic.deviating() == {"iggy.client.well-formed"}

    assert Traffic().client(PING).end().deviating() == set()
    refused = Traffic().client(poll()[:kept]).server(tcp_answer(3)).end()
    assert refused.deviating() == set()


def test_an_early_refusal_over_http_is_that_of_the_request_on_its_way() -> None:
    traffic = Traffic("http1.1").client(b"POST /streams HTTP/1.1\r\nHost: x\r\n")
    traffic.server(http_answer(413, b"too long"))
    traffic.client(b"Content-Length: 4\r\n\r\n{", b"}  ")

    assert traffic.deviating() == set()


def test_no_messages_may_be_said_in_any_way() -> None:
    for body in (b"", b"\0", bytes(4)):
        assert Traffic().client(poll()).server(tcp_answer(0, body)).deviating() == set()


def test_a_request_of_another_form_deviates_and_ends_the_decoding() -> None:
    broken = request(commands.POLL_MESSAGES, b"\1\2\3")
    traffic = Traffic().client(broken)
    assert traffic.deviating() == {"iggy.client.well-formed"}
    assert traffic.kinds == [Malformed, Undecoded]
    assert traffic.server(tcp_answer(1009, b"why")).deviating() == {"iggy.client.well-formed"}


def test_commands_whose_form_is_not_known_for_certain_are_not_judged() -> None:
    traffic = Traffic().client(request(commands.CREATE_CONSUMER_GROUP, b"\1"), request(9999))
    traffic.server(tcp_answer(0), tcp_answer(3))

    assert set(traffic.shown) == {"iggy.frame.response", "iggy.frame.pipelined"}
    assert traffic.deviating() == set()


def test_what_is_too_long_is_passed_over_and_the_next_is_judged() -> None:
    large = make_message(0, bytes(KEPT + CHUNK))
    traffic = Traffic().client(request(9999, bytes(KEPT + CHUNK)), poll())
    traffic.server(tcp_answer(0), polled(large)).client(poll()).server(polled(M1, M0))

    assert traffic.kinds.count(Clipped) == 2
    assert traffic.kinds.count(Answered) == 3
    assert traffic.deviating() == {"iggy.message.offset-sequence"}


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({}, ""),
        ({"state": "fine"}, "iggy.state.names"),
        ({"checksum": 1}, "iggy.checksum.json"),
        ({"payload": "***"}, "iggy.json.payload"),
    ],
)
def test_polls_over_http_are_judged_too(change: Fields, clause: str) -> None:
    (message,) = json.loads(polled_json(Messages((M0,)), "published"))
    body = json.dumps([{**message, **change}]).encode()
    traffic = Traffic("http1.1")
    traffic.client(b"GET /streams/1/topics/1/messages?count=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    traffic.server(http_answer(200, body))

    assert traffic.deviating() == ({clause} if clause else set())
    assert "iggy.json.fields" in traffic.shown


@pytest.mark.parametrize("coding", ["gzip", "deflate", "chunked", "br"])
@pytest.mark.parametrize("checksum", [None, 1])
def test_answers_over_http_may_be_compressed(coding: str, checksum: int | None) -> None:
    body = polled_json(Messages((make_message(0, checksum=checksum),)), "published")
    packed = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
    head = f"Content-Encoding: {coding}\r\nContent-Length: {len(packed)}\r\n".encode()
    if coding == "chunked":
        head, packed = (
            b"Transfer-Encoding: chunked\r\n",
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
        )
    traffic = Traffic("http1.1")
    traffic.client(b"GET /streams/1/topics/1/messages?count=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    traffic.server(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + packed)

    is_read = coding != "br"
    assert traffic.deviating() == ({"iggy.checksum.json"} if checksum and is_read else set())
    assert ("iggy.json.fields" in traffic.shown) is is_read


def test_the_clauses_exist_and_each_is_of_one_side() -> None:
    catalogue = load_catalogue("iggy")

    for each in CLAUSES:
        assert catalogue.find_law(f"iggy/passing/{each}") is not None


def work(proxy: Proxied, http: str, options: Sequence[str] = ()) -> None:
    """Let the example client send and poll behind the proxy."""
    host, port = proxy.address
    settings: Fields = {
        "tcp": f"{host}:{port}",
        "http": http,
        "transport": "tcp",
        "stream": 1,
        "topic": 1,
        "partition": 1,
    }
    driver = Driver.start([*DRIVER, *options], settings=settings)
    try:
        payloads = [base64.b64encode(b"%d" % each).decode() for each in range(3)]
        messages = [{"payload": each, "id": str(9 + at)} for at, each in enumerate(payloads)]
        driver.request("send", {"messages": [dict(each) for each in messages]}, within=PATIENCE_S)
        for count in (2, 10):
            asked: Fields = {"strategy": "offset", "value": "0", "count": count}
            driver.request("poll", asked, within=PATIENCE_S)
    finally:
        driver.close()


def create_topic(address: tuple[str, int]) -> None:
    created = (
        (commands.CREATE_STREAM, CreateStream(1, "s")),
        (commands.CREATE_TOPIC, CreateTopic(ONE, 1, 1, None, None, None, None, "t")),
    )
    with socket.create_connection(address) as sock:
        for code, payload in created:
            sock.sendall(request(code, encode(payload_schema(code), payload)))
            assert sock.recv(8, socket.MSG_WAITALL) == bytes(8)


@pytest.mark.process
@pytest.mark.parametrize(
    ("server_fault", "client_fault", "clause"),
    [
        ("", "", ""),
        ("checksum-castagnoli", "", "iggy.checksum.polynomial"),
        ("poll-count-off-by-one", "", "iggy.poll.count"),
        ("", "client-sends-stored-layout", "iggy.client.well-formed"),
    ],
)
def test_the_example_peers_are_judged_by_what_passes(
    server_fault: str, client_fault: str, clause: str
) -> None:
    server = start_reference("iggy", ("--fault", server_fault) if server_fault else ())
    try:
        services = list_services(read_target(server.url))
        create_topic(services[0][1])
        with proxied(*services[:1], part=make_part(), protocol="iggy") as proxy:
            work(proxy, "127.0.0.1:1", ("--fault", client_fault) if client_fault else ())
    finally:
        server.close()

    assert proxy.observer.faults == []
    assert set(proxy.deviating()) == ({clause} if clause else set())
    if not clause:
        assert set(proxy.verdicts()) >= {
            "iggy.client.well-formed",
            "iggy.client.send-layout",
            "iggy.frame.response",
            "iggy.poll.count",
            "iggy.poll.as-many",
            "iggy.poll.strategy-offset",
            "iggy.message.layout",
            "iggy.message.offset-sequence",
            "iggy.state.codes",
            "iggy.checksum.polynomial",
        }
