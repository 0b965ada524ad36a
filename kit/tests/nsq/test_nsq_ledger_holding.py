"""What the ledger says of messages that clients gave back or finished."""

import pytest
from nsq_exchange import EXT, Exchange

from wireproof_kit.nsq.wire import frames
from wireproof_spec.nsq.frame import error_frame

FINISHED_AGAIN = {"smart.message-id.finish": "again"}


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


def finish_at(exchange: Exchange, conn: str, *, answered_after_ms: int = 0) -> None:
    """Deliver a message and finish it; a later answer shows that FIN was read."""
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.fin(message_id))
    exchange.pause(answered_after_ms)
    exchange.ask(conn)


def test_a_copy_may_have_been_sent_before_req_was_read(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe()
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.req(message_id, 0))
    exchange.deliver(conn)
    exchange.deliver(conn, changes={"attempts": 2})

    assert exchange.broken() == {}


def test_attempts_grow_once_an_answer_shows_that_req_was_read(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe()
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.req(message_id, 0))
    exchange.ask(conn)
    exchange.deliver(conn)

    assert exchange.broken() == {"ext.consume.attempts": "attempts:other"}


def test_one_copy_is_allowed_and_no_second_one(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe()
    for _ in range(2):
        message_id = exchange.deliver(conn)
        exchange.send(conn, frames.req(message_id, 0))
    exchange.deliver(conn)

    assert exchange.broken() == {"ext.consume.attempts": "attempts:other"}


def test_a_copy_that_was_sent_before_req_is_finished_in_vain(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=60_000)
    message_id = exchange.deliver(conn)
    exchange.send(conn, frames.req(message_id, 0))
    exchange.deliver(conn, changes={"attempts": 2})
    exchange.send(conn, frames.fin(message_id))
    exchange.ask(conn)
    exchange.deliver(conn, changes={"attempts": 3})

    assert exchange.broken() == {}


@pytest.mark.parametrize("late", ["read", "answered"])
def test_a_time_out_may_have_ended_before_fin_was_read(exchange: Exchange, late: str) -> None:
    """The time-out begins when the broker sends a message, and FIN counts when it is read."""
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=1000)
    if late == "read":
        exchange.pause(900)
    finish_at(exchange, conn, answered_after_ms=900 if late == "answered" else 0)
    exchange.deliver(conn, changes={"attempts": 2})

    assert exchange.broken() == {}


@pytest.mark.parametrize("is_late_publish", [True, False])
def test_a_time_out_begins_after_publish_and_subscription(
    exchange: Exchange, is_late_publish: bool
) -> None:
    if not is_late_publish:
        exchange.publish()
    exchange.pause(900)
    conn = exchange.subscribe(timeout_ms=1000)
    if is_late_publish:
        exchange.pause(900)
        exchange.publish()
    finish_at(exchange, conn)
    exchange.deliver(conn, changes={"attempts": 2})

    assert exchange.broken() == FINISHED_AGAIN


@pytest.mark.parametrize("has_left", [True, False])
def test_a_finished_message_comes_to_no_later_client(exchange: Exchange, has_left: bool) -> None:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=60_000)
    finish_at(exchange, conn)
    if has_left:
        exchange.close(conn)
    exchange.deliver(exchange.subscribe(), changes={"attempts": 2})

    assert exchange.broken() == FINISHED_AGAIN


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_copy_for_another_client_may_have_been_sent_before(
    exchange: Exchange, is_asked: bool
) -> None:
    exchange.publish()
    conn, other = exchange.subscribe(timeout_ms=60_000), exchange.subscribe()
    finish_at(exchange, conn)
    if is_asked:
        exchange.ask(other)
    exchange.deliver(other, changes={"attempts": 2})
    exchange.ask(other)
    exchange.deliver(other, changes={"attempts": 3})

    assert exchange.broken() == (FINISHED_AGAIN if is_asked else {})


def test_a_message_that_two_clients_held_may_come_again(exchange: Exchange) -> None:
    exchange.publish()
    other, conn = exchange.subscribe(), exchange.subscribe(timeout_ms=60_000)
    exchange.deliver(other)
    finish_at(exchange, conn)
    exchange.deliver(exchange.subscribe(), changes={"attempts": 2})

    assert exchange.broken() == {}


def test_a_message_whose_fin_was_refused_may_come_again(exchange: Exchange) -> None:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=60_000)
    finish_at(exchange, conn)
    exchange.receive(conn, error_frame("E_FIN_FAILED"))
    exchange.deliver(exchange.subscribe(), changes={"attempts": 2})

    assert exchange.broken() == {}


def test_another_channel_delivers_what_one_has_finished(exchange: Exchange) -> None:
    exchange.publish()
    finish_at(exchange, exchange.subscribe(timeout_ms=60_000))
    exchange.deliver(exchange.subscribe(channel="d"))

    assert exchange.broken() == {}


def test_a_new_leader_may_not_know_what_was_finished(exchange: Exchange) -> None:
    exchange.publish()
    finish_at(exchange, exchange.subscribe(timeout_ms=60_000))
    exchange.request("/control/leader", {"topic": EXT.name})
    exchange.deliver(exchange.subscribe(), changes={"attempts": 2})

    assert exchange.broken() == {}
