"""One connection of a case: how it ends, and what is wrong with what came on it."""

import select
import socket
import sys
import time
from collections.abc import Callable

import pytest
from scripted_peer import OK, Peer, ScriptedPeer
from waits import until

from wireproof_kit.fuzz.case import HALF_CLOSE, Case, Hold, Step
from wireproof_kit.fuzz.driver import AnswerReader, Expectation, Owed
from wireproof_kit.fuzz.oracle.http_owed import HttpReader
from wireproof_kit.fuzz.oracle.rules import CLOSED, NONSENSE
from wireproof_kit.fuzz.send import pump
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.fuzz.send.conversation import Conversation
from wireproof_kit.fuzz.send.pipeline import Pipeline, PipelinedCase
from wireproof_kit.nsq.fuzz.answers import MESSAGE, OK_KIND, FrameReader
from wireproof_spec.nsq.frame import message_frame

PUSHED = message_frame(b"0123456789abcdef" * 4)
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
PATIENCE_S = 60.0
"""What the code under test is given; its targets answer at once."""


class Subscriber:
    """Sends back nothing for the messages that it is pushed."""

    def is_pushed(self, kind: str) -> bool:
        return kind == MESSAGE

    def reply_to_unrequested(self, answer: object) -> bytes:
        return b""


def read_until(client: CaseConnection, enough: Callable[[], object]) -> None:
    def read() -> object:
        client.read()
        return enough()

    until(read, "end of the connection")


def move(client: Conversation) -> bool:
    """Read what has come and go on; return True at the end of the case."""
    for each in client.clients():
        each.read()
    client.advance()
    return client.over


def ended(reader: AnswerReader, *pieces: bytes, half_close: bool) -> CaseConnection:
    """Talk to a target that says the pieces and ends, before or behind our own side's end."""

    def script(peer: Peer) -> None:
        if half_close:
            peer.rest()
        peer.say(*pieces)

    with ScriptedPeer(script) as target:
        client = CaseConnection(target.address, reader, Subscriber())
        if half_close:
            client.half_close()
        read_until(client, lambda: client.ended)
        client.close()
    assert client.ended == "end"
    return client


@pytest.mark.parametrize("cut", [1, 20, len(PUSHED) - 1])
def test_a_target_may_stop_in_the_middle_of_a_message_when_our_side_has_ended(cut: int) -> None:
    client = ended(FrameReader(), OK, PUSHED, PUSHED[:cut], half_close=True)

    assert [answer.kind for answer in client.answers] == [OK_KIND]
    assert not client.fault


@pytest.mark.parametrize("cut", [1, 20, len(PUSHED) - 1])
def test_one_that_ends_by_itself_ends_between_frames(cut: int) -> None:
    client = ended(FrameReader(), OK, PUSHED[:cut], half_close=False)

    assert client.fault == f"it ends {cut} bytes into an answer"


@pytest.mark.parametrize("half_close", [True, False])
def test_what_begins_no_frame_is_nonsense_whoever_ended(half_close: bool) -> None:
    assert ended(FrameReader(), b"\xff" * 12, half_close=half_close).fault


@pytest.mark.parametrize(("reader", "whole"), [(FrameReader, OK), (HttpReader, RESPONSE)])
@pytest.mark.parametrize("half_close", [True, False])
def test_what_is_whole_is_no_nonsense(
    reader: type[FrameReader | HttpReader], whole: bytes, half_close: bool
) -> None:
    client = ended(reader(), whole, half_close=half_close)

    assert len(client.answers) == 1
    assert not client.fault


def test_an_http_response_is_cut_like_any_other_answer() -> None:
    assert ended(HttpReader(), RESPONSE[:-1], half_close=False).fault
    assert not ended(HttpReader(), RESPONSE[:-1], half_close=True).fault
    assert ended(HttpReader(), b"what is this\r\n\r\n", half_close=True).fault
    assert ended(HttpReader(), b"what", half_close=True).fault


class Attentive(Subscriber):
    """Says a word for each message that it is pushed."""

    def reply_to_unrequested(self, answer: object) -> bytes:
        return b"heard"


def test_who_is_only_read_from_answers_what_is_pushed() -> None:
    def script(peer: Peer) -> None:
        peer.say(PUSHED)
        peer.exactly(len(b"heard"))
        peer.say(OK)

    with ScriptedPeer(script) as target:
        client = CaseConnection(target.address, FrameReader(), Attentive())
        read_until(client, lambda: client.answers or client.ended)
        client.close()
    assert [answer.kind for answer in client.answers] == [OK_KIND]


class Oracle(Subscriber):
    """Owes each case one OK, and no more."""

    login = None

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def address(self, case: Case) -> tuple[str, int]:
        return self._address

    def reader(self, case: Case) -> FrameReader:
        return FrameReader()

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        return Expectation((Owed(frozenset({OK_KIND})),))

    def flaw_of(self, case: Case) -> str:
        return ""

    def sentinel(self, case: Case, number: int) -> None:
        return None

    def use_watched_names(self, case: Case) -> Case:
        return case

    def body_of(self, stored: bytes) -> bytes:
        return stored


