"""The adapter: every operation, waiting receives, a clock that is moved, and bad requests."""

from decimal import Decimal
from typing import cast

import pytest
from oms_client import FIRST_NS, Client, Object, message

from wireproof_reference_impl.oms.adapter.exact_json import exact_json
from wireproof_reference_impl.oms.adapter.lines import LineConnection
from wireproof_reference_impl.oms.adapter.requests import Malformed
from wireproof_spec import json_schema
from wireproof_spec.driver.lines import MAX_LINE_BYTES
from wireproof_spec.strict_json import JsonValue

FIRST_MS = FIRST_NS // 1_000_000


@pytest.fixture
def client() -> Client:
    client = Client()
    client.ok("create_destination", destination="q", partitions=2)
    return client


def received(answer: Object | None) -> list[Object]:
    assert answer is not None
    return cast(list[Object], cast(Object, answer["ok"])["messages"])


def test_the_greeting_fits_the_schema_and_names_every_operation() -> None:
    hello = Client().adapter.hello()
    assert [*json_schema.check("driver/hello", hello)] == []
    operations = cast(list[str], hello["operations"])
    assert {"create_destination", "send", "receive", "prepare", "clock"} <= {*operations}


def test_a_message_is_sent_received_rejected_and_settled(client: Client) -> None:
    sent = client.ok("send", message=message(expireTime=2**63 - 1, traceId="t"))
    for count in (1, 2):
        (delivery,) = received(client.ask("receive", destination="q", group="g"))
        told = cast(dict[str, Object], cast(Object, delivery["message"])["message"])
        assert told["extensionHeader"]["deliveryCount"] == count
        assert told["extensionHeader"]["expireTime"] == 2**63 - 1
        assert told["header"] == cast(Object, cast(Object, sent["message"])["message"])["header"]
        client.ok("nack" if count == 1 else "ack", receipt=delivery["receipt"])
    assert received(client.ask("receive", destination="q", group="g")) == []


def test_as_many_messages_come_as_were_asked_for(client: Client) -> None:
    for _ in range(5):
        client.ok("send", message=message())
    counts = [
        len(received(client.ask("receive", destination="q", group="g", max=most)))
        for most in (1, 3, 9)
    ]
    assert counts == [1, 3, 1]


def test_a_receive_waits_for_a_message_of_somebody_else(client: Client) -> None:
    other = Client(client.adapter)
    assert client.ask("receive", destination="q", group="g", timeout_ms=5_000) is None
    other.ok("send", message=message())
    assert len(received(client.answers[-1])) == 1
    assert client.adapter.next_due_ns is None


def test_a_receive_waits_for_a_message_to_be_due(client: Client) -> None:
    client.ok("send", message=message(delayTime=1_500))
    assert client.ask("receive", destination="q", group="g", timeout_ms=5_000) is None
    assert client.adapter.next_due_ns == FIRST_NS + 1_500_000_000
    client.wait(1.499)
    assert len(client.answers) == 2
    client.wait(0.001)
    assert len(received(client.answers[-1])) == 1


def test_a_receive_ends_with_nothing_when_its_time_is_over(client: Client) -> None:
    assert client.ask("receive", destination="q", group="g", timeout_ms=200) is None
    assert client.adapter.next_due_ns == FIRST_NS + 200_000_000
    client.wait(0.2)
    assert received(client.answers[-1]) == []


def test_a_message_that_is_held_is_born_before_it_is_sent(client: Client) -> None:
    assert client.ask("send", message=message(delayTime=300), hold_ms=200) is None
    assert client.adapter.next_due_ns == FIRST_NS + 200_000_000
    client.wait(0.2)
    sent = cast(Object, client.answers[-1]["ok"])["message"]
    told = cast(dict[str, Object], cast(Object, sent)["message"])
    assert told["header"]["bornTimestamp"] == FIRST_MS
    assert told["extensionHeader"]["storeTimestamp"] == FIRST_MS + 200
    client.ask("receive", destination="q", group="g", timeout_ms=1_000)
    client.wait(0.1)
    assert len(received(client.answers[-1])) == 1


def test_a_message_that_is_held_may_still_be_refused(client: Client) -> None:
    client.ask("send", message=message("nowhere"), hold_ms=200)
    client.wait(0.2)
    assert cast(Object, client.answers[-1]["error"])["code"] == "1404"


def test_a_delivery_tells_the_partition_that_it_comes_from(client: Client) -> None:
    for wanted in (1, 0):
        client.ok("send", message=message(partition=wanted))
        (delivery,) = received(client.ask("receive", destination="q", group="g"))
        assert delivery["partition"] == wanted


def test_the_clock_can_be_moved_ahead_and_a_receive_does_not_end_by_it(client: Client) -> None:
    client.ok("send", message=message(delayTime=30_000))
    client.ask("receive", destination="q", group="g", timeout_ms=5_000)
    assert client.ok("clock") == {"now_ms": FIRST_MS}
    assert client.ok("clock", advance_ms=29_000) == {"now_ms": FIRST_MS + 29_000}
    client.wait(0.999)
    assert len(client.answers) == 4
    client.wait(0.001)
    assert len(received(client.answers[-1])) == 1


def test_nobody_loses_a_message_to_a_client_that_is_gone(client: Client) -> None:
    gone = Client(client.adapter)
    assert gone.ask("receive", destination="q", group="g", timeout_ms=5_000) is None
    client.adapter.forget(gone)
    client.ok("send", message=message())
    assert len(received(client.ask("receive", destination="q", group="g"))) == 1


