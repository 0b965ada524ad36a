"""What the ledger says of how soon a message comes again, and of how many a client holds."""

import pytest
from nsq_exchange import BODY, EXT, ORDERED, Exchange

from wireproof_kit.nsq.cluster import MOVE_PATH
from wireproof_kit.nsq.wire import frames
from wireproof_spec.nsq.frame import error_frame

LONG_MS = 60_000
TIMED_OUT = "smart.connection.timeout-negotiated"
AGAIN = {"attempts": 2}
BODIES = [BODY, b"wp:0123456789:2;", b"wp:0123456789:3;"]


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


def hold(exchange: Exchange, *, timeout_ms: int | None = LONG_MS) -> tuple[str, bytes]:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=timeout_ms)
    message_id = exchange.deliver(conn)
    exchange.ask(conn)
    return conn, message_id


def publish_three(exchange: Exchange) -> None:
    for body in BODIES:
        exchange.publish(body=body)


def deliver_three(exchange: Exchange, conn: str, count: int = 3) -> list[bytes]:
    return [
        exchange.deliver(conn, changes={"body": body, "internal_id": 7 + number})
        for number, body in enumerate(BODIES[:count])
    ]


@pytest.mark.parametrize(("passed_ms", "broken"), [(1000, True), (1200, False)])
def test_a_message_comes_again_after_the_delay_of_req(
    exchange: Exchange, passed_ms: int, broken: bool
) -> None:
    conn, message_id = hold(exchange)
    exchange.send(conn, frames.req(message_id, 1500))
    exchange.pause(passed_ms)
    exchange.deliver(conn, changes=AGAIN)

    assert exchange.broken() == ({"smart.connection.requeue": "early"} if broken else {})


def test_the_delay_of_req_counts_for_another_client(exchange: Exchange) -> None:
    conn, message_id = hold(exchange)
    other = exchange.subscribe()
    exchange.ask(other)
    exchange.send(conn, frames.req(message_id, 1500))
    exchange.deliver(other, changes=AGAIN)

    assert exchange.broken() == {"smart.connection.requeue": "early"}


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_copy_that_is_counted_may_come_at_once(exchange: Exchange, is_asked: bool) -> None:
    exchange.publish()
    conn = exchange.subscribe(timeout_ms=LONG_MS)
    message_id = exchange.deliver(conn)
    if is_asked:
        exchange.ask(conn)
    exchange.send(conn, frames.req(message_id, 1500))
    exchange.deliver(conn, changes=AGAIN)

    assert exchange.broken() == ({"smart.connection.requeue": "early"} if is_asked else {})


@pytest.mark.parametrize("is_read", [True, False])
def test_a_time_out_may_have_ended_before_req_was_read(exchange: Exchange, is_read: bool) -> None:
    conn, message_id = hold(exchange, timeout_ms=1000)
    exchange.pause(600)
    exchange.send(conn, frames.req(message_id, 5000))
    if is_read:
        exchange.ask(conn)
    exchange.pause(600)
    exchange.deliver(conn, changes=AGAIN)

    assert exchange.broken() == ({"smart.connection.requeue": "early"} if is_read else {})


@pytest.mark.parametrize("event", ["copy", "left", "refused", "moved"])
def test_what_may_come_at_any_time(exchange: Exchange, event: str) -> None:
    conn, message_id = hold(exchange)
    other = exchange.subscribe(timeout_ms=LONG_MS)
    if event == "left":
        exchange.close(conn)
    elif event == "refused":
        exchange.send(conn, frames.req(message_id, 5000))
        exchange.receive(conn, error_frame("E_REQ_FAILED"))
    elif event == "moved":
        exchange.request(MOVE_PATH, {"topic": EXT.name})
    exchange.deliver(other, changes={} if event == "copy" else AGAIN)

    assert exchange.broken() == {}


@pytest.mark.parametrize(("passed_ms", "broken"), [(700, True), (800, False)])
def test_a_message_is_in_flight_for_its_time_out(
    exchange: Exchange, passed_ms: int, broken: bool
) -> None:
    conn, _ = hold(exchange, timeout_ms=1000)
    exchange.pause(passed_ms)
    exchange.deliver(conn, changes=AGAIN)

    assert exchange.broken() == ({TIMED_OUT: "too-early"} if broken else {})