@pytest.mark.parametrize(("answers", "of_opening"), [((), True), ((OK,), False)])
def test_a_lost_answer_belongs_to_the_opening_or_to_the_case(
    answers: tuple[bytes, ...], *, of_opening: bool
) -> None:
    def script(peer: Peer) -> None:
        peer.rest()
        peer.say(*answers)

    step = Step(b"PUB t\n", HALF_CLOSE)
    case = Case(0, "identified", "PUB", "frame", "then closed", (step,), False)
    with ScriptedPeer(script) as target:
        client = Conversation(case, Oracle(target.address), (Step(b"IDENTIFY\n"),), PATIENCE_S)
        client.start()
        until(lambda: move(client), "end of the case")
        judgement = client.judgement()
        client.close()

    assert judgement.trouble is not None
    assert judgement.trouble.violated == CLOSED
    assert judgement.of_opening is of_opening


def judged(*pieces: bytes) -> str | None:
    """Let a case that half-closes be answered with the pieces and an end."""

    def script(peer: Peer) -> None:
        peer.rest()
        peer.say(*pieces)

    step = Step(b"SUB t c\nRDY 9\n", HALF_CLOSE)
    case = Case(0, "identified", "SUB", "frame", "then closed", (step,), False)
    with ScriptedPeer(script) as target:
        client = Conversation(case, Oracle(target.address), (), PATIENCE_S)
        client.start()
        until(lambda: move(client), "end of the case")
        trouble = client.judgement().trouble
        client.close()
    return trouble.violated if trouble else None


def test_a_message_cut_by_our_own_end_is_no_finding() -> None:
    assert judged(OK, PUSHED, PUSHED[:30]) is None


def test_an_answer_that_is_owed_is_missed_all_the_same() -> None:
    assert judged(OK[:-1]) == CLOSED
    assert judged(PUSHED[:30]) == CLOSED
    assert judged(b"\xff" * 12) == NONSENSE


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux acknowledges when it is told to")
def test_a_target_that_keeps_small_answers_back_is_not_waited_for() -> None:
    """A delayed acknowledgement comes after 40 ms; the first ones of a connection come at once."""

    def script(peer: Peer) -> None:
        while peer.line():
            peer.say(OK, OK)

    owed = Owed(frozenset({OK_KIND}))
    step = Step(b"NOP\n")
    piped = PipelinedCase(
        Case(0, "", "NOP", "frame", "grammar", (step,), True), step.data, (owed, owed)
    )
    with ScriptedPeer(script) as target:
        pipeline = Pipeline(Oracle(target.address), PATIENCE_S, b"")
        seconds = [_seconds_of_batch(pipeline, piped) for _ in range(40)][20:]
        pipeline.close()
    assert min(seconds) < 0.03


def _seconds_of_batch(pipeline: Pipeline, piped: PipelinedCase) -> float:
    started = time.monotonic()
    pipeline.begin([piped])
    while pipeline.clients():
        assert pump.move_bytes(pipeline.clients(), PATIENCE_S), "an answer is missing"
    assert pipeline.finish().wrong is None
    return time.monotonic() - started


def test_an_answer_before_a_reset_is_not_lost_when_our_side_ends_after_it() -> None:
    def answer_and_reset(peer: Peer) -> None:
        peer.line()
        peer.say(OK)
        peer.reset()

    with ScriptedPeer(answer_and_reset) as target:
        client = CaseConnection(target.address, FrameReader(), Subscriber())
        client.send(b"NOP\n")
        assert client.sock is not None
        select.select([client.sock], [], [])
        wait_for_reset(client.sock)
        client.half_close()
        read_until(client, lambda: client.ended)
        client.close()

    assert [answer.kind for answer in client.answers] == [OK_KIND]
    assert client.ended == "reset"


def wait_for_reset(sock: socket.socket) -> None:
    """Wait until the peer's reset has come, without reading what came before it."""
    poll = select.poll()
    poll.register(sock, 0)
    assert poll.poll(), "errors and hang-ups are always told"


def test_a_held_case_stays_open_for_its_seconds_and_then_ends() -> None:
    seconds = 0.2
    ended_after: list[float] = []

    def script(peer: Peer) -> None:
        peer.exactly(len(b"SUB t c\n"))
        peer.say(OK)
        started = time.monotonic()
        peer.rest()
        ended_after.append(time.monotonic() - started)

    step = Step(b"SUB t c\n", Hold(seconds))
    case = Case(0, "identified", "SUB", "frame", "grammar, held open", (step,), True)
    with ScriptedPeer(script) as target:
        client = Conversation(case, Oracle(target.address), (), PATIENCE_S)
        client.start()
        pump.converse([client], time.monotonic() + PATIENCE_S, time.monotonic() + PATIENCE_S)
        trouble = client.judgement().trouble
        client.close()

    assert client.over
    assert trouble is None
    assert ended_after[0] >= seconds / 2
