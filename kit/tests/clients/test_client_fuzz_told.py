"""Fuzzing clients: what a driver tells its user must have been sent."""

import pytest
from client_fuzz_play import CONN, ID, MESSAGE, Play, case, control_id, sent

from wireproof_kit.clients.events import Connected, Disconnected, Greeted
from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_spec.driver.lines import Hello
from wireproof_spec.nsq.frame import error_frame, response_frame

OK, BEAT, REFUSED = response_frame(b"OK"), response_frame(b"_heartbeat_"), error_frame("E_BAD")
NO_FRAME = b"\0\0\0\1"


@pytest.mark.parametrize(
    ("answer", "violated"),
    [
        (OK, ""),
        (response_frame(b"OK" + bytes(28)), ""),
        (response_frame(b"{}"), ""),
        (NO_FRAME, ""),
        (REFUSED, NOT_GIVEN),
        (BEAT, NOT_GIVEN),
        (MESSAGE, NOT_GIVEN),
        (OK[:-1], NOT_GIVEN),
        (b"", NOT_GIVEN),
    ],
)
def test_a_publish_must_not_be_told_as_accepted_unless_it_was(
    answer: bytes, violated: str
) -> None:
    play = Play(case(answer, "publishing"))
    play.see(Connected(0.1, CONN))
    play.see(Commanded(0.2, CONN, "IDENTIFY", body=b"{}"))
    play.publish()
    play.tell()

    assert play.violated == violated


def test_a_publish_is_told_as_failed_whatever_was_answered() -> None:
    play = Play(case(OK, "publishing"))
    play.see(Connected(0.1, CONN))
    play.publish()
    play.tell(success=False)

    assert play.violated == ""


def test_one_answer_accepts_one_publish() -> None:
    for answer, violated in ((OK, NOT_GIVEN), (OK + OK, "")):
        play = Play(case(answer, "publishing"))
        play.see(Connected(0.1, CONN))
        play.publish()
        play.tell()
        play.tell()  # of a publish that no node has got

        assert play.violated == violated


def test_an_answer_may_be_told_after_its_connection_and_only_once() -> None:
    play = Play(case(OK + OK, "publishing"))
    play.see(Connected(0.1, CONN))
    play.publish()
    play.see(Disconnected(0.4, CONN, "client"))
    play.tell()
    assert play.violated == ""
    play.tell()

    assert play.violated == NOT_GIVEN


def test_the_answer_to_identify_accepts_no_publish_but_one_behind_it_may() -> None:
    for answer, violated in ((OK, NOT_GIVEN), (OK + OK, ""), (BEAT + OK, NOT_GIVEN)):
        play = Play(case(answer, "producer-identifying"))
        play.see(Connected(0.1, CONN))
        play.see(Commanded(0.2, CONN, "IDENTIFY", body=b"{}"))
        play.tell()

        assert play.violated == violated


def test_a_client_need_not_wait_for_the_answer_to_identify() -> None:
    play = Play(case(b"", "producer-identifying"))
    play.see(Connected(0.1, CONN))
    play.see(Commanded(0.2, CONN, "IDENTIFY", body=b"{}"))
    assert OK in sent(play.publish())
    play.tell()

    assert play.violated == ""


@pytest.mark.parametrize(
    ("data", "message_id", "body", "violated"),
    [
        (MESSAGE, ID, b"body", ""),
        (MESSAGE, ID, b"ody", ""),  # what precedes a body may have been read otherwise
        (MESSAGE, ID, b"", ""),
        (MESSAGE, ID, b"bod", NOT_GIVEN),
        (MESSAGE, ID, b"other", NOT_GIVEN),
        (MESSAGE, ID[::-1], b"body", NOT_GIVEN),
        (MESSAGE[:-1], ID, b"bod", NOT_GIVEN),
        (NO_FRAME + MESSAGE, ID, b"bod", ""),
        (NO_FRAME + MESSAGE, ID, b"other", NOT_GIVEN),
    ],
)
def test_a_message_that_was_not_sent_must_not_be_told(
    data: bytes, message_id: bytes, body: bytes, violated: str
) -> None:
    play = Play(case(data))
    play.subscribe()
    play.tell_message(message_id, body)

    assert play.violated == violated


def test_what_a_driver_tells_after_the_client_has_finished_is_judged() -> None:
    for body, violated in ((b"body", ""), (b"other", NOT_GIVEN)):
        play = Play(case(MESSAGE))
        play.see(Greeted(0.1, "driver", Hello((1,), "d", "", ("consume",), ())))
        play.subscribe()
        control = control_id(play.see(Commanded(0.4, CONN, "NOP")))
        play.see(Commanded(0.5, CONN, "FIN", message_id=ID))
        play.see(Commanded(0.5, CONN, "FIN", message_id=control))
        assert not play.peers.is_over
        play.tell_message(ID, body)
        if not violated:
            play.tell_message(control, b"wireproof control 0")

        assert (play.violated, play.peers.is_over) == (violated, True)


def test_a_driver_that_tells_of_no_message_is_not_waited_for_long() -> None:
    play = Play(case(MESSAGE))
    play.see(Greeted(0.1, "driver", Hello((1,), "d", "", ("consume",), ())))
    play.subscribe()
    control = control_id(play.see(Commanded(0.4, CONN, "NOP")))
    play.see(Commanded(0.5, CONN, "FIN", message_id=ID))
    play.see(Commanded(0.5, CONN, "FIN", message_id=control))
    play.expire("held back")

    assert (play.peers.done, play.peers.trouble) == (1, None)
