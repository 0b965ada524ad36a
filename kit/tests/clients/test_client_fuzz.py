"""Fuzzing clients: what peers send, what they judge, and how a death gets its name."""

import json
from dataclasses import replace
from itertools import islice

import pytest
from case_play import sent
from client_fuzz_play import (
    AGAIN,
    CHOICE,
    CONN,
    ID,
    MESSAGE,
    Play,
    case,
    control_id,
)

from wireproof_kit.clients.effects import HangUp
from wireproof_kit.clients.events import Connected, Disconnected
from wireproof_kit.fuzz.case import GRAMMAR, HALF_CLOSE, Field, Frame, Step
from wireproof_kit.fuzz.clients.idle import IDLE_EVERY, IdleCases
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.generate.case_sources import make_generation, names_of
from wireproof_kit.fuzz.json_fields import open_documents
from wireproof_kit.fuzz.oracle.client_deaths import find_reason, is_crash
from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN, SPINS, STUCK
from wireproof_kit.nsq.clients.events import Commanded, Requested
from wireproof_kit.nsq.clients.fuzz import sending, states
from wireproof_kit.nsq.clients.fuzz.documents import kinds
from wireproof_kit.nsq.clients.fuzz.frames import grammar, is_delimited
from wireproof_kit.nsq.clients.fuzz.peers import MOST_TRIES
from wireproof_kit.nsq.clients.fuzz.states import STATES
from wireproof_kit.nsq.clients.script import LOOKUP_1
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame


def test_a_client_that_goes_on_after_a_message_finishes_the_control_message() -> None:
    play = Play(case(MESSAGE))

    first, beat = sent(play.subscribe())
    assert first == MESSAGE
    assert beat == response_frame(b"_heartbeat_")
    control = control_id(play.see(Commanded(0.4, CONN, "NOP")))
    play.see(Commanded(0.5, CONN, "FIN", message_id=ID))
    assert not play.peers.is_over
    play.see(Commanded(0.6, CONN, "FIN", message_id=control))

    assert (play.peers.done, play.peers.trouble) == (1, None)


def test_a_client_may_close_the_connection_and_come_back() -> None:
    play = Play(case(MESSAGE))
    play.subscribe()
    play.see(Disconnected(0.4, CONN, "client"))
    control = control_id(play.subscribe(AGAIN))
    play.see(Commanded(0.6, AGAIN, "FIN", message_id=control))

    assert (play.peers.done, play.peers.trouble) == (1, None)


def test_a_client_that_does_not_come_back_is_stuck() -> None:
    play = Play(case(MESSAGE))
    play.subscribe()
    play.expire("late")

    assert play.peers.trouble is not None
    assert play.peers.trouble.violated == STUCK


@pytest.mark.parametrize("name", ["FIN", "REQ", "TOUCH"])
def test_a_message_that_was_not_sent_must_not_be_acknowledged(name: str) -> None:
    play = Play(case(MESSAGE))
    play.subscribe()
    play.see(Commanded(0.4, CONN, name, message_id=ID[::-1]))

    assert play.peers.trouble is not None
    assert play.peers.trouble.violated == NOT_GIVEN


def test_a_lookup_answer_that_cannot_be_a_frame_excuses_nothing() -> None:
    play = Play(case(b"\0\0\0\1", "producer-looking-up"))
    play.see(Connected(0.1, f"{LOOKUP_1}.1"))
    play.see(Requested(0.1, f"{LOOKUP_1}.1", "GET", "/lookup", {}, {}))
    play.tell()

    assert play.violated == NOT_GIVEN


def test_a_client_whose_subscription_is_refused_may_give_up() -> None:
    refused = Play(case(error_frame("E_BAD_TOPIC", "why"), "subscribing"))
    refused.see(Connected(0.1, CONN))
    refused.see(Commanded(0.2, CONN, "SUB", ("t", "c", "0")))
    assert refused.peers.was_refused
    refused.expire("late")

    assert (refused.peers.trouble, refused.peers.is_retired) == (None, True)


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (error_frame("E_BAD_TOPIC", "why")[:-1], "subscribing"),
        (MESSAGE + error_frame("E_BAD_TOPIC", "why"), "subscribing"),
        (response_frame(b"E_BAD_TOPIC"), "subscribing"),
        (MESSAGE, "subscribing"),
        (b"", "subscribing"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n", "looking-up"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "looking-up"),
        (b"HTTP/1.1 4x4 Not Found\r\n\r\n", "looking-up"),
    ],
)
def test_what_does_not_begin_with_an_error_is_no_refusal(data: bytes, state: str) -> None:
    assert not sending.is_refusal(case(data, state))


