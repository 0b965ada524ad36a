import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scripted_peer import Peer, Script, ScriptedPeer, saying
from waits import LIMIT_S, Stopwatch

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.iggy.wire import connection as iggy_connection
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Closed, Done, ErrorStatus, Nonsense, Silent
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire import connection as wire
from wireproof_kit.wire.incoming import VALUES_LIMIT
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.frame import response

PATIENCE = Patience(answer=5.0, push=5.0, redelivery=5.0)
HASTY = Patience(answer=0.05, push=0.05, redelivery=0.05)
OK = response(0)
PING = requests.ping()


@contextmanager
def talking(
    script: Script, patience: Patience = PATIENCE
) -> Iterator[tuple[Connection, Transcript]]:
    transcript = Transcript()
    with ScriptedPeer(script) as peer:
        sock = socket.create_connection(peer.address)
        with Connection(
            sock, transcript=transcript, patience=patience, address=peer.address
        ) as connection:
            yield connection, transcript


def answering(*answers: bytes) -> Script:
    """Give one answer for each ping, then wait for the end."""

    def script(peer: Peer) -> None:
        for answer in answers:
            if not peer.exactly(len(PING.data)):
                return
            peer.say(answer)
        peer.rest()

    return script


def test_answers_come_in_order_whatever_pieces_they_come_in() -> None:
    whole = OK + response(1009) + response(0, b"body")
    with talking(saying(*(bytes([byte]) for byte in whole))) as (connection, _):
        assert connection.receive() == Done(b"")
        assert connection.receive() == ErrorStatus(1009, b"")
        assert connection.receive() == Done(b"body")


def test_everything_is_recorded_with_its_time() -> None:
    with talking(answering(response(0, b"body"))) as (connection, transcript):
        assert connection.ask(PING) == Done(b"body")
    steps = transcript.steps()
    assert [step.kind for step in steps] == ["open", "send", "receive", "close"]
    assert [part.label for part in steps[1].parts] == ["length = 4", "code = 1 (ping)"]
    assert steps[2].data == response(0, b"body")
    assert [step.at_us for step in steps] == sorted(step.at_us for step in steps)


def test_what_nobody_may_read_is_not_recorded() -> None:
    received: list[bytes] = []

    def script(peer: Peer) -> None:
        received.append(peer.exactly(6))
        peer.say(OK)
        peer.rest()

    with talking(script) as (connection, transcript):
        connection.send_unrecorded(requests.raw(b"secret", "a secret"), "logs in")
        assert connection.receive() == Done(b"")
    assert received == [b"secret"]
    assert not any(b"secret" in step.data for step in transcript.steps())
    assert "logs in" in [step.note for step in transcript.steps()]


def test_silence_ends_with_patience_and_tells_of_a_partial_answer() -> None:
    with talking(saying(response(0, b"body")[:10]), HASTY) as (connection, _):
        watch = Stopwatch()
        answer = connection.receive()
        while isinstance(answer, Silent) and not answer.partial:  # the piece was on its way
            answer = connection.receive()
        assert isinstance(answer, Silent)
        assert answer.partial == 10
        assert watch.seconds() < LIMIT_S


def test_a_close_is_seen_after_all_that_came_before_it() -> None:
    with talking(lambda peer: peer.say(response(3007))) as (connection, _):
        assert connection.receive() == ErrorStatus(3007, b"")
        assert connection.receive() == Closed("end")
        assert connection.receive() == Closed("end")
        assert connection.has_ended


def test_an_answer_that_is_cut_off_is_nonsense() -> None:
    with talking(lambda peer: peer.say(response(0, b"body")[:-1])) as (connection, _):
        answer = connection.receive()
        assert isinstance(answer, Nonsense)
        assert answer.fault.field == "body"


def test_an_answer_before_a_reset_is_not_lost() -> None:
    def script(peer: Peer) -> None:
        peer.say(response(3))
        peer.sock.recv(10)  # the rest stays unread, so that closing resets

    with talking(script) as (connection, _):
        connection.send(requests.frame_request(101, requests.raw(bytes(4_000_000), "a lot")))
        assert connection.receive() == ErrorStatus(3, b"")
        assert isinstance(connection.receive(), Closed)


def test_a_reset_is_a_close() -> None:
    with talking(Peer.reset) as (connection, _):
        assert isinstance(connection.receive(), Closed)


