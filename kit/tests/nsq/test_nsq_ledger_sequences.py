"""Messages of NSQ compared with others: those that nobody published, ids that grow, order."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from nsq_exchange import ADDRESS, BODY, EXT, HEADER, ORDERED, Exchange

from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.http import path_with_query, request_bytes
from wireproof_spec.nsq.frame import error_frame, response_frame


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


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


@pytest.mark.parametrize(
    ("timeout_ms", "answer", "breaks"),
    [
        (60_000, response_frame(b"CLOSE_WAIT"), True),
        (60_000, error_frame("E_FIN_FAILED", "late"), False),
        (60_000, b"", False),
        (None, response_frame(b"CLOSE_WAIT"), False),
    ],
    ids=["read", "refused", "perhaps-not-read", "time-out-not-known"],
)
def test_a_finished_message_does_not_come_again(
    exchange: Exchange, timeout_ms: int | None, answer: bytes, breaks: bool
) -> None:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=timeout_ms)
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.fin(message_id))
    exchange.send(conn, frames.cls())
    exchange.receive(conn, answer)
    exchange.deliver(conn, changes={"attempts": 2})

    assert exchange.broken() == ({"smart.message-id.finish": "again"} if breaks else {})


def test_a_message_that_was_given_back_may_be_finished_in_vain(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=60_000)
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.req(message_id, 0))
    exchange.send(conn, frames.fin(message_id))
    exchange.send(conn, frames.cls())
    exchange.receive(conn, response_frame(b"CLOSE_WAIT"))
    exchange.deliver(conn, changes={"attempts": 2})

    assert exchange.broken() == {}


OTHER = b"wp:0123456789:2;"


def deliver_two(exchange: Exchange, topic: Topic, ids: tuple[int, int]) -> str:
    """Publish two messages, one after the other, and deliver them with these internal ids."""
    for body in (BODY, OTHER):
        exchange.publish(topic, body)
    conn = exchange.subscribe(topic)
    exchange.send(conn, frames.fin(exchange.deliver(conn, topic, {"internal_id": ids[0]})))
    later = {"internal_id": ids[1], "body": OTHER}
    exchange.deliver(conn, topic, later | ({"disk_queue_offset": 42} if topic.ordered else {}))
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


def test_a_publish_that_may_have_failed_may_be_stored_late(exchange: Exchange) -> None:
    exchange.publish(ORDERED, BODY, answer=error_frame("E_PUB_FAILED"))
    exchange.publish(ORDERED, OTHER)
    conn = exchange.subscribe(ORDERED)
    exchange.deliver(conn, ORDERED, {"body": OTHER, "internal_id": 8})
    exchange.deliver(conn, ORDERED)

    assert "smart.order.in-order" not in exchange.broken()


@pytest.mark.parametrize("is_first_late", [True, False])
def test_an_ordered_channel_delivers_in_the_order_of_publishing(
    exchange: Exchange, is_first_late: bool
) -> None:
    for body in (BODY, OTHER):
        exchange.publish(ORDERED, body)
    conn = exchange.subscribe(ORDERED)
    late = [{"body": OTHER, "internal_id": 8, "disk_queue_offset": 42}, {}]
    for changes in late if is_first_late else late[::-1]:
        exchange.send(conn, frames.fin(exchange.deliver(conn, ORDERED, changes)))

    broken = {"smart.order.in-order": "out-of-order"} if is_first_late else {}
    assert exchange.broken() == broken


def test_an_ordered_message_that_comes_again_is_in_order(exchange: Exchange) -> None:
    conn = deliver_two(exchange, ORDERED, (7, 8))
    exchange.send(conn, frames.fin((8).to_bytes(8, "big") + bytes(8)))
    exchange.deliver(conn, ORDERED, {"attempts": 2})

    assert exchange.broken() == {}
