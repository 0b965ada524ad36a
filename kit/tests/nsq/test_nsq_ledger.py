"""The rules of content of NSQ, each broken alone in a transcript, and what each allows."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import msgspec
import pytest

from wireproof_kit.ledger.outcomes import Outcome
from wireproof_kit.nsq.ledger.ledger import NsqLedger
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.http import path_with_query, request_bytes
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

ADDRESS = ("127.0.0.1", 4150)
EXT = Topic("wp_ext", 0, extend=True, ordered=False, shared=False, address=ADDRESS)
PLAIN = replace(EXT, name="wp_plain", extend=False)
ORDERED = replace(PLAIN, name="wp_ordered", ordered=True)
BODY = b"wp:0123456789:1;"
HEADER = {"k": "v"}


class Exchange:
    """Writes the transcript of a case in which a broker does what the test says."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._consumers = itertools.count(1)

    def publish(
        self,
        topic: Topic = EXT,
        body: bytes = BODY,
        header: Mapping[str, str] | bytes | None = HEADER,
        *,
        trace_id: int | None = None,
        answer: bytes | None = None,
    ) -> None:
        """Publish by TCP; the broker answers OK unless ``answer`` is another frame."""
        if trace_id is not None:
            command = frames.pub_trace(topic, trace_id, body)
        elif header is not None and topic.extend:
            command = frames.pub_ext(topic, header, body)
        else:
            command = frames.pub(topic, body)
        self.send("P", command)
        if answer is None:
            answer = response_frame(b"OK")
        self.receive("P", answer)

    def post(self, body: bytes = BODY, ext: str = '{"k":"v"}') -> None:
        """Publish by HTTP; the broker answers OK."""
        target = path_with_query("/pub_ext", {"topic": EXT.name, "partition": 0, "ext": ext})
        self.transcript.add("request", "H", data=request_bytes("POST", target, ADDRESS, body=body))
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"
        self.transcript.add("response", "H", data=answer)

    def subscribe(
        self, topic: Topic = EXT, *, tag: str = "", channel: str = "c", ready: int = 5
    ) -> str:
        """Subscribe a new client; return the name of its connection."""
        conn = f"C{next(self._consumers)}"
        fields = {"desired_tag": tag} if tag else {}
        self.send(conn, frames.identify(extend_support=topic.extend, **fields))
        self.receive(conn, response_frame(b"OK"))
        word = "SUB_ORDER" if topic.ordered else "SUB"
        self.send(conn, frames.subscribe(topic, channel, command=word))
        self.receive(conn, response_frame(b"OK"))
        self.send(conn, frames.rdy(ready))
        return conn

    def deliver(
        self, conn: str, topic: Topic = EXT, changes: Mapping[str, object] = MappingProxyType({})
    ) -> bytes:
        """Deliver a message, changed from what was published; return its id."""
        data = json.dumps(HEADER, separators=(",", ":")).encode()
        extend = Extend(4, data) if topic.extend else None
        offset, size = (0, 42) if topic.ordered else (None, None)
        right = Message(1_700_000_000_000_000_000, 1, 7, 0, extend, offset, size, BODY)
        message = msgspec.structs.replace(right, **changes)
        schema = message_schema(extend=topic.extend, ordered=topic.ordered)
        self.receive(conn, message_frame(encode(schema, message)))
        return message.message_id

    def send(self, conn: str, outgoing: Outgoing) -> None:
        """Send a command; the magic comes before the first one."""
        if not any(step.connection == conn for step in self.transcript.steps()):
            self.transcript.add("open", conn)
            self.transcript.add("send", conn, data=frames.magic().data)
        self.transcript.add("send", conn, data=outgoing.data, parts=outgoing.parts)

    def receive(self, conn: str, data: bytes) -> None:
        """Receive a frame."""
        self.transcript.add("receive", conn, data=data)

    def close(self, conn: str) -> None:
        """Close a connection."""
        self.transcript.add("close", conn, note="by the kit")

    def outcomes(self) -> list[Outcome]:
        """Return what the ledger concludes."""
        ledger = NsqLedger()
        ledger.read("nsq/case", self.transcript.steps())
        return list(ledger.conclude())

    def broken(self) -> dict[str, str]:
        """Return the broken clauses, each with the observation of its first breach."""
        return {each.clause: each.finding.value for each in self.outcomes() if each.finding}


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