def test_a_lookup_may_be_refused() -> None:
    whole = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
    assert sending.is_refusal(case(whole, "looking-up"))


def test_what_cannot_be_read_ends_the_connection_and_may_be_acknowledged() -> None:
    play = Play(case(b"\0\0\0\1\0\0\0\2" + ID))
    assert HangUp(CONN, half=True) in play.subscribe()
    play.see(Commanded(0.4, CONN, "FIN", message_id=ID[::-1]))

    assert play.peers.trouble is None


def test_a_client_that_wants_no_messages_for_a_while_is_let_go() -> None:
    play = Play(case(MESSAGE))
    play.subscribe()
    play.see(Commanded(0.4, CONN, "RDY", ("0",)))
    play.see(Commanded(0.5, CONN, "NOP"))
    assert sent(play.expire("held back")) == [response_frame(b"_heartbeat_")]
    play.see(Commanded(0.6, CONN, "NOP"))

    assert play.peers.is_retired
    assert play.peers.trouble is None


def test_many_connections_in_a_second_are_a_loop() -> None:
    play = Play(case(b"", "lookup-dead"))
    for number in range(MOST_TRIES + 1):
        at = number / 100
        play.see(Connected(at, f"{LOOKUP_1}.{number}"))

    assert play.peers.trouble is not None
    assert play.peers.trouble.violated == SPINS


def test_a_lookup_answer_has_the_ports_of_the_peers_and_must_be_asked_for_again() -> None:
    play = Play(case(b"HTTP/1.1 200 OK\r\n\r\n:65522", "looking-up"))
    asked = Requested(0.1, f"{LOOKUP_1}.1", "GET", "/lookup", {}, {})
    assert sent(play.see(asked)) == [b"HTTP/1.1 200 OK\r\n\r\n:40002"]
    control = control_id(play.subscribe())
    play.see(Commanded(0.5, CONN, "FIN", message_id=control))
    assert play.peers.done == 0
    play.see(replace(asked, conn=f"{LOOKUP_1}.2"))

    assert play.peers.done == 1


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("looking-up", "the client did not ask for /lookup within 5 s"),
        ("listing-lookups", "the client did not ask for /listlookup within 5 s"),
        ("consuming", "the client did not come for the case within 5 s"),
    ],
)
def test_what_a_client_did_not_ask_for_is_named(state: str, words: str) -> None:
    """A client may look up each second, and list the lookup servers once."""
    play = Play(case(b"", state))
    asked = "/lookup" if state == "listing-lookups" else "/listlookup"
    play.see(Requested(0.1, f"{LOOKUP_1}.1", "GET", asked, {}, {}))
    play.expire("late")

    assert play.peers.trouble is not None
    assert play.peers.trouble.words == words


def test_nothing_follows_the_highest_message_in_order() -> None:
    data = message_frame(bytes(10) + b"\x7f" + b"\xff" * 15 + bytes(12) + b"body")
    play = Play(case(data, "consuming-ordered"))
    play.subscribe()
    play.see(Commanded(0.4, CONN, "NOP"))

    assert (play.peers.done, play.peers.is_retired) == (1, True)


def test_valid_frames_are_whole_and_come_in_their_states() -> None:
    generation = make_generation(grammar(), CHOICE)
    cases = list(islice(generation.cases(), 3000))
    valid = [each for each in cases if each.mutation == GRAMMAR]

    assert {each.frame_kind for each in cases} == set(names_of(grammar()))
    assert {each.state for each in cases} == set(STATES) - set(states.IDLE)
    assert valid
    for each in valid:
        if STATES[each.state].place not in states.HTTP_PLACES:
            assert is_delimited(each.frame_kind, each.steps[0].data)
            assert not sending.is_doubtful(each)


