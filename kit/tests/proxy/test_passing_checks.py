"""Each clause that traffic may show: what holds it, what breaks it, what decides nothing."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from wireproof_kit.clients.events import Event
from wireproof_kit.nsq import proxy as nsq_proxy
from wireproof_kit.nsq.clients.events import Sent
from wireproof_kit.nsq.proxy.broker_checks import Positions
from wireproof_kit.nsq.proxy.part import (
    CLAUSES,
    OPENING,
    OPENING_LOOKUP,
    OPENING_ORDERED,
    OPENING_PARTITION,
    NsqWatcher,
)
from wireproof_kit.proxy.events import Clipped, Undecoded
from wireproof_spec.catalogue import load_catalogue
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.strict_json import JsonValue

ALL_OPENING = (*OPENING, *OPENING_PARTITION, *OPENING_ORDERED, *OPENING_LOOKUP)
OK = response_frame(b"OK")
BEAT = response_frame(b"_heartbeat_")
GRANTED = {"max_rdy_count": 100, "msg_timeout": 1000, "tls_v1": False, "snappy": False}
NO_FIELDS: Mapping[str, JsonValue] = {}
Said = tuple[str, bytes]
"""Who says it (client or broker), and what."""


class Traffic:
    """A connection to a node, and what its bytes show; time stands still unless it is moved."""

    def __init__(self, positions: Positions | None = None, conn: str = "nsqd1.1") -> None:
        self.watcher = NsqWatcher(conn, positions if positions is not None else Positions(100))
        self.events: list[Event] = []
        self.at = 0.0
        self.shown: dict[str, list[str]] = {}
        """What each clause's violations were; empty texts where it held."""

    def client(self, *data: bytes) -> "Traffic":
        return self._pass(b"".join(data), by_client=True)

    def broker(self, *data: bytes) -> "Traffic":
        return self._pass(b"".join(data), by_client=False)

    def _pass(self, data: bytes, *, by_client: bool) -> "Traffic":
        for event in self.watcher.decode(self.at, data, by_client=by_client):
            self.events.append(event)
            for each in self.watcher.see(event):
                self.shown.setdefault(each.clause, []).append(each.what)
        return self

    def deviating(self) -> set[str]:
        return {clause for clause, found in self.shown.items() if any(found)}

    def conforming(self) -> set[str]:
        return set(self.shown) - self.deviating()


