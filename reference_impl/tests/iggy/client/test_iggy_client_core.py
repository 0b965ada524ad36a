"""The example Iggy client's core: operations, and both transports, without I/O."""

import json
from collections.abc import Iterator

import pytest

from wireproof_reference_impl.iggy.client.core import operations
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    CallFailed,
    Damaged,
    Lost,
    Poll,
    Refused,
    Send,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.http import HttpTransport, read_token
from wireproof_reference_impl.iggy.client.core.operations import Operation
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced
from wireproof_spec.iggy.bodies.poll_messages import PolledMessages, polled_messages_schema
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.frame import NEED_MORE, RequestReader, response
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.message import Message

GENERATIONS: tuple[Generation, ...] = ("published", "tagged")
POLL = Poll(value=5, count=1)


def settings(generation: Generation = "published", *, over_http: bool = False) -> Settings:
    place = (numeric(1), make_named("orders"))
    return Settings(("127.0.0.1", 1), over_http, *place, generation=generation)


def message(payload: bytes = b"body", checksum: int | None = None, state: int = 1) -> Message:
    right = payload_checksum(payload) if checksum is None else checksum
    return Message(5, state, 1, 7, right, (), payload)


def run(
    operation: Operation[tuple[Message, ...]] | Operation[None], *answers: Answer | CallFailed
) -> tuple[object, list[Call]]:
    """Return the result of an operation, and its calls."""
    calls = [next(operation)]
    script: Iterator[Answer | CallFailed] = iter(answers)
    try:
        while True:
            answer = next(script)
            failed = isinstance(answer, CallFailed)
            calls.append(operation.throw(answer) if failed else operation.send(answer))  # type: ignore[arg-type]  # one of the two
    except StopIteration as done:
        return done.value, calls


def test_a_damaged_message_is_polled_again_alone() -> None:
    result, calls = run(operations.poll(Poll(count=30)), (message(checksum=1),), (message(),))

    assert result == (message(),)
    assert calls == [Poll(count=30), Poll(value=5, count=1)]


def test_a_message_that_stays_damaged_is_given_up() -> None:
    damaged = (message(checksum=1),)
    with pytest.raises(Damaged, match="message 5 does not match its checksum"):
        run(operations.poll(POLL), damaged, damaged, damaged)


def test_a_lost_poll_is_repeated_once_but_not_with_auto_commit_and_no_send() -> None:
    assert run(operations.poll(POLL), Lost("x"), (message(),)) == ((message(),), [POLL, POLL])
    with pytest.raises(Lost):
        run(operations.poll(POLL), Lost("x"), Lost("y"))
    with pytest.raises(Lost):
        run(operations.poll(Poll(auto_commit=True)), Lost("x"))
    with pytest.raises(Lost):
        run(operations.send(Send((SentMessage(0, (), b"a"),), make_balanced())), Lost("x"))


def body(generation: Generation, *messages: Message) -> bytes:
    tagged = generation == "tagged"
    polled = PolledMessages(1 if tagged else None, 5 if tagged else None, messages)
    return encode(polled_messages_schema(generation), polled)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_an_answer_over_tcp_is_read_however_it_is_divided(generation: Generation) -> None:
    transport = TcpTransport(settings(generation))
    reader = RequestReader(1 << 20)
    reader.feed(transport.ask(POLL))
    assert reader.next_request() is not NEED_MORE
    data = response(0, body(generation, message()))

    answers = [transport.receive(data[at : at + 1]) for at in range(len(data))]

    assert answers == [None] * (len(data) - 1) + [(message(),)]
    assert transport.lasts()
    assert bool(transport.begin()) is (generation == "tagged")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", Lost),
        (response(3007), Refused),
        (response(0), Unreadable),
        (response(0, b"\x01"), Unreadable),
        (response(0, body("published", message(state=77))), Unreadable),
        (b"\x00\x00\x00\x00\xff\xff\xff\xff", Lost),
    ],
)
def test_what_comes_of_a_bad_answer_over_tcp(data: bytes, error: type[CallFailed]) -> None:
    transport = TcpTransport(settings())
    transport.ask(POLL)
    with pytest.raises(error):
        transport.receive(data)


def test_more_than_the_answer_ends_a_tcp_connection() -> None:
    transport = TcpTransport(settings())
    transport.ask(POLL)
    transport.receive(response(0, body("published")) + b"more")

    assert not transport.lasts()
    with pytest.raises(Lost, match="more than the answer"):
        transport.ask(POLL)


def http(status: int, data: bytes) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def polled_object(**changes: object) -> dict[str, object]:
    fields = {"offset": 5, "state": "available", "timestamp": 1, "id": 7, "headers": None}
    checksum = payload_checksum(b"body")
    return {**fields, "checksum": checksum, "payload": "Ym9keQ==", **changes}


def test_an_answer_over_http_is_read_and_the_connection_kept() -> None:
    transport = HttpTransport(settings(over_http=True))
    for _ in range(2):
        asked = transport.ask(POLL)
        answer = transport.receive(http(200, json.dumps([polled_object()]).encode()))
        assert answer == (message(),)
        assert transport.lasts()
        assert asked.startswith(b"GET /streams/1/topics/orders/messages?id=1&partition_id=1&kind=")


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "Available"},
        {"state": 1},
        {"checksum": -1},
        {"checksum": True},
        {"offset": 2**64},
        {"id": "7"},
        {"payload": "*"},
        {"payload": None},
        {"headers": []},
        {"headers": {"k": {"kind": "date", "value": ""}}},
    ],
)
def test_json_of_another_shape_is_unreadable(changes: dict[str, object]) -> None:
    transport = HttpTransport(settings(over_http=True))
    transport.ask(POLL)
    with pytest.raises(Unreadable):
        transport.receive(http(200, json.dumps([polled_object(**changes)]).encode()))


def test_a_refusal_over_http_has_its_status() -> None:
    transport = HttpTransport(settings(over_http=True))
    transport.ask(POLL)
    with pytest.raises(Refused) as raised:
        transport.receive(http(404, b'{"id": 3007}'))
    assert raised.value.code == 404


@pytest.mark.parametrize("told", [b"{}", b"[1", b'{"a":' + b"[" * 20000])
def test_a_login_without_a_token_is_unreadable(told: bytes) -> None:
    with pytest.raises(Unreadable, match="no token"):
        read_token(told)


def test_the_token_of_a_login_goes_with_later_requests() -> None:
    transport = HttpTransport(settings("tagged", over_http=True))
    (login,) = transport.begin()
    transport.ask(login)
    transport.receive(http(200, b'{"user_id": 1, "access_token": {"token": "t", "expiry": 1}}'))
    transport.lasts()

    assert b"\r\nAuthorization: Bearer t\r\n" in transport.ask(POLL)
