"""The server that a client meets: usual and special answers, over both transports."""

import json
from typing import cast

import pytest

from wireproof_kit.clients.effects import Ask, Effect, HangUp, Send
from wireproof_kit.clients.events import Answered, Greeted, Malformed
from wireproof_kit.iggy.clients import changes
from wireproof_kit.iggy.clients.answers import polled_body, polled_json
from wireproof_kit.iggy.clients.decoder import HTTP, TCP
from wireproof_kit.iggy.clients.driver_requests import ask_poll
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.log import LOG, make_message
from wireproof_kit.iggy.clients.peers import IggyPeers
from wireproof_kit.iggy.clients.script import LOG_SIZE, Messages, Raw, Refuse, Script
from wireproof_spec import json_schema, strict_json
from wireproof_spec.decoding import decode, encode
from wireproof_spec.driver.lines import Hello, Result
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.poll_messages import PollMessages, polled_messages_schema
from wireproof_spec.iggy.frame import RESPONSE, Response
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.kinds import LAST, NEXT, OFFSET
from wireproof_spec.iggy.message import MESSAGE, MESSAGE_OF_KNOWN_STATE, Message
from wireproof_spec.wire_error import WireError

GENERATIONS: tuple[Generation, ...] = ("published", "tagged")
VALUES = {
    "tcp": "127.0.0.1:1",
    "http": "127.0.0.1:2",
    "transport": "tcp",
    "stream": "1",
    "topic": "1",
    "partition": "1",
}
CONN = f"{TCP}.1"
SENT = tuple(make_message(offset) for offset in range(3))


def asked(
    conn: str, strategy: int = OFFSET, value: int = 0, *, auto_commit: int = 0, count: int = 10
) -> Asked:
    place = (numeric(1), numeric(1))
    poll = PollMessages(Consumer(1, 1), *place, 1, strategy, value, count, auto_commit)
    return Asked(0.0, conn, "poll_messages", "published", poll)


def messages_in(effects: list[Effect]) -> tuple[Message, ...]:
    (send,) = effects
    assert isinstance(send, Send)
    response = decode(RESPONSE, send.data)
    return decode(polled_messages_schema("published"), response.body).messages


def react(peers: IggyPeers, event: Asked | Malformed | Greeted | Answered) -> list[Effect]:
    return list(peers.react(event))


def test_polls_walk_through_the_log() -> None:
    peers = IggyPeers(Script("consumer"))

    offsets = [
        [each.offset for each in messages_in(react(peers, asked(CONN, *poll, auto_commit=1)))]
        for poll in ((OFFSET, 4), (NEXT, 0), (LAST, 0), (NEXT, 0))
    ]

    assert offsets == [[*range(4, 14)], [*range(14, 24)], [*range(20, 30)], []]
    assert len(LOG) == LOG_SIZE


def test_special_answers_come_first_and_stored_messages_stay() -> None:
    damaged = make_message(2, checksum=1)
    script = Script("consumer", polls=(Refuse(3007), Raw(b"x", reset=True)), stored=(damaged,))
    peers = IggyPeers(script)

    refusal = react(peers, asked(CONN))
    raw = react(peers, asked(CONN))
    usual = messages_in(react(peers, asked(f"{TCP}.2", count=3)))

    assert refusal == [Send(CONN, b"\xbf\x0b\x00\x00\x00\x00\x00\x00")]
    assert raw[-1] == HangUp(CONN, reset=True)
    assert usual == (LOG[0], LOG[1], damaged)


def test_a_refusal_over_http_has_the_json_of_an_error() -> None:
    peers = IggyPeers(Script("consumer", "http", polls=(Refuse(3007),)))
    (send,) = react(peers, asked(f"{HTTP}.1"))

    assert isinstance(send, Send)
    head, _, body = send.data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 ")
    assert json_schema.check("iggy/error-answer", json.loads(body)) == ()


def test_a_driver_is_opened_and_then_asked_in_turn() -> None:
    peers = IggyPeers(Script("consumer", asks=(ask_poll(), ask_poll(10))))
    list(peers.begin({}, VALUES))
    hello = Hello((1,), "x", "", (), ())

    asks = react(peers, Greeted(0.0, "driver", hello))
    for op in ("open", "poll", "poll"):
        asks += react(peers, Answered(0.0, "driver", op, Result(1, {})))

    ops = [(each.op, each.fields.get("value")) for each in asks if isinstance(each, Ask)]
    assert ops == [("open", None), ("poll", "0"), ("poll", "10")]
    told = cast(dict[str, object], cast(Ask, asks[0]).fields["settings"])
    assert json_schema.check("iggy/driver-settings", cast(strict_json.JsonValue, told)) == ()


@pytest.mark.parametrize("generation", GENERATIONS)
def test_usual_answers_are_of_their_shape(generation: Generation) -> None:
    body = polled_body(Messages(SENT), generation)
    polled = decode(polled_messages_schema(generation), body)
    assert polled.messages == SENT
    value = strict_json.read(polled_json(Messages(SENT), generation)).value
    name = "polled-messages-tagged" if generation == "tagged" else "polled-messages"
    assert json_schema.check(f"iggy/{name}", value) == ()


def read_strictly(body: bytes, generation: Generation) -> None:
    for each in decode(polled_messages_schema(generation), body).messages:
        decode(MESSAGE_OF_KNOWN_STATE, encode(MESSAGE, each))


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("change", changes.BROKEN_BODIES)
def test_a_broken_body_is_broken(change: str, generation: Generation) -> None:
    with pytest.raises(WireError):
        read_strictly(polled_body(Messages(SENT, change), generation), generation)


@pytest.mark.parametrize("change", changes.BROKEN_OBJECTS)
def test_broken_json_is_broken(change: str) -> None:
    body = polled_json(Messages(SENT, change), "published")
    try:
        value = strict_json.read(body).value
    except WireError:
        return
    assert json_schema.check("iggy/polled-messages", value) != ()


@pytest.mark.parametrize("change", changes.UNUSUAL_OBJECTS)
def test_unusual_json_is_right(change: str) -> None:
    value = strict_json.read(polled_json(Messages(SENT, change), "published")).value
    assert json_schema.check("iggy/polled-messages", value) == ()


def test_a_malformed_request_ends_a_tcp_connection() -> None:
    error = WireError(clause="x", field="length", offset=0, expected="4", found="0")
    peers = IggyPeers(Script("consumer"))

    assert react(peers, Malformed(0.0, CONN, error)) == [HangUp(CONN)]
    over_http = react(peers, Malformed(0.0, f"{HTTP}.1", error))
    assert [type(each) for each in over_http] == [Send, HangUp]


def test_answers_decode_as_responses() -> None:
    peers = IggyPeers(Script("producer"))
    for command in ("ping", "send_messages", "get_stream", "get_topics", "no_such", "login_user"):
        for generation in GENERATIONS:
            (send,) = react_to(peers, command, generation)
            assert isinstance(decode(RESPONSE, send.data), Response)


def react_to(peers: IggyPeers, command: str, generation: Generation) -> list[Send]:
    effects = peers.react(Asked(0.0, CONN, command, generation))
    return [each for each in effects if isinstance(each, Send)]
