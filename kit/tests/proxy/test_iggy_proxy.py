"""Iggy through the proxy: what each clause is shown by, and real traffic of the example peers."""

import base64
import json
import socket
import sys
from collections.abc import Sequence

import pytest
from proxied import DEADLINE, Proxied, proxied

from wireproof_kit.clients.events import Malformed
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
            for event in self.watcher.decode(0.0, part, by_client=by_client):
                self.kinds.append(type(event))
                for each in self.watcher.see(event):
                    self.shown[each.clause] = self.shown.get(each.clause) or each.what
        return self

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


def test_a_poll_must_not_begin_before_its_offset() -> None:
    traffic = Traffic().client(poll(value=5)).server(polled(make_message(4)))
    assert traffic.deviating() == {"iggy.poll.strategy-offset"}
    later = Traffic().client(poll(value=5)).server(polled(make_message(7)))
    assert "iggy.poll.strategy-offset" not in later.shown


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


def test_the_clauses_exist_and_each_is_of_one_side() -> None:
    catalogue = load_catalogue("iggy")

    for each in CLAUSES:
        assert catalogue.clause_of(f"iggy/passing/{each}") is not None


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
        driver.request("send", {"messages": [dict(each) for each in messages]}, within=DEADLINE)
        for count in (2, 10):
            asked: Fields = {"strategy": "offset", "value": "0", "count": count}
            driver.request("poll", asked, within=DEADLINE)
    finally:
        driver.close()


def create_topic(address: tuple[str, int]) -> None:
    created = (
        (commands.CREATE_STREAM, CreateStream(1, "s")),
        (commands.CREATE_TOPIC, CreateTopic(ONE, 1, 1, None, None, None, None, "t")),
    )
    with socket.create_connection(address, DEADLINE) as sock:
        sock.settimeout(DEADLINE)
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
