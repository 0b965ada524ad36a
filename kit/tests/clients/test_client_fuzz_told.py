"""Fuzzing clients: what a driver tells its user must have been sent."""

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from case_play import sent
from client_fuzz_play import CONN, ID, MESSAGE, Play, case, control_id

from wireproof_kit.clients.events import Connected, Disconnected, Greeted
from wireproof_kit.fuzz.clients.standalone import CASE
from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.fuzz import standalone
from wireproof_spec.driver.lines import Hello, in_base64
from wireproof_spec.nsq.frame import error_frame, response_frame

OK, BEAT, REFUSED = response_frame(b"OK"), response_frame(b"_heartbeat_"), error_frame("E_BAD")
NO_FRAME = b"\0\0\0\1"
ANSWERS = (
    (OK, ""),
    (response_frame(b"OK" + bytes(28)), ""),
    (response_frame(b"{}"), ""),
    (NO_FRAME, ""),
    (REFUSED, NOT_GIVEN),
    (BEAT, NOT_GIVEN),
    (MESSAGE, NOT_GIVEN),
    (OK[:-1], NOT_GIVEN),
    (b"", NOT_GIVEN),
)
MESSAGES = (
    (MESSAGE, ID, b"body", ""),
    (MESSAGE, ID, b"ody", ""),  # what precedes a body may have been read otherwise
    (MESSAGE, ID, b"", ""),
    (MESSAGE, ID, b"bod", NOT_GIVEN),
    (MESSAGE, ID, b"other", NOT_GIVEN),
    (MESSAGE, ID[::-1], b"body", NOT_GIVEN),
    (MESSAGE[:-1], ID, b"bod", NOT_GIVEN),
    (NO_FRAME + MESSAGE, ID, b"bod", ""),
    (NO_FRAME + MESSAGE, ID, b"other", NOT_GIVEN),
)
DONE: dict[str, Any] = {"id": 2, "ok": {}}


def tell(message_id: bytes, body: bytes) -> dict[str, Any]:
    """Return a driver's line that tells of a message."""
    return {"event": "message", "id": message_id.hex(), "body": in_base64(body)}


class Script:
    """The servers in a finding's script, after they have sent a case to one connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: str, data: bytes) -> None:
        monkeypatch.setitem(CASE, "cases", [{"place": place}])
        monkeypatch.setitem(CASE, "first_id", 1)
        monkeypatch.setitem(CASE, "repeats", place != "push")
        self.writer = Mock(spec=asyncio.StreamWriter)
        self.writer.is_closing.return_value = False
        self.server = standalone.Server()
        self.server.note_given(data, self.writer)

    def judge(self, *lines: dict[str, Any]) -> str:
        for line in lines:
            self.server.judge(line)
        return NOT_GIVEN if self.server.wrong else ""


@pytest.mark.parametrize(
    ("ready", "answers", "expected"),
    [("0", True, True), ("0", False, False), ("1", True, False)],
)
def test_the_script_calls_no_client_stuck_that_holds_back(
    monkeypatch: pytest.MonkeyPatch, ready: str, *, answers: bool, expected: bool
) -> None:
    monkeypatch.setattr(standalone, "SIGN_S", 0.05)
    monkeypatch.setitem(CASE, "trace", False)
    script = Script(monkeypatch, "push", b"")

    async def play() -> bool:
        await script.server.answer((b"SUB", b"t c 0", b""), script.writer)
        script.server.is_sent = True
        script.server.is_due = True
        await script.server.answer((b"RDY", ready.encode(), b""), script.writer)
        sign = asyncio.ensure_future(script.server.is_held_back())
        await asyncio.sleep(0)
        if answers:
            await script.server.answer((b"NOP", b"", b""), script.writer)
        return await sign

    monkeypatch.setattr(script.server, "deliver", Mock())
    assert asyncio.run(play()) is expected


@pytest.mark.parametrize(("answer", "violated"), ANSWERS)
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


@pytest.mark.parametrize(("data", "message_id", "body", "violated"), MESSAGES)
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


@pytest.mark.parametrize(("answer", "violated"), ANSWERS)
def test_a_script_judges_a_publish_as_the_campaign_does(
    answer: bytes, violated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Script(monkeypatch, "PUBLISH", answer).judge(DONE) == violated


@pytest.mark.parametrize(
    ("answer", "violated"),
    [
        (OK, NOT_GIVEN),
        (OK + OK, ""),
        (BEAT + OK, NOT_GIVEN),
        (REFUSED + OK, ""),
        (REFUSED + REFUSED, NOT_GIVEN),
    ],
)
def test_in_a_script_the_answer_to_identify_accepts_no_publish(
    answer: bytes, violated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Script(monkeypatch, "IDENTIFY", answer).judge(DONE) == violated


@pytest.mark.parametrize(("data", "message_id", "body", "violated"), MESSAGES)
def test_a_script_judges_a_message_as_the_campaign_does(
    data: bytes, message_id: bytes, body: bytes, violated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Script(monkeypatch, "push", data).judge(tell(message_id, body)) == violated


def test_a_script_excuses_what_follows_no_frame_until_the_connection_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = Script(monkeypatch, "PUBLISH", NO_FRAME)

    assert script.judge(DONE, DONE) == ""
    script.writer.is_closing.return_value = True
    assert script.judge({"id": 3, "error": {"message": ""}}) == ""
    assert script.judge(DONE) == NOT_GIVEN


@pytest.mark.parametrize("data", [MESSAGE[:-1], NO_FRAME])
def test_a_script_judges_an_acknowledgement_as_the_campaign_does(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(monkeypatch, "push", data)
    script.server.take_acknowledgement("FIN", ID, script.writer)

    assert script.judge() == ("" if data == NO_FRAME else NOT_GIVEN)


@pytest.mark.parametrize(
    "line",
    [
        {"event": "message"},
        {"event": "message", "id": ID.hex()},
        {"event": "message", "body": ""},
        {"event": "message", "id": "no hex", "body": ""},
        {"event": "message", "id": ID.hex(), "body": "?"},
    ],
)
def test_a_script_goes_on_after_a_line_that_breaks_another_rule(
    line: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Script(monkeypatch, "push", MESSAGE).judge(line) == ""