def header(**names: object) -> Extend:
    return Extend(4, json.dumps(names).encode())


def test_a_right_delivery_keeps_the_clauses_of_content(exchange: Exchange) -> None:
    exchange.publish()
    exchange.deliver(exchange.subscribe())

    outcomes = exchange.outcomes()

    assert not any(each.broken for each in outcomes)
    assert {"ext.consume.layout", "ext.consume.body-intact", "ext.consume.header-intact"} <= {
        each.clause for each in outcomes
    }


BREACHES = {
    "body": ({"body": BODY + b"x"}, "ext.consume.body-intact", "delivered:body-changed"),
    "header": ({"extend": header(k="w")}, "ext.consume.header-intact", "delivered:header-changed"),
    "no-header": ({"extend": Extend(0, None)}, "ext.consume.header-intact", "delivered:no-header"),
    "attempts": ({"attempts": 2}, "ext.consume.attempts", "attempts:other"),
    "indicator": ({"attempts": 0xA001}, "ext.consume.attempts", "high-bits"),
    "timestamp": ({"timestamp_ns": 1_700_000_000_000}, "ext.consume.layout", "timestamp:other"),
}


@pytest.mark.parametrize(("changes", "clause", "word"), BREACHES.values(), ids=BREACHES)
def test_a_breach_is_seen_in_any_case(
    exchange: Exchange, changes: Mapping[str, object], clause: str, word: str
) -> None:
    exchange.publish()
    exchange.deliver(exchange.subscribe(), changes=changes)

    assert exchange.broken() == {clause: word}


@pytest.mark.parametrize(
    "found",
    [
        {"attempts": 1},
        {"extend": Extend(4, b'{ "k" : "v" }')},
        {"extend": Extend(9, b'{"k":"v"}')},
    ],
    ids=["as-sent", "respelled", "other-version"],
)
def test_what_the_cases_allow_is_no_breach(
    exchange: Exchange, found: Mapping[str, object]
) -> None:
    exchange.publish()
    exchange.deliver(exchange.subscribe(), changes=found)

    assert exchange.broken() == {}


def test_a_message_of_another_partition_is_foreign(exchange: Exchange) -> None:
    exchange.publish(replace(EXT, partition=1))
    exchange.deliver(exchange.subscribe())

    assert exchange.broken() == {"smart.partition.own-messages": "foreign"}


def test_ids_and_position_are_those_of_the_answer(exchange: Exchange) -> None:
    answer = response_frame(encode(TRACE_RESPONSE, TraceResponse(7, 77, 0, 42)))
    exchange.publish(ORDERED, header=None, trace_id=77, answer=answer)
    conn = exchange.subscribe(ORDERED)
    exchange.deliver(conn, ORDERED, {"internal_id": 8, "trace_id": 78, "disk_queue_offset": 1})

    assert exchange.broken() == {
        "smart.message-id.halves": "other-trace-id",
        "smart.trace.internal-id": "other-internal-id",
        "smart.order.position": "other-position",
    }


FOREIGN = {"body": b"nobody published this", "internal_id": 99}


@pytest.mark.parametrize(
    ("topic", "changes", "header", "expected"),
    [
        (EXT, FOREIGN, HEADER, {"smart.partition.own-messages": "foreign"}),
        (EXT, FOREIGN | {"body": b"wp:aaaaaaaaaa:1;"}, HEADER, {}),
        (replace(EXT, name="orders"), FOREIGN, HEADER, {}),
        (EXT, FOREIGN, b'{"k":1', {}),
    ],
    ids=["own-topic", "of-a-probe", "a-users-topic", "malformed-publish"],
)
def test_a_message_that_nobody_published_is_foreign(
    exchange: Exchange,
    topic: Topic,
    changes: Mapping[str, object],
    header: Mapping[str, str] | bytes,
    expected: Mapping[str, str],
) -> None:
    exchange.publish(topic, header=header)
    exchange.deliver(exchange.subscribe(topic), topic, changes)

    assert exchange.broken() == expected