def test_a_second_time_out_is_as_long_as_the_first(exchange: Exchange) -> None:
    conn, _ = hold(exchange, timeout_ms=1000)
    exchange.pause(1000)
    exchange.deliver(conn, changes=AGAIN)
    exchange.ask(conn)
    exchange.pause(450)
    exchange.deliver(conn, changes={"attempts": 3})

    assert exchange.broken() == {TIMED_OUT: "too-early"}


@pytest.mark.parametrize("is_read", [True, False])
def test_a_touched_message_has_its_whole_time_out_again(exchange: Exchange, is_read: bool) -> None:
    conn, message_id = hold(exchange, timeout_ms=1000)
    exchange.pause(500)
    exchange.send(conn, frames.touch(message_id))
    if is_read:
        exchange.ask(conn)
    exchange.pause(600)
    exchange.deliver(conn, changes=AGAIN)

    assert exchange.broken() == ({"smart.message-id.touch": "too-early"} if is_read else {})


@pytest.mark.parametrize(
    ("ready", "finished", "broken"), [(2, False, True), (3, False, False), (2, True, False)]
)
def test_a_client_holds_no_more_than_rdy(
    exchange: Exchange, ready: int, finished: bool, broken: bool
) -> None:
    publish_three(exchange)
    conn = exchange.subscribe(ready=ready, timeout_ms=LONG_MS)
    ids = deliver_three(exchange, conn, 2)
    if finished:
        exchange.send(conn, frames.fin(ids[0]))
    exchange.deliver(conn, changes={"body": BODIES[2], "internal_id": 9})

    assert exchange.broken() == ({"smart.connection.ready": "too-many"} if broken else {})


def test_rdy_may_also_count_down(exchange: Exchange) -> None:
    """The original protocol also describes RDY as a number that each delivery decrements."""
    publish_three(exchange)
    conn = exchange.subscribe(ready=2, timeout_ms=LONG_MS)
    exchange.send(conn, frames.rdy(2))
    deliver_three(exchange, conn)

    assert exchange.broken() == {}


def test_what_may_have_timed_out_is_not_held(exchange: Exchange) -> None:
    publish_three(exchange)
    conn = exchange.subscribe(ready=1, timeout_ms=1000)
    deliver_three(exchange, conn, 1)
    exchange.pause(1000)
    exchange.deliver(conn, changes={"body": BODIES[1], "internal_id": 8})

    assert exchange.broken() == {}


def test_an_ordered_channel_has_one_message_in_flight(exchange: Exchange) -> None:
    for body in BODIES:
        exchange.publish(ORDERED, body)
    conn = exchange.subscribe(ORDERED, ready=5, timeout_ms=LONG_MS)
    exchange.deliver(conn, ORDERED)
    exchange.deliver(conn, ORDERED, {"body": BODIES[1], "internal_id": 8, "disk_queue_offset": 42})

    assert exchange.broken() == {"smart.order.one-in-flight": "too-many"}


@pytest.mark.parametrize(("attempts", "broken"), [(2, True), (1, False)])
def test_an_idle_client_was_given_nothing(exchange: Exchange, attempts: int, broken: bool) -> None:
    exchange.publish()
    exchange.subscribe(ready=0)
    exchange.close(exchange.subscribe(ready=0))
    exchange.deliver(exchange.subscribe(), changes={"attempts": attempts})

    assert exchange.broken() == ({"ext.consume.attempts": "attempts:other"} if broken else {})


@pytest.mark.parametrize(("attempts", "broken"), [(3, False), (4, True)])
def test_a_client_that_left_may_have_been_given_it_once_more(
    exchange: Exchange, attempts: int, broken: bool
) -> None:
    conn, _ = hold(exchange)
    exchange.close(conn)
    exchange.deliver(exchange.subscribe(), changes={"attempts": attempts})

    assert exchange.broken() == ({"ext.consume.attempts": "attempts:other"} if broken else {})


def test_a_message_is_known_by_its_id_when_it_comes_again(exchange: Exchange) -> None:
    body = b"no token"
    exchange.publish(body=body)
    conn = exchange.subscribe()
    exchange.deliver(conn, changes={"body": body})
    exchange.deliver(conn, changes={"body": b"another", "attempts": 2})

    assert exchange.broken() == {"ext.consume.body-intact": "delivered:body-changed"}
