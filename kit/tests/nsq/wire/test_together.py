"""While a case waits at one connection, its other connections are read, too."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from scripted_peer import HEARTBEAT, OK, Peer, Script, ScriptedPeer, pushing, saying

from wireproof_kit.nsq.wire.answers import Closed, Pushed, Response, Silent
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire.transcript import Transcript

PATIENCE = Patience(answer=20.0, push=20.0, redelivery=20.0)
NOP = b"NOP\n"


class Answered:
    """A script that sends a heartbeat, and others that speak once it is answered."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def beat(self, peer: Peer) -> None:
        peer.say(HEARTBEAT)
        if peer.line() == NOP:
            self.done.set()
        peer.rest()

    def then(self, *pieces: bytes) -> Script:
        def script(peer: Peer) -> None:
            self.done.wait()
            peer.say(*pieces)
            peer.rest()

        return script


@contextmanager
def connected(*scripts: Script) -> Iterator[tuple[list[Connection], Transcript]]:
    """Connect to each script in one transcript; the connections are A, B and so on."""
    transcript, opened = Transcript(), list[Connection]()
    peers = [ScriptedPeer(script) for script in scripts]
    try:
        for peer in peers:
            sock = socket.create_connection(peer.address)
            opened.append(
                Connection(sock, transcript=transcript, patience=PATIENCE, address=peer.address)
            )
        yield opened, transcript
    finally:
        for connection in opened:
            connection.close()
        for peer in peers:
            peer.__exit__(None, None, None)


def test_a_heartbeat_is_answered_while_the_case_waits_at_another_connection() -> None:
    answered = Answered()
    with connected(answered.then(OK), answered.beat) as ((waited, beside), _):
        assert waited.receive() == Response(b"OK")
        assert beside.heartbeats == 1


def test_a_heartbeat_is_answered_while_the_case_waits_for_an_http_answer() -> None:
    answered = Answered()
    script = answered.then(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    with ScriptedPeer(script) as peer, connected(answered.beat) as (_, transcript):
        client = HttpClient(peer.address, transcript=transcript, seconds=20.0)
        assert client.request("GET", "/ping").status == 200


def test_a_heartbeat_that_is_not_to_be_answered_is_not() -> None:
    with connected(saying(), saying(HEARTBEAT)) as ((waited, beside), transcript):
        beside.answers_heartbeats = False
        while not beside.heartbeats:
            waited.receive_within(0.05)
    assert NOP not in [step.data for step in transcript.steps() if step.kind == "send"]


def test_messages_read_early_come_in_order_and_keep_their_time() -> None:
    pushed = pushing(b"one") + pushing(b"two")
    with connected(saying(), saying(pushed, OK)) as ((waited, beside), transcript):
        while not any(step.data == OK for step in transcript.steps()):
            waited.receive_within(0.05)
        waited.receive_within(0.05)
        got = [beside.receive() for _ in range(3)]
    assert got == [Pushed(b"one"), Pushed(b"two"), Response(b"OK")]
    steps = transcript.steps()
    received = [step for step in steps if step.kind == "receive"]
    assert [step.connection for step in received] == ["B", "B", "B"]
    last_wait = [step for step in steps if step.note.startswith("nothing whole")][-1]
    assert all(step.index < last_wait.index for step in received)
    assert [each.step for each in got] == [step.index for step in received]


def test_an_end_read_early_is_told_later() -> None:
    with connected(saying(), lambda peer: peer.say(OK)) as ((waited, beside), _):
        while not beside.has_ended:
            waited.receive_within(0.05)
        assert beside.receive() == Response(b"OK")
        assert isinstance(beside.receive(), Closed)


def test_a_wait_in_vain_says_what_came_elsewhere() -> None:
    with connected(saying(), saying(HEARTBEAT, OK)) as ((waited, _), transcript):
        while not any(step.data == OK for step in transcript.steps()):
            answer = waited.receive_within(0.2)
            assert isinstance(answer, Silent)
    notes = [step.note for step in transcript.steps() if step.note.startswith("nothing whole")]
    assert notes[-1].endswith("; meanwhile B received 1")


def test_a_connection_that_another_thread_opened_is_not_read() -> None:
    with ScriptedPeer(saying(OK)) as peer, connected(saying()) as ((waited,), transcript):
        opened = list[Connection]()

        def open_beside() -> None:
            sock = socket.create_connection(peer.address)
            opened.append(
                Connection(sock, transcript=transcript, patience=PATIENCE, address=peer.address)
            )

        thread = threading.Thread(target=open_beside)
        thread.start()
        thread.join()
        waited.receive_within(0.1)
        assert not any(step.data == OK for step in transcript.steps())
        assert opened[0].receive() == Response(b"OK")
        opened[0].close()
