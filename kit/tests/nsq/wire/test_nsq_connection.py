import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from scripted_peer import (
    HEARTBEAT,
    OK,
    Peer,
    Script,
    ScriptedPeer,
    answering,
    pushing,
    refusing,
    saying,
)
from waits import LIMIT_S, Stopwatch

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import connection as connections
from wireproof_kit.nsq.wire import connection as nsq_connection
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Closed, ErrorFrame, Nonsense, Pushed, Response, Silent
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.runner.patience import ANSWER, PUSH, REDELIVERY, Patience
from wireproof_kit.wire import incoming as bounds
from wireproof_kit.wire.outgoing import join_pieces
from wireproof_kit.wire.transcript import Transcript

PATIENCE = Patience(answer=5.0, push=5.0, redelivery=5.0)
HASTY = Patience(answer=0.05, push=0.05, redelivery=0.05)


@contextmanager
def connected(
    script: Script, patience: Patience = PATIENCE
) -> Iterator[tuple[Connection, Transcript]]:
    transcript = Transcript()
    with ScriptedPeer(script) as peer:
        sock = socket.create_connection(peer.address)
        with Connection(
            sock, transcript=transcript, patience=patience, address=peer.address
        ) as connection:
            yield connection, transcript


def topic_at(*, extend: bool = True) -> Topic:
    return Topic("t", 0, extend=extend, ordered=False, shared=False, address=("127.0.0.1", 1))


def test_frames_come_in_order_whatever_pieces_they_come_in() -> None:
    whole = OK + refusing("E_X", "why") + pushing(b"m")
    with connected(saying(*(bytes([byte]) for byte in whole))) as (connection, _):
        assert connection.receive() == Response(b"OK")
        refusal = connection.receive()
        assert isinstance(refusal, ErrorFrame)
        assert (refusal.code, refusal.text) == ("E_X", "why")
        assert connection.receive(PUSH) == Pushed(b"m")


def test_an_error_code_without_a_description_has_no_text() -> None:
    with connected(saying(refusing("E_TOPIC_NOT_EXIST"))) as (connection, _):
        assert connection.receive() == ErrorFrame("E_TOPIC_NOT_EXIST", b"E_TOPIC_NOT_EXIST ")


def test_heartbeats_are_answered_counted_and_never_returned() -> None:
    nops: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.say(HEARTBEAT + HEARTBEAT)
        nops.extend((peer.line(), peer.line()))
        peer.say(OK)
        peer.rest()

    with connected(script) as (connection, transcript):
        assert connection.receive() == Response(b"OK")
        assert connection.heartbeats == 2
    assert nops == [b"NOP\n", b"NOP\n"]
    assert [step.kind for step in transcript.steps()].count("receive") == 3


def test_a_heartbeat_between_pieces_is_answered_behind_the_frame() -> None:
    came: list[bytes] = []

    def script(peer: Peer) -> None:
        came.append(peer.line())
        peer.say(HEARTBEAT + OK)
        came.extend((peer.line(), peer.line()))
        peer.rest()

    first, head, tail = frames.line("A"), *frames.line("BC").split(1)
    with connected(script) as (connection, _):
        assert connection.ask(join_pieces([first, head], "a line and a half")) == Response(b"OK")
        connection.send(tail)
        assert isinstance(connection.receive_within(0.05), Silent)
    assert came == [b"A\n", b"BC\n", b"NOP\n"]


def test_a_heartbeat_is_not_answered_after_half_closing() -> None:
    def script(peer: Peer) -> None:
        peer.line()
        peer.say(HEARTBEAT + OK)
        peer.rest()

    with connected(script) as (connection, transcript):
        connection.send(frames.nop())
        connection.half_close()
        assert connection.receive() == Response(b"OK")
    assert [step.kind for step in transcript.steps()].count("send") == 1


