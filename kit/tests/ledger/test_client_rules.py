"""What a client does in any case, held against its driver and against its other connections."""

import json
from collections.abc import Iterable

import pytest

from wireproof_kit.clients.story import ASKED, DRIVER, KIT
from wireproof_kit.ledger.ledger import Ledger
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.events import MADE_BY_CASE
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import encode
from wireproof_spec.driver.lines import Fields, in_base64
from wireproof_spec.nsq import names
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

FIRST, OTHER, AGAIN = "nsqd1.1", "nsqd2.1", "nsqd1.2"
HELLO = {
    "hello": "wireproof-driver",
    "versions": [1],
    "name": "d",
    "version": "1",
    "operations": ["produce", "consume"],
    "claims": [],
}
OK = response_frame(b"OK")
TOPIC, CHANNEL = "t", "c"
UNALTERED, WAIT = "smart.client-publish.unaltered", "smart.client.wait-response"
PUBLISH, SUBSCRIBE = "smart.client-send.publish", "smart.client-send.subscribe"
RECEIPT, SHARD = "smart.client-trace.receipt", "smart.client.shard"
HANDLER, OUTCOMES = "smart.client.handler", "smart.client.handler-outcomes"
IDS, DECODE = "smart.client-consume.ids-told", "ext.client.decode"
HELD, ACCESS = "smart.client-consume.no-late-finish", "smart.client.lookup-access"
HEADER, TAG = "ext.client-header.publish", "ext.client-header.tag"
TRACE = "ext.client-header.trace"
BODY = b"the body"
PLACE = TraceResponse(2**63 + 1, 7, 2**40, 99)


def sent(data: bytes, conn: str = FIRST) -> Step:
    return Step(0, conn, "send", data)


def received(data: bytes, conn: str = FIRST, note: str = "") -> Step:
    return Step(0, conn, "receive", data, note=note)


def line(value: object, where: str = DRIVER) -> Step:
    return Step(0, where, "text", json.dumps(value).encode() + b"\n")


def asked(id: int, op: str, fields: Fields) -> Step:
    return line({"id": id, "op": op, "topic": TOPIC, **fields}, ASKED)


def produce(id: int, body: bytes = BODY, **fields: object) -> Step:
    return line(
        {"id": id, "op": "produce", "topic": TOPIC, "body": in_base64(body), **fields}, ASKED
    )


def begun(role: str = "producer", **values: str) -> list[Step]:
    given = json.dumps({"topic": TOPIC, "role": role, "ext": "", **values})
    return [Step(0, KIT, "note", note=f"given {given}"), line(HELLO)]


def opened(conn: str = FIRST, **identity: object) -> list[Step]:
    """Return the steps of a connection up to the answer to IDENTIFY."""
    fields = {"client_id": "c", "hostname": "h", "feature_negotiation": True, **identity}
    data = json.dumps(fields).encode()
    body = len(data).to_bytes(4, "big") + data
    return [
        Step(0, conn, "open"),
        sent(b"  V2IDENTIFY\n" + body, conn),
        received(response_frame(b'{"max_rdy_count":2500}'), conn),
    ]


def pub(body: bytes = BODY, *, words: str = "t 0", name: str = "PUB", conn: str = FIRST) -> Step:
    return sent(f"{name} {words}\n".encode() + len(body).to_bytes(4, "big") + body, conn)


def ext(header: object, body: bytes = BODY) -> Step:
    data = json.dumps(header).encode()
    return pub(len(data).to_bytes(2, "big") + data + body, name="PUB_EXT")


def subscribed(conn: str = FIRST, words: str = "t c 0", **identity: object) -> list[Step]:
    name = str(identity.pop("name", "SUB"))
    sub = sent(f"{name} {words}\n".encode(), conn)
    return [*opened(conn, **identity), sub, received(OK, conn), sent(b"RDY 1\n", conn)]


def message(
    number: int, *, body: bytes = BODY, attempts: int = 1, header: bytes | None = None
) -> bytes:
    extend = None if header is None else Extend(names.EXT_VERSION_JSON, header)
    made = Message(1, attempts, number, 5, extend, None, None, body)
    return message_frame(encode(message_schema(extend=extend is not None, ordered=False), made))


def id_of(number: int) -> bytes:
    return number.to_bytes(8, "big") + (5).to_bytes(8, "big")


