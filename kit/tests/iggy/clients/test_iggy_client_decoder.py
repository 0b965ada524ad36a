"""What a client sends is decoded into the same payloads, whatever its transport and generation."""

import json

import pytest

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.clients.decoder import IggyDecoder
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.http import messages_body
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.users import LoginUser
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.header_kinds import UINT64
from wireproof_spec.iggy.headers import Header

PLACE = (numeric(1), numeric(1))
SENDING = SendMessages(
    *PLACE,
    partition_id(1),
    (SentMessage(2**128 - 1, (Header("key 1", UINT64, b"\x01" * 8),), b"\xff\x00"),),
)


def received(conn: str, *pieces: bytes) -> list[Event]:
    decoder = IggyDecoder()
    decoder.open(0.0, conn)
    return [event for piece in pieces for event in decoder.decode_received(1.0, conn, piece)]


def poll(consumer: Consumer) -> PollMessages:
    return PollMessages(consumer, *PLACE, 1, 1, 2**64 - 1, 10, 1)


def http(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    head = [f"{method} {target} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


@pytest.mark.parametrize(
    ("generation", "consumer"),
    [("published", Consumer(1, 7)), ("tagged", Consumer(1, numeric(7)))],
)
def test_a_poll_over_tcp_shows_its_generation(generation: Generation, consumer: Consumer) -> None:
    data = requests.request(commands.POLL_MESSAGES, poll(consumer), generation).data

    (event,) = received("tcp.1", data[:5], data[5:])

    assert isinstance(event, Asked)
    assert (event.command, event.generation) == ("poll_messages", generation)
    assert event.poll == poll(consumer)


def test_a_client_that_logs_in_is_of_a_tagged_generation() -> None:
    login = requests.request(commands.LOGIN_USER, LoginUser("a", "b", "", ""), "tagged").data
    sending = requests.request(commands.SEND_MESSAGES, SENDING).data

    first, second = received("tcp.1", login + sending)

    assert isinstance(first, Asked)
    assert isinstance(second, Asked)
    assert (first.generation, second.generation) == ("tagged", "tagged")
    assert second.sending == SENDING


def test_requests_over_http_have_the_payloads_of_tcp() -> None:
    body = json.dumps(messages_body(SENDING.messages, SENDING.partitioning)).encode()
    path = "/streams/1/topics/1/messages"

    (sending,) = received("http.1", http("POST", path, body))
    query = "?id=7&partition_id=1&kind=offset&value=18446744073709551615&count=10&auto_commit=true"
    (polling,) = received("http.1", http("GET", path + query, b"", "Authorization: Bearer x"))

    assert isinstance(sending, Asked)
    assert isinstance(polling, Asked)
    assert sending.sending == SENDING
    assert sending.generation == "published"
    assert polling.poll == poll(Consumer(1, 0)), "the consumer of a poll decides nothing"
    assert polling.generation == "tagged"


@pytest.mark.parametrize(
    ("conn", "data", "field"),
    [
        ("tcp.1", b"\x00\x00\x00\x00", "length"),
        ("tcp.1", requests.cut(requests.request(101, SENDING), 30).data, "messages[0].id"),
        ("http.1", b"\x00\x01\x02\r\n\r\n", "request"),
        ("http.1", http("GET", "/streams/1/topics/1/messages?value=-1"), "value"),
        ("http.1", http("GET", "/streams/1/topics/1/messages?kind=all"), "kind"),
        ("http.1", http("POST", "/streams/1/topics/1/messages", b"{}"), "body"),
        ("http.1", http("POST", "/streams/1/topics/1/messages", b"{"), "json"),
    ],
)
def test_what_is_malformed_is_named(conn: str, data: bytes, field: str) -> None:
    *_, event = received(conn, data)

    assert isinstance(event, Malformed)
    assert event.error.field == field


def test_state_and_checksum_in_a_message_to_send_are_seen() -> None:
    message = {"payload": "YQ==", "state": "available", "checksum": 1}
    body = json.dumps({"partitioning": {"kind": "balanced", "value": ""}, "messages": [message]})

    (event,) = received("http.1", http("POST", "/streams/1/topics/1/messages", body.encode()))

    assert isinstance(event, Asked)
    assert event.members == ("checksum", "state")