OTHER = b"wp:0123456789:2;"


def deliver_two(exchange: Exchange, topic: Topic, ids: tuple[int, int]) -> str:
    """Publish two messages, one after the other, and deliver them with these internal ids."""
    for body in (BODY, OTHER):
        exchange.publish(topic, body)
    conn = exchange.subscribe(topic)
    exchange.deliver(conn, topic, {"internal_id": ids[0]})
    exchange.deliver(conn, topic, {"internal_id": ids[1], "body": OTHER})
    return conn


@pytest.mark.parametrize(("ids", "word"), [((7, 6), "falling"), ((7, 7), "equal"), ((7, 8), "")])
def test_ids_grow_from_each_message_to_the_next(
    exchange: Exchange, ids: tuple[int, int], word: str
) -> None:
    deliver_two(exchange, EXT, ids)

    assert exchange.broken() == ({"smart.message-id.increasing": word} if word else {})


def test_the_ids_of_a_topic_that_is_deleted_may_begin_anew(exchange: Exchange) -> None:
    deliver_two(exchange, EXT, (7, 6))
    target = path_with_query("/topic/delete", {"topic": EXT.name})
    exchange.transcript.add("request", "H", data=request_bytes("POST", target, ADDRESS))

    assert exchange.broken() == {}


@pytest.mark.parametrize("is_answered", [True, False])
def test_ids_of_publishes_under_way_together_are_not_compared(
    exchange: Exchange, is_answered: bool
) -> None:
    for body in (BODY, OTHER):
        exchange.send("P", frames.pub_ext(EXT, HEADER, body))
        if is_answered:
            exchange.receive("P", response_frame(b"OK"))
    if not is_answered:
        exchange.receive("P", response_frame(b"OK"))
        exchange.receive("P", response_frame(b"OK"))
    conn = exchange.subscribe()
    exchange.deliver(conn, changes={"internal_id": 9})
    exchange.deliver(conn, changes={"body": OTHER})

    broken = {"smart.message-id.increasing": "falling"} if is_answered else {}
    assert exchange.broken() == broken


@pytest.mark.parametrize("is_first_late", [True, False])
def test_an_ordered_channel_delivers_in_the_order_of_publishing(
    exchange: Exchange, is_first_late: bool
) -> None:
    for body in (BODY, OTHER):
        exchange.publish(ORDERED, body)
    conn = exchange.subscribe(ORDERED)
    late = [{"body": OTHER, "internal_id": 8}, {}]
    for changes in late if is_first_late else late[::-1]:
        exchange.deliver(conn, ORDERED, changes)

    broken = {"smart.order.in-order": "out-of-order"} if is_first_late else {}
    assert exchange.broken() == broken


def test_an_ordered_message_that_comes_again_is_in_order(exchange: Exchange) -> None:
    conn = deliver_two(exchange, ORDERED, (7, 8))
    exchange.deliver(conn, ORDERED, {"attempts": 2})

    assert exchange.broken() == {}


def test_a_requeued_message_has_one_attempt_more_and_the_same_id(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe()
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.req(message_id, 0))
    exchange.deliver(conn, changes={"attempts": 1, "internal_id": 9})

    assert exchange.broken() == {
        "ext.consume.attempts": "attempts:other",
        "smart.message-id.again": "other",
    }


def test_the_delivery_to_a_client_that_left_may_count_or_not(exchange: Exchange) -> None:
    exchange.publish()
    first = exchange.subscribe()
    exchange.deliver(first)
    exchange.close(first)
    exchange.deliver(exchange.subscribe(), changes={"attempts": 1})

    assert exchange.broken() == {}