def test_silence_ends_with_patience_and_tells_of_a_partial_frame() -> None:
    with connected(saying(OK[:7]), HASTY) as (connection, _):
        watch = Stopwatch()
        answer = connection.receive()
        while isinstance(answer, Silent) and not answer.partial:  # the piece was on its way
            answer = connection.receive()
        assert isinstance(answer, Silent)
        assert answer.partial == 7
        assert watch.seconds() < LIMIT_S


def test_a_busy_machine_delays_answers_and_whoever_looks_in_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "machine_load", lambda: 3.0)
    with connected(lambda peer: None) as (prompt, _):
        assert [prompt.seconds(wait) for wait in (ANSWER, PUSH, REDELIVERY)] == [15.0, 5.0, 5.0]
    with connected(lambda peer: None, replace(PATIENCE, in_rounds=True)) as (slow, _):
        assert [slow.seconds(wait) for wait in (ANSWER, PUSH, REDELIVERY)] == [15.0, 15.0, 15.0]


def test_a_close_is_seen_after_all_that_came_before_it() -> None:
    with connected(lambda peer: peer.say(refusing("E_BAD_BODY"))) as (connection, _):
        assert isinstance(connection.receive(), ErrorFrame)
        assert connection.receive() == Closed("end")
        assert connection.receive() == Closed("end")


def test_an_error_frame_before_a_reset_is_not_lost() -> None:
    def script(peer: Peer) -> None:
        peer.say(refusing("E_BAD_MESSAGE", "too big"))
        peer.sock.recv(10)  # the rest of the frame stays unread, so closing resets

    with connected(script) as (connection, _):
        connection.send(frames.pub(topic_at(), bytes(4_000_000)))
        answer = connection.receive()
        assert isinstance(answer, ErrorFrame)
        assert answer.code == "E_BAD_MESSAGE"
        assert isinstance(connection.receive(), Closed)


def test_a_reset_is_a_close() -> None:
    with connected(Peer.reset) as (connection, _):
        assert isinstance(connection.receive(), Closed)


def test_sending_to_a_peer_that_has_gone_does_not_raise() -> None:
    with connected(Peer.reset) as (connection, _):
        for _ in range(5):
            connection.send(frames.pub(topic_at(), bytes(100_000)))
        assert isinstance(connection.receive(), Closed)


NOT_FRAMES = {
    "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "size-0": b"\0\0\0\0",
    "size-3": b"\0\0\0\3\0\0\0",
    "size-negative": b"\xff\xff\xff\xff\0\0\0\0",
    "unknown-type": b"\0\0\0\6\0\0\0\7OK",
}


@pytest.mark.parametrize("data", NOT_FRAMES.values(), ids=NOT_FRAMES)
def test_what_is_no_frame_is_nonsense(data: bytes) -> None:
    with connected(saying(data)) as (connection, _):
        assert isinstance(connection.receive(), Nonsense)


def test_a_frame_cut_by_the_end_is_nonsense() -> None:
    with connected(lambda peer: peer.say(OK[:9])) as (connection, _):
        answer = connection.receive()
        assert isinstance(answer, Nonsense)
        assert answer.fault.found == "the end of the connection"


def flood(piece: bytes) -> Script:
    def script(peer: Peer) -> None:
        while True:
            peer.say(piece * 100)

    return script


@pytest.mark.parametrize("piece", [HEARTBEAT, OK, b"\0"], ids=["heartbeats", "answers", "zeros"])
def test_a_target_that_never_stops_is_bounded(
    piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "VALUES_LIMIT", 500)
    monkeypatch.setattr(nsq_connection, "BYTES_LIMIT", 50_000)
    with connected(flood(piece)) as (connection, transcript):
        seen = [connection.receive() for _ in range(600)]
        assert isinstance(seen[-1], Nonsense)
        assert sum(len(step.data) for step in transcript.steps()) < 1_000_000


def test_ask_keeps_messages_for_the_next_receive() -> None:
    with connected(answering(pushing(b"m") + OK)) as (connection, _):
        assert connection.ask(frames.rdy(1)) == Response(b"OK")
        assert connection.receive(PUSH) == Pushed(b"m")


OK_AND_LINE_FEED = b"\0\0\0\7\0\0\0\0OK\n"