def told(number: int, body: bytes = BODY, **fields: object) -> Step:
    return line(
        {"event": "message", "of": 1, "id": id_of(number).hex(), "body": in_base64(body), **fields}
    )


def consume(handler: str = "finish", **fields: object) -> list[Step]:
    request = {"id": 1, "op": "consume", "topic": TOPIC, "channel": CHANNEL, "handler": handler}
    return [*begun("consumer"), line({**request, **fields}, ASKED), line({"id": 1, "ok": {}})]


@pytest.fixture
def ledger() -> Ledger:
    return NSQ_CLIENTS.open_ledger()


def broken(ledger: Ledger, steps: Iterable[Step]) -> set[str]:
    """Return the clauses that the steps of one case break."""
    ledger.read("nsq/client/1", list(steps))
    return {each.clause for each in ledger.conclude() if each.broken}


def kept(ledger: Ledger) -> set[str]:
    return {each.clause for each in ledger.conclude() if each.kept}


def test_a_publish_as_it_was_asked_for_breaks_nothing(ledger: Ledger) -> None:
    steps = [*begun(), *opened(), produce(1), pub(), received(OK), line({"id": 1, "ok": {}})]
    assert broken(ledger, steps) == set()
    assert {UNALTERED, WAIT, PUBLISH} <= kept(ledger)


@pytest.mark.parametrize(
    ("request_", "publish", "clause"),
    [
        (produce(1), pub(BODY + b" "), UNALTERED),
        (produce(1), pub(words="u 0"), PUBLISH),
        (produce(1, ext={"a": "b"}), ext({"A": "b"}), HEADER),
        (produce(1, ext={"a": "b"}, tag="x"), ext({"a": "b"}), TAG),
        (produce(1, ext={"a": "b"}, trace_id="7"), ext({"a": "b", "##trace_id": 7}), TRACE),
    ],
)
def test_a_publish_of_something_else_is_a_breach(
    ledger: Ledger, request_: Step, publish: Step, clause: str
) -> None:
    assert clause in broken(ledger, [*begun(), *opened(), request_, publish])


def test_a_header_that_a_client_may_make_legal_is_not_compared(ledger: Ledger) -> None:
    steps = [*begun(), *opened(), produce(1, ext={"a b": "c"}), ext({"a_b": "c"})]
    assert broken(ledger, steps) == set()


@pytest.mark.parametrize("answers", [[], [received(error_frame("E_OTHER", ""))]])
def test_success_without_an_ok_is_a_breach(ledger: Ledger, answers: list[Step]) -> None:
    steps = [*begun(), *opened(), produce(1), pub(), *answers, line({"id": 1, "ok": {}})]
    assert broken(ledger, steps) == {WAIT}


def test_an_answer_belongs_to_the_publish_before_it(ledger: Ledger) -> None:
    both = [produce(1), pub(), produce(2, b"other"), pub(b"other")]
    steps = [*begun(), *opened(), *both, received(OK), line({"id": 2, "ok": {}})]
    assert broken(ledger, steps) == {WAIT}


def test_answers_behind_what_the_case_has_made_are_not_judged(ledger: Ledger) -> None:
    made = received(response_frame(b"what"), note=MADE_BY_CASE)
    steps = [*begun(), *opened(), produce(1), pub(), made, line({"id": 1, "ok": {}})]
    assert broken(ledger, steps) == set()


@pytest.mark.parametrize(("internal_id", "found"), [(2**63 + 1, set()), (1, {RECEIPT})])
def test_a_receipt_is_that_of_the_answer(
    ledger: Ledger, internal_id: int, found: set[str]
) -> None:
    answer = received(response_frame(encode(TRACE_RESPONSE, PLACE)))
    traced = pub(bytes(7) + b"\7" + BODY, name="PUB_TRACE")
    receipt = line({"id": 1, "ok": {"internal_id": str(internal_id), "offset": str(2**40)}})
    steps = [*begun(), *opened(), produce(1, trace_id="7"), traced, answer, receipt]
    assert broken(ledger, steps) == found


def test_a_sharding_id_keeps_its_partition(ledger: Ledger) -> None:
    first, second = produce(1, b"1", key="k"), produce(2, b"2", key="k")
    steps = [*begun(), *opened(), first, pub(b"1"), second, pub(b"2", words="t 1")]
    assert broken(ledger, steps) == {SHARD}


