"""What a client sends is decoded into the same payloads, whatever its transport and generation."""

import json

import pytest

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.clients.decoder import IggyDecoder
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.http import messages_body
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import ANY_MESSAGES, SendMessages, SentMessage
from wireproof_spec.iggy.bodies.users import LoginUser
from wireproof_spec.iggy.frame import request
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


def test_a_login_and_consumers_by_number_belong_together_in_the_published_schema() -> None:
    login = requests.request(commands.LOGIN_USER, LoginUser("a", "b", "", ""), "tagged").data
    polling = requests.request(commands.POLL_MESSAGES, poll(Consumer(1, 7))).data

    _, event = received("tcp.1", login + polling)

    assert isinstance(event, Asked)
    assert (event.poll, event.generation) == (poll(Consumer(1, 7)), "tagged")


@pytest.mark.parametrize(
    ("code", "payload"),
    [
        (commands.CREATE_STREAM, b"\x01\x00\x00\x00\x06orders"),
        (commands.CREATE_STREAM, b"\x01\x04\x01\x00\x00\x00\x06orders"),
        (commands.CREATE_TOPIC, b"\x01\x04" + b"\x01\x00\x00\x00" * 4 + b"\x06orders"),
        (commands.LOGIN_USER, b"\x04iggy\x04iggy"),
        (commands.JOIN_CONSUMER_GROUP, b"\x01\x04\x01\x00\x00\x00" * 3),
    ],
)
def test_commands_whose_form_the_releases_changed_accuse_nobody(code: int, payload: bytes) -> None:
    polling = requests.request(commands.POLL_MESSAGES, poll(Consumer(1, 7))).data

    first, event = received("tcp.1", request(code, payload) + polling)

    assert isinstance(first, Asked)
    assert isinstance(event, Asked)
    assert event.poll == poll(Consumer(1, 7))
    assert event.generation == ("tagged" if code == commands.LOGIN_USER else "published")


@pytest.mark.parametrize(
    "messages", [(), (SentMessage(0, (), b""),), (SentMessage(0, (), b""),) * 2]
)
def test_no_text_forbids_to_send_nothing(messages: tuple[SentMessage, ...]) -> None:
    sending = SendMessages(*PLACE, partition_id(1), messages)
    body = json.dumps(messages_body(messages, sending.partitioning)).encode()

    (over_tcp,) = received("tcp.1", request(commands.SEND_MESSAGES, encode(ANY_MESSAGES, sending)))
    (over_http,) = received("http.1", http("POST", "/streams/1/topics/1/messages", body))

    assert isinstance(over_tcp, Asked)
    assert isinstance(over_http, Asked)
    assert over_tcp.sending == over_http.sending == sending


@pytest.mark.parametrize("consumer", ["7", 7, None])
def test_no_text_says_how_a_consumer_that_stores_an_offset_is_named_in_json(
    consumer: object,
) -> None:
    body = json.dumps({"id": consumer, "partition_id": 1, "offset": 5}).encode()

    (event,) = received("http.1", http("PUT", "/streams/1/topics/1/consumer-offsets", body))

    assert isinstance(event, Asked)
    assert isinstance(event.payload, StoreConsumerOffset)
    assert event.payload.offset == 5


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
        ("tcp.1", b"\x03\x00\x00\x00", "length"),
        ("tcp.1", requests.cut(requests.request(101, SENDING), 30).data, "messages[0].id"),
        ("tcp.1", request(100, b"\1\2\3"), "consumer.id"),
        ("tcp.1", request(101, bytes(4)), "stream.kind"),
        ("tcp.1", request(1, b"\0"), "end"),
        ("http.1", b"\x00\x01\x02\r\n\r\n", "request"),
        ("http.1", http("PUT", "/streams/1/topics/1/consumer-offsets", b'{"id": 7}'), "body"),
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