GOES_ON = {
    "open": saying(OK),
    "closed": lambda peer: peer.line(),
    "broken": saying(refusing("E_INVALID")),
    "stuck": saying(),
}


@pytest.mark.parametrize(("state", "script"), GOES_ON.items(), ids=GOES_ON)
def test_a_connection_that_goes_on_or_not(state: str, script: Script) -> None:
    patience = HASTY if state == "stuck" else PATIENCE
    with connected(script, patience) as (connection, _):
        assert connection.goes_on(topic_at()) == state


@pytest.mark.parametrize(
    ("elsewhere", "state"), [(OK_AND_LINE_FEED, "open"), (OK, "broken")], ids=["same", "other"]
)
def test_an_answer_that_is_wrong_on_every_connection_is_in_step(
    elsewhere: bytes, state: str
) -> None:
    with (
        connected(saying(OK_AND_LINE_FEED)) as (connection, _),
        connected(saying(elsewhere)) as (fresh, _),
    ):
        connection.make_fresh = lambda _: fresh
        assert connection.goes_on(topic_at()) == state


def test_a_partition_that_cannot_be_written_for_a_while_is_asked_again() -> None:
    refused = refusing("E_FAILED_ON_NOT_WRITABLE")

    def script(peer: Peer) -> None:
        for answer in (refused, refused, OK):
            peer.line()
            peer.sized()
            peer.say(answer)
        peer.rest()

    with connected(script) as (connection, _):
        assert connection.goes_on(topic_at()) == "open"


def test_a_partition_that_is_not_writable_in_time_leaves_the_case_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wireproof_kit.nsq.wire.connection.WRITABLE_SECONDS", 0.2)
    refused = refusing("E_FAILED_ON_NOT_WRITABLE")

    def script(peer: Peer) -> None:
        while peer.line():
            peer.sized()
            peer.say(refused)

    with (
        connected(script) as (connection, _),
        pytest.raises(ArrangementFailed, match="was not writable"),
    ):
        connection.goes_on(topic_at())


@pytest.mark.parametrize(("extend", "word"), [(True, b"PUB_EXT t 0\n"), (False, b"PUB t 0\n")])
def test_goes_on_publishes_as_the_topic_asks(extend: bool, word: bytes) -> None:
    lines: list[bytes] = []

    def script(peer: Peer) -> None:
        lines.append(peer.line())
        peer.say(OK)
        peer.rest()

    with connected(script) as (connection, _):
        assert connection.goes_on(topic_at(extend=extend)) == "open"
    assert lines == [word]


def test_half_closing_ends_the_sending_direction_only() -> None:
    def script(peer: Peer) -> None:
        data = peer.rest()
        peer.say(OK if data == b"PUB t 0\n" else refusing("E_INVALID"))

    with connected(script) as (connection, _):
        connection.send(frames.raw(b"PUB t 0\n", "cut"))
        connection.half_close()
        assert connection.receive() == Response(b"OK")


def test_everything_is_recorded_with_its_parts() -> None:
    with connected(answering(OK)) as (connection, transcript):
        sent = frames.pub_ext(topic_at(), {"k": "v"}, b"x", size=-1)
        connection.ask(sent)
    steps = {step.kind: step for step in transcript.steps()}
    assert steps["send"].data == sent.data
    assert steps["send"].parts == sent.parts
    assert steps["receive"].data == OK
    assert {step.connection for step in transcript.steps()} == {"A"}


def test_what_came_and_was_not_read_is_recorded_at_the_close() -> None:
    ended = threading.Event()
    endings: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.line()
        peer.say(OK + pushing(b"unread"))
        try:
            endings.append(peer.rest())
        finally:
            ended.set()

    with connected(script) as (connection, transcript):
        connection.ask(frames.nop())
        connection.send(frames.nop())
        connection.close()
        ended.wait()
    assert endings == [b"NOP\n"]
    unread = transcript.steps()[-2]
    assert (unread.data, unread.note) == (pushing(b"unread"), "left unread")