@pytest.mark.parametrize("ready", [5, 0])
def test_a_tagged_message_goes_to_no_client_with_another_tag(
    exchange: Exchange, ready: int
) -> None:
    names = {"##client_dispatch_tag": "a"}
    exchange.publish(header=names)
    exchange.subscribe(ready=ready)
    exchange.deliver(exchange.subscribe(tag="b"), changes={"extend": header(**names)})

    clause = "ext.dispatch.never-other-tag" if ready else "ext.dispatch.other-tag-alone"
    assert exchange.broken() == {clause: "to:other"}


@pytest.mark.parametrize(
    "answer",
    [error_frame("E_BAD_MESSAGE"), error_frame("E_FAILED_ON_NOT_WRITABLE")],
    ids=["refused", "possible"],
)
def test_what_was_not_accepted_may_come(exchange: Exchange, answer: bytes) -> None:
    exchange.publish(answer=answer)
    exchange.deliver(exchange.subscribe())

    assert exchange.broken() == {}


def test_what_is_only_possible_comes_unaltered(exchange: Exchange) -> None:
    exchange.publish(answer=error_frame("E_FAILED_ON_NOT_WRITABLE"))
    exchange.deliver(exchange.subscribe(), changes={"extend": header(k="w")})

    assert exchange.broken() == {"ext.consume.header-intact": "delivered:header-changed"}


def test_a_frame_that_is_wrong_on_purpose_binds_nothing(exchange: Exchange) -> None:
    exchange.send("P", frames.pub_ext(EXT, b'{"k":1', BODY))
    exchange.receive("P", response_frame(b"OK"))
    exchange.deliver(exchange.subscribe(), changes={"body": BODY + b"x"})

    assert exchange.broken() == {}


def test_two_publishes_with_one_body_are_each_others_explanation(exchange: Exchange) -> None:
    exchange.publish(header={"k": "w"})
    exchange.publish(header=HEADER)
    exchange.deliver(exchange.subscribe())

    assert exchange.broken() == {}


def test_a_header_by_http_is_compared_by_its_values(exchange: Exchange) -> None:
    exchange.post()
    exchange.deliver(exchange.subscribe(), changes={"extend": header(k="w")})

    (outcome,) = [each for each in exchange.outcomes() if each.broken]
    assert (outcome.clause, outcome.way) == ("ext.http.header-stored", "http")
    assert [place.step.kind for place in outcome.evidence] == ["request", "response", "receive"]


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 40, b"\0\0\0\7\0\0\0\2abc"])
def test_nonsense_from_a_target_is_read_over(exchange: Exchange, data: bytes) -> None:
    exchange.publish()
    exchange.receive(exchange.subscribe(), data)
    exchange.transcript.add("request", "H", data=data)
    exchange.transcript.add("response", "H", data=data)

    assert exchange.broken() == {}


def test_every_way_is_in_the_catalogue() -> None:
    cases = [Exchange() for _ in range(5)]
    by_http, elsewhere, ordered, batch, later = cases
    second = replace(EXT, partition=1)
    by_http.post()
    conn = by_http.subscribe()
    by_http.deliver(conn)
    by_http.deliver(conn)
    trace = {"##trace_id": "5"}
    elsewhere.publish(second, header=trace)
    found = {"extend": header(**trace), "trace_id": 5}
    elsewhere.deliver(elsewhere.subscribe(second), second, found)
    ordered.publish(ORDERED)
    ordered.deliver(ordered.subscribe(ORDERED), ORDERED)
    batch.send("P", frames.mpub(PLAIN, [BODY]))
    batch.receive("P", response_frame(b"OK"))
    batch.deliver(batch.subscribe(PLAIN), PLAIN)
    later.publish()
    later.subscribe()
    later.deliver(later.subscribe())

    ways = {outcome.way for case in cases for outcome in case.outcomes()}

    assert ways == {
        "http",
        "again+http",
        "other-partition+traced",
        "ordered",
        "batch",
        "later-client",
    }
    for way in ways:
        assert load_catalogue("nsq").find_ways(f"nsq/passing/ext.consume.attempts/{way}")