def test_sending_to_a_peer_that_has_gone_does_not_raise() -> None:
    with talking(Peer.reset) as (connection, _):
        for _ in range(5):
            connection.send(requests.frame_request(101, requests.raw(bytes(100_000), "")))
        assert isinstance(connection.receive(), Closed)


NOT_ANSWERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "length-beyond-all-memory": b"\0\0\0\0\xff\xff\xff\xff",
    "all-ones": b"\xff" * 64,
}


@pytest.mark.parametrize("data", NOT_ANSWERS.values(), ids=NOT_ANSWERS)
def test_what_is_no_answer_is_nonsense_for_good(data: bytes) -> None:
    with talking(saying(data)) as (connection, transcript):
        answer = connection.receive()
        assert isinstance(answer, Nonsense)
        assert connection.receive() == answer
        assert connection.goes_on() == "nonsense"
    assert any(step.data[:8] == data[:8] for step in transcript.steps())


def endless(piece: bytes) -> Script:
    def script(peer: Peer) -> None:
        while True:
            peer.say(piece)

    return script


def test_endless_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    limit, answer = 1_000_000, response(0, bytes(60_000))
    monkeypatch.setattr(iggy_connection, "BYTES_LIMIT", limit)
    with talking(endless(answer)) as (connection, _):
        answers = [connection.receive() for _ in range(40)]
    # Bytes are counted as they are taken, a chunk at a time, and so at most one chunk too early.
    owed = (limit - wire.CHUNK) // len(answer)
    assert [answer.kind for answer in answers[:owed]] == ["done"] * owed
    assert isinstance(answers[-1], Nonsense)
    assert answers[-1].fault.field == "bytes"


def test_endless_answers_are_bounded() -> None:
    with talking(endless(OK * 4096)) as (connection, _):
        for _ in range(VALUES_LIMIT):
            assert connection.receive() == Done(b"")
        answer = connection.receive()
    assert isinstance(answer, Nonsense)
    assert answer.fault.expected == f"at most {VALUES_LIMIT} on one connection"


def test_a_body_is_owed_that_was_sent_and_none_that_was_not() -> None:
    small = iggy_connection.BODY_LIMIT
    announced = bytes(4) + (small + 1).to_bytes(4, "little")
    with talking(saying(announced)) as (connection, _):
        answer = connection.receive()
    assert isinstance(answer, Nonsense)
    assert answer.fault.expected == f"at most {small} bytes"
    body = bytes(small + 1)

    def keeping(peer: Peer) -> None:
        peer.exactly(1)
        peer.say(response(0, body))
        peer.rest()

    with talking(keeping) as (connection, _):
        assert connection.ask(requests.raw(bytes(small), "a lot")) == Done(body)


def test_who_answers_for_ever_and_never_reads_does_not_hold_the_sender() -> None:
    with talking(endless(OK * 4096)) as (connection, _):
        watch = Stopwatch()
        connection.send(requests.raw(bytes(16_000_000), "a lot"))
        assert watch.seconds() < wire.SEND_SECONDS / 2
        answers = [connection.receive() for _ in range(VALUES_LIMIT + 1)]
    assert isinstance(answers[-1], Nonsense)


def test_closing_takes_a_part_of_what_never_ends() -> None:
    with talking(endless(bytes(65536))) as (connection, transcript):
        watch = Stopwatch()
        connection.close()
        assert watch.seconds() < LIMIT_S
    assert [step.note for step in transcript.steps()][-1] == "by the kit"


def closing_after(count: int) -> Script:
    """Answer so many pings, and leave at the next one."""

    def script(peer: Peer) -> None:
        for _ in range(count):
            peer.exactly(len(PING.data))
            peer.say(OK)
        peer.exactly(len(PING.data))

    return script


GOES_ON = {
    "open": answering(OK, OK),
    "broken": answering(OK, response(3)),
    "closed": closing_after(1),
    "stuck": answering(OK, b""),
}


@pytest.mark.parametrize("state", GOES_ON)
def test_whether_a_connection_goes_on(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking(GOES_ON[state]) as (connection, _):
        assert connection.ask(PING) == Done(b"")
        if state == "stuck":
            monkeypatch.setattr(connection, "_patience", HASTY)
        assert connection.goes_on() == state


def test_nobody_at_the_address_is_one_sentence() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        host, port = sock.getsockname()
        with pytest.raises(TargetUnreachable, match=rf"cannot reach iggy://{host}:{port} \("):
            connect_socket((host, port))
