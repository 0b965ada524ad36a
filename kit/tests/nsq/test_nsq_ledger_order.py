"""What the ledger says of ordered messages: their layout, their order and growing numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from nsq_exchange import BODY, ORDERED, PLAIN, Exchange

from wireproof_kit.nsq.cluster import MOVE_PATH
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import error_frame, response_frame
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

OTHER = b"wp:0123456789:2;"
LATER = {"body": OTHER, "internal_id": 8, "disk_queue_offset": 42}
IN_ORDER: Sequence[Mapping[str, object]] = ({}, LATER)


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


def deliver_all(exchange: Exchange, found: Sequence[Mapping[str, object]]) -> None:
    conn = exchange.subscribe(ORDERED)
    for changes in found:
        exchange.send(conn, frames.fin(exchange.deliver(conn, ORDERED, changes)))


def test_an_ordered_message_has_offset_and_size(exchange: Exchange) -> None:
    exchange.publish(ORDERED)
    exchange.deliver(exchange.subscribe(ORDERED), PLAIN)

    assert exchange.broken() == {"smart.order.layout": "delivered:layout-plain"}


def test_no_text_says_how_sub_order_is_served_on_a_topic_without_order(
    exchange: Exchange,
) -> None:
    for body in (BODY, OTHER):
        exchange.publish(PLAIN, body)
    conn = exchange.subscribe(PLAIN, command="SUB_ORDER")
    for changes in (LATER, {}):
        exchange.deliver(conn, PLAIN, {**changes, "disk_queue_offset": None})

    assert exchange.broken() == {}


@pytest.mark.parametrize(
    ("path", "query", "clause"),
    [
        (MOVE_PATH, {"topic": ORDERED.name}, "smart.cluster.moved-order"),
        ("/control/leader", {"topic": ORDERED.name}, "smart.cluster.moved-order"),
        ("/control/node", {"node": "127.0.0.1:4150"}, "smart.cluster.gone-order"),
        ("/control/leader", {"topic": PLAIN.name}, "smart.order.in-order"),
    ],
)
def test_a_new_leader_should_keep_the_order(
    exchange: Exchange, path: str, query: Mapping[str, str], clause: str
) -> None:
    for body in (BODY, OTHER):
        exchange.publish(ORDERED, body)
    exchange.request(path, query)
    deliver_all(exchange, IN_ORDER[::-1])

    assert exchange.broken() == {clause: "out-of-order"}


def test_a_refusal_shows_that_the_leader_is_another_one(exchange: Exchange) -> None:
    for body in (BODY, OTHER):
        exchange.publish(ORDERED, body)
    exchange.publish(ORDERED, b"refused", answer=error_frame("E_FAILED_ON_NOT_LEADER"))
    deliver_all(exchange, IN_ORDER[::-1])

    assert exchange.broken() == {"smart.cluster.moved-order": "out-of-order"}


Publish = Callable[[Exchange], None]


def in_one_write(exchange: Exchange) -> None:
    both = [frames.pub(ORDERED, body).data for body in (BODY, OTHER)]
    exchange.send("P", Outgoing(b"".join(both)))
    exchange.receive("P", response_frame(b"OK") * 2)


def in_one_batch(exchange: Exchange) -> None:
    exchange.send("P", frames.mpub(ORDERED, [BODY, OTHER]))
    exchange.receive("P", response_frame(b"OK"))


def in_one_request(exchange: Exchange) -> None:
    exchange.request("/mpub", {"topic": ORDERED.name}, BODY + b"\n" + OTHER)


@pytest.mark.parametrize("is_in_order", [True, False])
@pytest.mark.parametrize("publish", [in_one_write, in_one_batch, in_one_request])
def test_messages_published_at_once_come_in_their_order(
    exchange: Exchange, publish: Publish, is_in_order: bool
) -> None:
    publish(exchange)
    deliver_all(exchange, IN_ORDER if is_in_order else IN_ORDER[::-1])

    expected = {} if is_in_order else {"smart.order.in-order": "out-of-order"}
    assert exchange.broken() == expected


def test_messages_of_two_connections_have_no_order(exchange: Exchange) -> None:
    for conn, body in (("P", BODY), ("Q", OTHER)):
        exchange.send(conn, frames.pub(ORDERED, body))
    for conn in ("P", "Q"):
        exchange.receive(conn, response_frame(b"OK"))
    deliver_all(exchange, IN_ORDER[::-1])

    assert exchange.broken() == {}


@pytest.mark.parametrize(
    ("later", "word"),
    [
        ({"disk_queue_offset": 0}, "disk-queue-offset-not-greater"),
        ({"internal_id": 7}, "internal-id-not-greater"),
    ],
    ids=["offset", "id"],
)
def test_numbers_of_ordered_messages_increase(
    exchange: Exchange, later: Mapping[str, object], word: str
) -> None:
    in_one_batch(exchange)
    deliver_all(exchange, [{}, {**LATER, **later}])

    assert exchange.broken() == {"smart.order.increasing": word}


@pytest.mark.parametrize("offset", [42, 41, 43])
def test_offsets_of_answers_increase(exchange: Exchange, offset: int) -> None:
    for number, found in ((7, 42), (8, offset)):
        answer = TraceResponse(number, 77, found, 42)
        exchange.publish(
            PLAIN,
            header=None,
            trace_id=77,
            answer=response_frame(encode(TRACE_RESPONSE, answer)),
        )

    assert exchange.broken() == ({} if offset > 42 else {"smart.trace.offset": "not-greater"})


def test_offsets_of_two_partitions_are_not_compared(exchange: Exchange) -> None:
    for partition in (0, 1):
        answer = TraceResponse(7 + partition, 77, 42, 42)
        exchange.publish(
            replace(PLAIN, partition=partition),
            header=None,
            trace_id=77,
            answer=response_frame(encode(TRACE_RESPONSE, answer)),
        )

    assert exchange.broken() == {}