def test_some_cases_send_nothing_while_a_peer_is_away() -> None:
    inner = make_generation(grammar(), CHOICE)
    generation = IdleCases(inner, Choice(1), states.IDLE)
    idle = [generation.case(number * IDLE_EVERY) for number in range(len(states.IDLE))]

    assert {each.state for each in idle} == set(states.IDLE)
    assert all(each.steps[0].data == b"" for each in idle)
    assert generation.case(1) == inner.case(1)


def test_a_case_that_ends_its_connection_or_got_smaller_is_in_doubt() -> None:
    whole = case(MESSAGE)
    assert not sending.is_doubtful(whole)
    assert sending.is_doubtful(case(MESSAGE[:-1]))
    assert sending.is_doubtful(replace(whole, steps=(Step(MESSAGE, HALF_CLOSE),)))


def test_every_value_in_a_document_is_a_field() -> None:
    told = b'{"a": [1, {"b": "x\\"y"}], "c": {}, "d": null}'
    made = open_documents(Frame("k", told, (whole_field(told),)))

    found = {each.path: told[each.start : each.end] for each in made.fields}
    assert found == {
        "body": told,
        "body.a": b'[1, {"b": "x\\"y"}]',
        "body.a[0]": b"1",
        "body.a[1]": b'{"b": "x\\"y"}',
        "body.a[1].b": b'"x\\"y"',
        "body.c": b"{}",
        "body.d": b"null",
    }
    assert all(json.loads(value) is not Ellipsis for value in found.values())


def whole_field(data: bytes) -> Field:
    return Field("body", 0, len(data), "json")


@pytest.mark.parametrize("kind", list(kinds()))
def test_answers_of_lookups_have_a_field_for_their_length(kind: str) -> None:
    generation = make_generation(grammar(), Choice(3, (kind,)))
    right = generation.right(generation.case(0))
    assert right is not None
    head, _, body = right.steps[0].data.partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(body) in head


GO = """13:50:42 INF started
panic: runtime error: slice bounds out of range [:8] with capacity 2

goroutine 121 [running]:
runtime.gopanic({0x1, 0x2})
github.com/youzan/go-nsq.(*Consumer).onConnMessage(0xd99fc3ae008?, 0xd99fc414ea8?)
\t/x/consumer.go:865 +0x170
"""
PYTHON = """Traceback (most recent call last):
  File "/x/nsq/reader.py", line 12, in run
    self.read()
  File "/x/nsq/conn.py", line 80, in read
    struct.unpack(">q", data)
struct.error: unpack requires a buffer of 8 bytes
"""
RUST = "thread 'main' panicked at src/frame.rs:20:13:\nindex out of bounds\n"
CRATE = (
    "thread 'main' (23483) panicked at "
    "/home/someone/.cargo/registry/src/index-1949cf8c6b5b557f/"
    "iggy-0.0.40/src/binary/mapper.rs:161:43:\nrange end index out of range\n"
)
NODE = """/x/reader.js:10
TypeError: Cannot read properties of undefined (reading '0')
    at Reader.parse (/x/reader.js:10:3)
"""


JAVA = 'Exception in thread "main" java.lang.IllegalStateException: x\n\tat a.B.c(B.java:3)\n'


@pytest.mark.parametrize(
    ("code", "text", "crashed"),
    [
        (0, "", False),
        (1, "the node refuses: E_BAD_TOPIC\n", False),
        (2, "usage: consume\n", False),
        (-11, "", True),
        (134, "", True),
        (101, "", True),
        *((1, text, True) for text in (GO, PYTHON, RUST, NODE, JAVA)),
    ],
)
def test_a_program_that_ends_by_itself_has_not_crashed(
    code: int, text: str, *, crashed: bool
) -> None:
    assert is_crash(code, text) is crashed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            GO,
            "panic: runtime error: slice bounds out of range in "
            "github.com/youzan/go-nsq.(*Consumer).onConnMessage",
        ),
        (PYTHON, "struct.error in read"),
        (RUST, "panic in src/frame.rs"),
        (CRATE, "panic in iggy-N.N.N/src/binary/mapper.rs"),
        (NODE, "TypeError in Reader.parse"),
        ("ended\n", ""),
        ("", ""),
    ],
)
def test_a_death_is_named_after_its_place_in_the_client(text: str, reason: str) -> None:
    assert find_reason(text) == reason
    assert find_reason(text.replace("8", "77")) == reason