def sized(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def identified(fields: Mapping[str, JsonValue] = NO_FIELDS) -> Traffic:
    """Return a connection that has been identified."""
    body = json.dumps({"client_id": "c", "feature_negotiation": True, **fields}).encode()
    traffic = Traffic().client(b"  V2IDENTIFY\n", sized(body))
    return traffic.broker(response_frame(json.dumps(GRANTED).encode()))


def subscribed(
    command: bytes = b"SUB t c 0\n", ready: int = 1, fields: Mapping[str, JsonValue] = NO_FIELDS
) -> Traffic:
    return identified(fields).client(command).broker(OK).client(b"RDY %d\n" % ready)


def message(
    number: int,
    *,
    trace: int = 0,
    attempts: int = 1,
    extend: Extend | None = None,
    place: tuple[int, int] | None = None,
) -> bytes:
    offset, size = place or (None, None)
    value = Message(1, attempts, number, trace, extend, offset, size, b"body")
    schema = message_schema(extend=extend is not None, ordered=place is not None)
    return message_frame(encode(schema, value))


def tagged(tag: str) -> bytes:
    return message(1, extend=header({"##client_dispatch_tag": tag}))


def finish(number: int, trace: int = 0) -> bytes:
    return b"FIN " + number.to_bytes(8, "big") + trace.to_bytes(8, "big") + b"\n"


def requeue(number: int) -> bytes:
    return b"REQ " + number.to_bytes(8, "big") + bytes(8) + b" 0\n"


def header(value: JsonValue) -> Extend:
    return Extend(4, json.dumps(value).encode())


def pub_ext(value: object) -> bytes:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"PUB_EXT t 0\n" + sized(len(data).to_bytes(2, "big") + data + b"body")


def pub_trace(trace: int) -> bytes:
    return b"PUB_TRACE t 0\n" + sized(trace.to_bytes(8, "big") + b"body")


def traced(internal: int, trace: int, offset: int = 0, size: int = 40) -> bytes:
    return response_frame(encode(TRACE_RESPONSE, TraceResponse(internal, trace, offset, size)))


PUB = b"PUB t 0\n" + sized(b"body")
TAGGED: dict[str, JsonValue] = {"extend_support": True, "desired_tag": "A"}
ORDERED = b"SUB_ORDERED t c 0\n"
EXT: dict[str, JsonValue] = {"extend_support": True}


def beaten(count: int, answer: bytes = b"") -> Traffic:
    """Return a connection with a heartbeat each second, and this answer to each."""
    traffic = identified()
    for number in range(count):
        traffic.at = float(number)
        traffic.broker(BEAT).client(answer)
    return traffic


def in_order(*places: tuple[int, int]) -> Traffic:
    """Return a connection with messages in order, by id and offset, each finished."""
    traffic = subscribed(ORDERED)
    for number, offset in places:
        traffic.broker(message(number, place=(offset, 40))).client(finish(number))
    return traffic


# By name: traffic, the clause it is about, and whether the clause holds.
ROWS: dict[str, tuple[Traffic, str, bool]] = {
    "commands": (identified(), "smart.client-send.well-formed", True),
    "no-command": (
        identified().client(b"PUB t 0\n\xff\xff\xff\xff"),
        "smart.client-send.well-formed",
        False,
    ),
    "no-magic": (Traffic().client(b"  V1IDENTIFY\n"), "smart.client-send.well-formed", False),
    "fin": (subscribed().broker(message(7)).client(finish(7)), "smart.client-send.finish", True),
    "fin-of-nothing": (
        subscribed().broker(message(7)).client(finish(8)),
        "smart.client-send.finish",
        False,
    ),
    "fin-without-trace": (
        subscribed().broker(message(7, trace=5)).client(finish(7)),
        "smart.client-send.finish",
        False,
    ),
    "beats": (
        identified().broker(BEAT).client(b"NOP\n").broker(BEAT).client(b"NOP\n"),
        "smart.client.heartbeat",
        True,
    ),
    "beats-late": (
        beaten(2).client(b"NOP\n", b"NOP\n").broker(BEAT),
        "smart.client.heartbeat",
        True,
    ),
    "beats-unanswered": (beaten(3), "smart.client.heartbeat", False),
    "nop": (identified().broker(BEAT).client(b"NOP\n"), "smart.client.heartbeat-nop", True),
    "no-nop": (
        beaten(3, PUB),
        "smart.client.heartbeat-nop",
        False,
    ),
    "rdy": (subscribed(ready=100), "smart.client-send.ready", True),
    "rdy-too-many": (subscribed(ready=101), "smart.client-send.ready", False),
    "pub-ext": (identified().client(pub_ext({"a": "b"})), "ext.client-header.publish", True),
    "pub-ext-list": (identified().client(pub_ext([1])), "ext.client-header.publish", False),
    "pub-ext-text": (identified().client(pub_ext(b"{a}")), "ext.client-header.publish", False),
    "tag": (
        identified().client(pub_ext({"##client_dispatch_tag": "A"})),
        "ext.client-header.tag",
        True,
    ),
    "tag-number": (
        identified().client(pub_ext({"##client_dispatch_tag": 1})),
        "ext.client-header.tag",
        False,
    ),
    "trace": (identified().client(pub_ext({"##trace_id": "1"})), "ext.client-header.trace", True),
    "trace-number": (
        identified().client(pub_ext({"##trace_id": 1})),
        "ext.client-header.trace",
        False,
    ),
    "frames": (identified(), "smart.connection.frame", True),
    "frame-of-type-3": (
        identified().broker(b"\0\0\0\6\0\0\0\3OK"),
        "smart.connection.frame",
        False,
    ),
    "frame-too-short": (identified().broker(b"\0\0\0\3\0\0\0"), "smart.connection.frame", False),
    "identify": (identified(), "smart.connection.identify", True),
    "identify-ok": (
        Traffic().client(b"  V2IDENTIFY\n", sized(b"{}")).broker(OK),
        "smart.connection.identify",
        True,
    ),
    "identify-other": (
        Traffic().client(b"  V2IDENTIFY\n", sized(b"{}")).broker(response_frame(b"YES")),
        "smart.connection.identify",
        False,
    ),
    "sub": (subscribed(), "smart.partition.subscribe", True),
    "sub-other": (
        identified().client(b"SUB t c 0\n").broker(response_frame(b"ok")),
        "smart.partition.subscribe",
        False,
    ),
    "pub": (identified().client(PUB, PUB).broker(OK, OK), "smart.partition.publish", True),
    "pub-other": (
        identified().client(PUB).broker(response_frame(b"OK\n")),
        "smart.partition.publish",
        False,
    ),
    "pub-trace": (
        identified().client(pub_trace(9)).broker(traced(1, 9)),
        "smart.trace.response",
        True,
    ),
    "pub-trace-swapped": (
        identified().client(pub_trace(9)).broker(traced(9, 1)),
        "smart.trace.response",
        False,
    ),
    "pub-trace-bare": (
        identified().client(pub_trace(9)).broker(OK),
        "smart.trace.response",
        False,
    ),
    "pub-ext-ok": (
        identified().client(pub_ext({"a": "b"})).broker(OK),
        "ext.publish.ok-response",
        True,
    ),
    "pub-ext-traced-unasked": (
        identified().client(pub_ext({"a": "b"})).broker(traced(1, 0)),
        "ext.publish.ok-response",
        False,
    ),
    "pub-ext-empty-trace": (
        identified().client(pub_ext({"##trace_id": ""})).broker(OK),
        "ext.publish.trace-empty",
        True,
    ),
    "pub-ext-empty-traced": (
        identified().client(pub_ext({"##trace_id": ""})).broker(traced(1, 0)),
        "ext.publish.trace-empty",
        False,
    ),
    "pub-ext-trace": (
        identified().client(pub_ext({"##trace_id": "9"})).broker(traced(1, 9)),
        "ext.publish.trace-response",
        True,
    ),
    "pub-ext-trace-bare": (
        identified().client(pub_ext({"##trace_id": "9"})).broker(OK),
        "ext.publish.trace-response",
        False,
    ),
    "plain-message": (subscribed().broker(message(1)), "ext.consume.plain-topic", True),
    "plain-message-short": (
        subscribed().broker(message_frame(bytes(25))),
        "ext.consume.plain-topic",
        False,
    ),
    "ext-message": (
        subscribed(fields=EXT).broker(message(1, extend=header({"a": "b"}))),
        "ext.consume.layout",
        True,
    ),
    "ext-message-none": (
        subscribed(fields=EXT).broker(message(1, extend=Extend(0, None))),
        "ext.consume.layout",
        True,
    ),
    "ext-length-past-end": (
        subscribed(fields=EXT).broker(message_frame(bytes(26) + b"\4\xff\xff{}")),
        "ext.consume.layout",
        False,
    ),
    "ext-attempts": (
        subscribed(fields=EXT).broker(message(1, extend=Extend(0, None))),
        "ext.consume.attempts",
        True,
    ),
    "ext-attempts-indicator": (
        subscribed(fields=EXT).broker(message(1, attempts=0xA001, extend=Extend(0, None))),
        "ext.consume.attempts",
        False,
    ),
    "ext-attempts-again": (
        subscribed(fields=EXT)
        .broker(message(1, extend=Extend(0, None)))
        .client(requeue(1))
        .broker(message(1, attempts=2, extend=Extend(0, None))),
        "ext.consume.attempts",
        True,
    ),
    "ext-attempts-same": (
        subscribed(fields=EXT)
        .broker(message(1, extend=Extend(0, None)))
        .client(requeue(1))
        .broker(message(1, extend=Extend(0, None))),
        "ext.consume.attempts",
        False,
    ),
    "tag-own": (
        subscribed(fields=TAGGED).broker(tagged("a")),
        "ext.dispatch.never-other-tag",
        True,
    ),
    "tag-other": (
        subscribed(fields=TAGGED).broker(tagged("B")),
        "ext.dispatch.never-other-tag",
        False,
    ),
    "tag-other-bare": (
        subscribed(fields=TAGGED).broker(message(1, extend=Extend(2, b"B"))),
        "ext.dispatch.never-other-tag",
        False,
    ),
    "window": (
        subscribed(ready=2).broker(message(1), message(2)).client(finish(1)).broker(message(3)),
        "smart.connection.ready",
        True,
    ),
    "window-exceeded": (
        subscribed(ready=2).broker(message(1), message(2), message(3)),
        "smart.connection.ready",
        False,
    ),
    "window-lowered": (
        subscribed(ready=2).client(b"RDY 1\n").broker(message(1), message(2)),
        "smart.connection.ready",
        True,
    ),
    "order-sub": (subscribed(ORDERED), "smart.order.command", True),
    "order-sub-other": (
        identified().client(ORDERED).broker(response_frame(b"yes")),
        "smart.order.command",
        False,
    ),
    "order-place": (
        subscribed(ORDERED).broker(message(1, place=(0, 40))),
        "smart.order.layout",
        True,
    ),
    "order-no-place": (
        subscribed(ORDERED).broker(message_frame(bytes(26) + b"body")),
        "smart.order.layout",
        False,
    ),
    "order-ext-place": (
        subscribed(ORDERED, fields=EXT).broker(message(1, extend=header({}), place=(0, 40))),
        "smart.order.ext-place",
        True,
    ),
    "order-ext-no-place": (
        subscribed(ORDERED, fields=EXT).broker(message(1, extend=header({}))),
        "smart.order.ext-place",
        False,
    ),
    "order-one": (
        subscribed(ORDERED)
        .broker(message(1, place=(0, 40)))
        .client(finish(1))
        .broker(message(2, place=(40, 40))),
        "smart.order.one-in-flight",
        True,
    ),
    "order-two": (
        subscribed(ORDERED, ready=5).broker(message(1, place=(0, 40)), message(2, place=(40, 9))),
        "smart.order.one-in-flight",
        False,
    ),
    "order-grows": (
        in_order((1, 0), (2, 40)),
        "smart.order.increasing",
        True,
    ),
    "order-set-back": (
        in_order((5, 160), (2, 40)),
        "smart.order.increasing",
        True,
    ),
    "order-shuffled": (
        in_order((1, 80), (2, 40)),
        "smart.order.increasing",
        False,
    ),
    "order-attempts": (
        subscribed(ORDERED)
        .broker(message(1, place=(0, 40)))
        .client(requeue(1))
        .broker(message(1, attempts=2, place=(0, 40))),
        "smart.order.attempts",
        True,
    ),
    "order-attempts-same": (
        subscribed(ORDERED)
        .broker(message(1, place=(0, 40)))
        .client(requeue(1))
        .broker(message(1, place=(0, 40))),
        "smart.order.attempts",
        False,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_traffic_shows_a_clause_and_no_other_violation(name: str) -> None:
    traffic, clause, holds = ROWS[name]

    assert clause in (traffic.conforming() if holds else traffic.deviating())
    assert traffic.deviating() == (set() if holds else {clause})


def test_every_clause_has_traffic_of_both_kinds() -> None:
    opening = {clause_of(case) for case in ALL_OPENING}
    lookup = {clause for clause in CLAUSES if clause.startswith("smart.lookup.")}
    others = set(CLAUSES) - opening - lookup - {"smart.order.position"}

    assert {clause for _, clause, holds in ROWS.values() if holds} == others
    assert {clause for _, clause, holds in ROWS.values() if not holds} == others


def clause_of(case: str) -> str:
    clause = load_catalogue("nsq").clause_of(case)
    assert clause is not None
    return clause.id


def test_the_list_of_clauses_is_what_the_checks_name() -> None:
    folder = Path(next(iter(nsq_proxy.__path__)))
    text = "".join(path.read_text("utf-8") for path in folder.glob("*_checks.py"))
    named = set(re.findall(r'"((?:smart|ext)\.[a-z-]+\.[a-z-]+)"', text))
    layouts = {
        message_schema(extend=extend, ordered=ordered).clause
        for extend in (True, False)
        for ordered in (True, False)
    }
    opening = {clause_of(case) for case in ALL_OPENING}
    assert set(CLAUSES) == named | layouts | opening


def test_the_place_of_a_traced_message_is_that_of_its_publish() -> None:
    def shown(place: tuple[int, int], trace: int = 9) -> dict[str, list[str]]:
        positions = Positions(100)
        publishing = Traffic(positions).client(b"  V2", pub_trace(9))
        publishing.broker(traced(4, 9, offset=120, size=34))
        consuming = Traffic(positions, "nsqd2.1").client(b"  V2", ORDERED).broker(OK)
        return consuming.broker(message(4, trace=trace, place=place)).shown

    assert shown((120, 34))["smart.order.position"] == [""]
    assert "(120, 35)" in shown((120, 35))["smart.order.position"][0]
    assert "smart.order.position" not in shown((0, 1), trace=8)


def test_messages_that_may_have_timed_out_do_not_count_against_rdy() -> None:
    traffic = subscribed(ready=1).broker(message(1))
    traffic.at = 0.95
    traffic.broker(message(2))

    assert "smart.connection.ready" in traffic.conforming()


def test_heartbeats_that_come_together_may_be_answered_together() -> None:
    assert "smart.client.heartbeat" not in identified().broker(*[BEAT] * 20).shown


def test_an_older_rdy_counts_for_some_seconds_only() -> None:
    traffic = subscribed(ready=3).client(b"RDY 1\n")
    traffic.at = 6.0
    traffic.broker(message(1), message(2))

    assert "smart.connection.ready" in traffic.deviating()


@pytest.mark.parametrize(
    "said",
    [
        [("client", b"RDY 1\n"), ("broker", error_frame("E_INVALID")), ("broker", OK)],
        [("client", PUB), ("broker", error_frame("E_PUB_FAILED")), ("broker", OK)],
    ],
    ids=["of-rdy", "of-a-publish"],
)
def test_after_an_error_that_may_belong_to_several_no_answer_is_judged(
    said: Iterable[Said],
) -> None:
    traffic = identified().client(PUB, pub_trace(3))
    for who, data in said:
        traffic = traffic.client(data) if who == "client" else traffic.broker(data)

    assert "smart.partition.publish" not in traffic.shown
    assert "smart.trace.response" not in traffic.shown


def test_an_error_about_a_message_answers_no_publish() -> None:
    traffic = identified().client(PUB, finish(1)).broker(error_frame("E_FIN_FAILED"), OK)

    assert traffic.shown["smart.partition.publish"] == [""]


@pytest.mark.parametrize("granted", ["tls_v1", "deflate", "snappy"])
def test_what_is_encrypted_or_compressed_is_not_judged(granted: str) -> None:
    body = sized(json.dumps({granted: True}).encode())
    traffic = Traffic().client(b"  V2NOP\n", b"IDENTIFY\n", body)
    traffic.broker(response_frame(json.dumps({granted: True}).encode()), b"\x16\x03\x01")
    traffic.client(b"\x16\x03\x01" * 2000)

    assert traffic.deviating() == set()
    assert isinstance(traffic.events[-1], Undecoded)


def test_nothing_is_judged_after_a_command_that_is_not_known() -> None:
    traffic = identified().client(b"DPUB t 100\n", sized(b"PUB\n\xff\xff\xff\xff"), b"XYZ\n")
    traffic.broker(BEAT, BEAT, BEAT, b"\0\0\0\1")

    assert traffic.deviating() == set()


def test_of_a_long_command_or_frame_the_beginning_is_judged_and_the_rest_skipped() -> None:
    long = bytes(1 << 20)
    traffic = identified()
    data = b"PUB t 0\n" + sized(long) + PUB
    for at in range(0, len(data), 1 << 16):
        traffic.client(data[at : at + (1 << 16)])
    data = OK + b"\0\x10\0\4\0\0\0\0" + long + OK
    for at in range(0, len(data), 1 << 16):
        traffic.broker(data[at : at + (1 << 16)])

    clipped = [event for event in traffic.events if isinstance(event, Clipped)]
    assert [event.size for event in clipped] == [1 << 20, (1 << 20) + 4]
    assert all(event.kept <= 5 << 16 for event in clipped)
    assert traffic.shown["smart.partition.publish"][0] == ""
    last = traffic.events[-1]
    assert isinstance(last, Sent)
    assert last.data == b"OK"


LOOKUP: dict[str, JsonValue] = {
    "channels": [],
    "meta": {"partition_num": 1, "replica": 1},
    "producers": [],
    "partitions": {
        "0": {
            "id": "a",
            "remote_address": "a:1",
            "hostname": "a",
            "broadcast_address": "a",
            "tcp_port": 1,
            "http_port": 2,
            "version": "1",
            "distributed_id": "a",
        }
    },
}


def looked_up(answer: object, query: str = "topic=t&metainfo=true") -> dict[str, list[str]]:
    body = json.dumps(answer).encode()
    traffic = Traffic(conn="lookupd1.1")
    traffic.client(f"GET /lookup?{query} HTTP/1.1\r\nHost: l\r\n\r\n".encode())
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    return traffic.broker(head + body).shown


def test_lookup_answers_are_judged() -> None:
    nodes = LOOKUP["partitions"]
    assert isinstance(nodes, dict)
    node = nodes["0"]
    assert isinstance(node, dict)
    text_port = {**LOOKUP, "partitions": {"0": {**node, "tcp_port": "1"}}}

    assert {*map(tuple, looked_up(LOOKUP).values())} == {("",)}
    assert len(looked_up(LOOKUP)) == 3
    assert looked_up({"status_code": 200, "status_txt": "OK", "data": LOOKUP}) == looked_up(LOOKUP)
    assert looked_up({k: v for k, v in LOOKUP.items() if k != "producers"})[
        "smart.lookup.answer"
    ] == ["no producers"]
    assert "partition 0/tcp_port" in looked_up(text_port)["smart.lookup.node-record"][0]
    assert looked_up({**LOOKUP, "meta": {"replica": 1}})["smart.lookup.metainfo"] == [
        "meta: no partition_num"
    ]
    assert "smart.lookup.metainfo" not in looked_up(LOOKUP, "topic=t")
    assert looked_up({"channels": [], "producers": []}) == {}


def test_a_delayed_publish_of_the_original_nsq_is_read_and_what_follows_is_judged() -> None:
    traffic = identified().client(b"DPUB t 1000\n", sized(b"body"), PUB).broker(OK, OK)

    assert not any(isinstance(event, Undecoded) for event in traffic.events)
    assert "smart.partition.publish" in traffic.conforming()
    assert traffic.deviating() == set()