def test_an_unsettled_message_elsewhere_does_not_keep_a_receive_busy(client: Client) -> None:
    client.ok("create_destination", destination="other")
    client.ok("send", message=message("other"))
    received(client.ask("receive", destination="other", group="g"))
    client.wait(599)
    client.ask("receive", destination="q", group="g", timeout_ms=60_000)
    client.wait(2)
    assert cast(int, client.adapter.next_due_ns) > client.now_ns


def test_transactions_end_once(client: Client) -> None:
    for end, count in (("commit", 1), ("rollback", 0)):
        client.ok("prepare", message=message(transactionId=end))
        assert received(client.ask("receive", destination="q", group="g")) == []
        assert client.ok(end, transactionId=end) == {"transactionId": end}
        assert len(received(client.ask("receive", destination="q", group="g"))) == count
        answer = client.ask(end, transactionId=end)
        assert answer is not None
        assert cast(Object, answer["error"])["code"] == "1404"


def test_every_answer_fits_its_schema(client: Client) -> None:
    asked: list[tuple[str, Object, str]] = [
        ("send", {"message": message(partition=1)}, "sent"),
        ("prepare", {"message": message(transactionId="t")}, "sent"),
        ("commit", {"transactionId": "t"}, "transaction"),
        ("receive", {"destination": "q", "group": "g", "max": 9, "timeout_ms": 0}, "received"),
        ("clock", {}, "clock"),
    ]
    for op, fields, schema in asked:
        request: Object = {"id": 1, "op": op, **fields}
        assert [*json_schema.check("oms/adapter-request", request)] == []
        assert [*json_schema.check(f"oms/adapter-{schema}", client.ok(op, **fields))] == []


def test_who_came_too_late_for_the_greeting_may_ask_for_it(client: Client) -> None:
    assert client.ok("hello") == client.adapter.hello()


@pytest.mark.parametrize(
    ("op", "fields", "what"),
    [
        ("fly", {}, "fly"),
        ("send", {"message": message(), "urgently": 1}, "urgently"),
        ("receive", {"destination": "q", "group": "g", "filter": "x"}, "filter"),
        ("clock", {"set_ms": 1}, "set_ms"),
    ],
)
def test_what_is_unknown_is_unsupported(
    client: Client, op: str, fields: Object, what: str
) -> None:
    assert client.ask(op, **fields) == {"id": 2, "unsupported": what}


@pytest.mark.parametrize(
    ("op", "fields", "code", "words"),
    [
        ("receive", {"group": "g"}, "1418", "expected destination as a string, found nothing"),
        ("receive", {"destination": "no", "group": "g"}, "1404", "'no'"),
        ("receive", {"destination": "q", "group": "g", "max": True}, "1418", "found True"),
        ("create_destination", {"destination": "q", "partitions": -1}, "1418", "found -1"),
        ("send", {}, "1400", "expected"),
        ("send", {"message": message(priority="5")}, "1400", "/message/extensionHeader/priority"),
        ("ack", {"receipt": "x"}, "1404", "'x'"),
    ],
)
def test_bad_requests_are_refused(
    client: Client, op: str, fields: Object, code: str, words: str
) -> None:
    answer = client.ask(op, **fields)
    assert answer is not None
    assert [*json_schema.check("driver/error", cast(JsonValue, answer))] == []
    error = cast(Object, answer["error"])
    assert error["code"] == code
    assert words in cast(str, error["message"])


def test_a_name_twice_in_a_message_is_refused_with_its_place(client: Client) -> None:
    client.adapter.ask(
        b'{"id": 9, "op": "send", "message": {"message": {"version": "1", "properties": {},'
        b'"header": {"destination": "q"}, "extensionHeader": {"priority": 1, "priority": 2}}}}',
        client,
        client.now_ns,
    )
    error = cast(Object, client.answers[-1]["error"])
    assert cast(str, error["message"]).startswith("/message/extensionHeader/priority: ")


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"id": 0, "op": "clock"}', b'{"id": true, "op": "x"}', b'{"id": 1}'],
)
def test_what_is_no_request_has_no_answer(client: Client, data: bytes) -> None:
    with pytest.raises(Malformed, match="expected "):
        client.adapter.ask(data, client, client.now_ns)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**63 - 1, b"9223372036854775807"),
        (-(2**70), b"-1180591620717411303424"),
        (Decimal("0.1000"), b"0.1000"),
        ([{"a": 2**65}], b'[{"a":36893488147419103232}]'),
        (True, b"true"),
    ],
)
def test_numbers_keep_all_their_digits(value: JsonValue, text: bytes) -> None:
    assert exact_json(value) == text


def test_lines_come_in_pieces_and_end_with_the_stream() -> None:
    connection = LineConnection(Client().adapter)
    assert connection.take_output().startswith(b'{"hello":"wireproof-driver"')
    for piece in (b'{"id":1,', b'"op":"fly"}\n{"id":2,"op":"fly"}\n{"id":3'):
        connection.receive(piece, FIRST_NS)
    assert connection.take_output() == (
        b'{"id":1,"unsupported":"fly"}\n{"id":2,"unsupported":"fly"}\n'
    )
    assert not connection.closed
    connection.receive(b"", FIRST_NS)
    assert (connection.closed, connection.trouble) == (True, "")


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"hello\n", "expected JSON"), (b"x" * (MAX_LINE_BYTES + 1), "bytes in a line")],
)
def test_a_line_that_is_no_request_ends_the_adapter(data: bytes, words: str) -> None:
    connection = LineConnection(Client().adapter)
    connection.receive(data, FIRST_NS)
    assert connection.closed
    assert words in connection.trouble