def test_later_subscriptions_are_like_the_first(ledger: Ledger) -> None:
    steps = [*consume(), *subscribed(), *subscribed(OTHER, "t c 1")]
    assert broken(ledger, steps) == set()


@pytest.mark.parametrize(
    ("later", "clause"),
    [
        (subscribed(AGAIN, "t c"), SUBSCRIBE),
        (subscribed(AGAIN, "c t 0"), SUBSCRIBE),
    ],
)
def test_a_later_subscription_to_something_else_is_a_breach(
    ledger: Ledger, later: list[Step], clause: str
) -> None:
    assert broken(ledger, [*consume(), *subscribed(), *later]) == {clause}


def test_an_ordered_topic_is_subscribed_to_in_order_again(ledger: Ledger) -> None:
    first = subscribed(FIRST, name="SUB_ORDER")
    steps = [*consume(ordered=True), *first, *subscribed(AGAIN)]
    assert broken(ledger, steps) == {"smart.client.order-each"}


def test_what_a_client_says_of_itself_it_says_on_each_connection(ledger: Ledger) -> None:
    begin = [*begun("consumer", ext="1"), *consume(tag="x")[2:]]
    first = subscribed(FIRST, extend_support=True, desired_tag="x")
    steps = [*begin, *first, *subscribed(OTHER, "t c 1")]
    assert broken(ledger, steps) == {"ext.client.identify", "ext.client-header.desired-tag"}


def test_each_lookup_has_the_access_of_the_role(ledger: Ledger) -> None:
    steps = begun("consumer")
    for number, access in enumerate(("r", "w"), start=1):
        target = f"/lookup?topic=t&access={access}&metainfo=true"
        request = f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
        conn = f"lookupd1.{number}"
        steps += [Step(0, conn, "open"), Step(0, conn, "request", request)]
    assert broken(ledger, steps) == {ACCESS}


def test_a_message_is_told_as_it_was_delivered(ledger: Ledger) -> None:
    steps = [*consume(), *subscribed(), received(message(1)), told(1, attempts=1, trace_id="5")]
    assert broken(ledger, steps) == set()
    assert {HANDLER, IDS} <= kept(ledger)


@pytest.mark.parametrize(
    ("event", "clause"),
    [
        (told(1, b"the bod"), HANDLER),
        (told(1, attempts=2), IDS),
        (told(1, internal_id="2"), IDS),
    ],
)
def test_a_message_told_otherwise_is_a_breach(ledger: Ledger, event: Step, clause: str) -> None:
    assert broken(ledger, [*consume(), *subscribed(), received(message(1)), event]) == {clause}


def test_a_header_that_is_told_once_is_told_again(ledger: Ledger) -> None:
    start = [*consume(), *subscribed(extend_support=True)]
    first, again = message(1, header=b'{"k":"v"}'), message(2, header=b'{"k":"v"}')
    steps = [*start, received(first), told(1, ext={"k": "v"}), received(again), told(2)]
    assert broken(ledger, steps) == {DECODE}


def test_a_library_without_a_word_for_headers_tells_none(ledger: Ledger) -> None:
    start = [*consume(), *subscribed(extend_support=True)]
    steps = [*start, received(message(1, header=b'{"k":"v"}')), told(1)]
    assert broken(ledger, steps) == set()


def test_a_finished_message_was_seen_by_its_handler(ledger: Ledger) -> None:
    finish = sent(b"FIN " + id_of(1) + b"\n")
    start = [*consume(), *subscribed(), received(message(1)), finish]
    assert broken(ledger, [*start, received(message(2)), told(2)]) == {OUTCOMES}


def test_a_handler_that_is_told_late_has_seen_the_message(ledger: Ledger) -> None:
    finish = sent(b"FIN " + id_of(1) + b"\n")
    start = [*consume(), *subscribed(), received(message(1)), finish]
    assert broken(ledger, [*start, received(message(2)), told(1), told(2)]) == set()


def test_a_message_is_finished_on_its_own_connection(ledger: Ledger) -> None:
    start = [*consume(), *subscribed(), *subscribed(OTHER, "t c 1"), received(message(1)), told(1)]
    finish = b"FIN " + id_of(1) + b"\n"
    assert broken(ledger, [*start, sent(finish, OTHER)]) == {HELD}
