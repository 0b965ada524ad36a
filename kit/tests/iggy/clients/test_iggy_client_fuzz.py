"""Fuzzing Iggy clients: what the server sends, what it judges, and which answers are in doubt."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
from case_play import CasePlay, sent

from wireproof_kit.clients.effects import Ask, Effect, HangUp
from wireproof_kit.clients.events import Answered, Connected, Greeted
from wireproof_kit.fuzz.case import GRAMMAR, HALF_CLOSE, Case, Step
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.generate.case_sources import make_generation, names_of
from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN, SPINS, STUCK
from wireproof_kit.iggy.clients.answers import http_answer, polled_body, tcp_answer
from wireproof_kit.iggy.clients.client import IGGY_CLIENTS
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.fuzz import states
from wireproof_kit.iggy.clients.fuzz.frames import grammar, is_delimited, is_refusal
from wireproof_kit.iggy.clients.fuzz.given import Given
from wireproof_kit.iggy.clients.fuzz.peers import MOST_TRIES, CasePeers, is_doubtful
from wireproof_kit.iggy.clients.fuzz.reproduce import make_poll
from wireproof_kit.iggy.clients.fuzz.states import STATES
from wireproof_kit.iggy.clients.log import LOG, make_message
from wireproof_kit.iggy.clients.script import Messages
from wireproof_spec.driver.lines import Failure, Fields, Hello, Result, in_base64
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.message import Message

CONN = "tcp.1"
ADDRESSES = {"tcp": "127.0.0.1:40001", "http": "127.0.0.1:40002"}
ONE = make_message(1234, b"of the case")
POLLED = tcp_answer(0, polled_body(Messages((ONE,)), "published"))
REFUSED = tcp_answer(1009)
HELLO = Hello((1,), "x", "1", ("poll", "send"), ())


def case(data: bytes, state: str = "polling") -> Case:
    return Case(0, state, "polled messages", "-", GRAMMAR, (Step(data),), delimited=True)


@pytest.mark.parametrize(
    ("kind", "data", "refused"),
    [
        ("error", REFUSED, True),
        ("polled messages", POLLED, False),
        ("error", REFUSED[:7], False),
        ("answer with error", http_answer(404), True),
        ("answer with error", http_answer(200), False),
    ],
)
def test_an_error_is_known(kind: str, data: bytes, *, refused: bool) -> None:
    assert is_refusal(kind, data) is refused


def told(*messages: Message) -> Fields:
    each = [{"offset": str(m.offset), "payload": in_base64(m.payload)} for m in messages]
    return {"messages": [dict(fields) for fields in each]}


class Play(CasePlay[CasePeers]):
    """A server with one case, and a client that is a list of events."""

    def __init__(self, tried: Case, *, driven: bool = True) -> None:
        peers = CasePeers(STATES[tried.state].client, [tried], patience_s=5.0)
        script = states.script(STATES[tried.state])
        super().__init__(peers, peers.begin(ADDRESSES, IGGY_CLIENTS.fill(script, ADDRESSES, {})))
        if driven:
            self.see(Greeted(0.1, "driver", HELLO))
            self.answer("open", {})
        self.see(Connected(0.1, CONN))

    def answer(self, op: str, fields: Fields) -> list[Effect]:
        return self.see(Answered(0.5, "driver", op, Result(1, dict(fields))))

    def fail(self, op: str) -> list[Effect]:
        return self.see(Answered(0.5, "driver", op, Failure(1, "no", "")))

    def poll(self, conn: str = CONN) -> list[Effect]:
        return self.see(Asked(0.4, conn, "poll_messages", "published", make_poll()))


def asked(effects: Sequence[Effect]) -> list[str]:
    return [each.op for each in effects if isinstance(each, Ask)]


def test_a_client_that_polls_again_after_the_case_has_passed_it() -> None:
    play = Play(case(POLLED))

    assert sent(play.poll()) == [POLLED]
    assert asked(play.answer("poll", told(ONE))) == ["poll"]
    assert play.peers.done == 0
    play.poll()
    play.answer("poll", told(*LOG[:10]))

    assert (play.peers.done, play.violated) == (1, "")


def test_a_client_may_refuse_the_case_and_is_asked_again_after_a_pause() -> None:
    play = Play(case(POLLED[:-3]))
    assert HangUp(CONN, half=True) in play.poll()
    assert asked(play.fail("poll")) == []
    assert asked(play.expire("ask")) == ["poll"]
    play.fail("poll")
    play.expire("ask")
    play.poll("tcp.2")
    play.answer("poll", told(*LOG[:10]))

    assert (play.peers.done, play.violated) == (1, "")


def test_no_messages_are_no_sign_of_work() -> None:
    play = Play(case(POLLED))
    play.poll()
    play.answer("poll", told())
    play.poll()
    play.answer("poll", told())
    play.expire("late")

    assert play.violated == STUCK


@pytest.mark.parametrize(
    "made_up", [make_message(1235, ONE.payload), make_message(1234, b"other"), LOG[3]]
)
def test_messages_that_were_not_sent_must_not_be_told(made_up: Message) -> None:
    play = Play(case(POLLED))
    play.poll()
    play.answer("poll", told(made_up))

    assert play.violated == NOT_GIVEN


def test_a_send_must_not_be_told_as_done_unless_it_was_accepted() -> None:
    for answer, expected in ((REFUSED, NOT_GIVEN), (tcp_answer(0), "")):
        play = Play(case(answer, "sending"))
        play.see(Asked(0.4, CONN, "send_messages", "published"))
        play.answer("send", {})

        assert play.violated == expected


def test_an_offset_must_be_that_of_a_message_that_was_sent() -> None:
    for offset, expected in ((1234, ""), (7, NOT_GIVEN)):
        play = Play(case(POLLED), driven=False)
        play.poll()
        one = numeric(1)
        stored = StoreConsumerOffset(Consumer(1, 0), one, one, 1, offset)
        play.see(Asked(0.5, CONN, "store_consumer_offset", "published", stored))

        assert play.violated == expected


def test_a_client_without_a_driver_must_ask_once_more() -> None:
    play = Play(case(POLLED), driven=False)
    play.poll()
    assert play.peers.done == 0
    play.poll()

    assert (play.peers.done, play.violated) == (1, "")


def test_a_login_comes_on_a_new_connection() -> None:
    first = case(POLLED)
    login = case(tcp_answer(0, bytes(4)), "logging-in")
    play = Play(first)
    play.peers.cases = [first, login]
    play.poll()
    play.answer("poll", told(ONE))
    play.poll()

    assert HangUp(CONN, half=True) in play.answer("poll", told(*LOG[:10]))


def test_many_connections_in_a_second_are_a_loop() -> None:
    play = Play(case(POLLED))
    for number in range(MOST_TRIES + 1):
        play.see(Connected(0.1 + number / 100, f"tcp.{number + 2}"))

    assert play.violated == SPINS


@pytest.mark.parametrize(
    ("data", "delimited"),
    [
        (POLLED, True),
        (POLLED[:-1], False),
        (POLLED + b"x", False),
        (REFUSED, True),
        (tcp_answer(1009, b"why"), False),
        (tcp_answer(0, b"x"), False),
        (b"", False),
    ],
)
def test_an_answer_ends_where_it_says_and_clients_read_no_body_of_one_byte(
    data: bytes, *, delimited: bool
) -> None:
    assert is_delimited("polled messages", data) == delimited
    assert is_doubtful(case(data)) != delimited
    assert is_doubtful(replace(case(data), steps=(Step(data, HALF_CLOSE),)))


def test_valid_answers_are_whole_and_come_in_their_states() -> None:
    known = grammar(["published", "tagged"])
    generation = make_generation(known, Choice(1, tuple(names_of(known))))
    cases = list(islice(generation.cases(), 3000))
    valid = [each for each in cases if each.mutation == GRAMMAR]

    assert {each.frame_kind for each in cases} == set(names_of(known))
    assert {each.state for each in cases} == set(STATES)
    for each in valid:
        if STATES[each.state].transport == "tcp":
            assert not is_doubtful(each)
        else:
            assert each.steps[0].data.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    ("text", "payload", "may_be_told"),
    [
        ("AQID", b"\1\2\3", True),
        ("AQIDB", b"\1\2\3", True),
        ("AQ\\u0049D", b"\1\2\3", True),
        ("AQID", b"\1\2\3\4", False),
        ("plain", b"plain", True),
        ("AQID", b"\0\0\0", False),
    ],
)
def test_a_payload_in_json_is_what_some_reader_makes_of_a_string(
    text: str, payload: bytes, *, may_be_told: bool
) -> None:
    given = Given("http")
    given.add_case(http_answer(200, f'[{{"offset": 5, "payload": "{text}"}}]'.encode()))

    assert bool(given.find_made_up(told(make_message(5, payload)))) != may_be_told


def test_success_over_http_is_a_status_of_two_hundred() -> None:
    for status, accepted in ((201, True), (400, False), (500, False)):
        given = Given("http")
        given.add_case(http_answer(status, json.dumps({}).encode()))

        assert given.is_accepted == accepted
