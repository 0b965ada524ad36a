"""The kit's end of a connection, whatever the protocol: here one of lines."""

import socket
import threading
import time

import pytest
from line_wire import UNREAD, WRONG, cut_off, wired
from scripted_peer import Peer, Script, saying
from waits import LIMIT_S, Stopwatch

from wireproof_kit.wire import connection as wires
from wireproof_kit.wire.answers import Closed, Nonsense, Silent

SECONDS = LIMIT_S


def endless(piece: bytes) -> Script:
    def script(peer: Peer) -> None:
        while True:
            peer.say(piece)

    return script


def test_values_come_until_the_target_ends() -> None:
    with wired(lambda peer: peer.say(b"one\ntwo\n")) as (wire, _, _):
        assert list(wire.answers(SECONDS)) == [b"one", b"two"]
        assert wire.explain_nothing(SECONDS, cut_off) == Closed("end")
        assert wire.has_ended


def test_values_come_until_one_is_none() -> None:
    with wired(saying(b"one\n" + WRONG + b"\n")) as (wire, _, transcript):
        assert list(wire.answers(SECONDS)) == [b"one"]
        answer = wire.explain_nothing(SECONDS, cut_off)
        assert isinstance(answer, Nonsense)
        assert wire.explain_nothing(SECONDS, cut_off) == answer
        assert wire.has_ended
    assert [step.data for step in transcript.steps() if step.kind == "receive"] == [WRONG + b"\n"]


def test_what_the_end_cuts_off_is_nonsense() -> None:
    with wired(lambda peer: peer.say(b"one\ntw")) as (wire, _, _):
        assert list(wire.answers(SECONDS)) == [b"one"]
        answer = wire.explain_nothing(SECONDS, cut_off)
    assert isinstance(answer, Nonsense)
    assert answer.fault.found == "2 bytes"


def test_silence_is_over_in_time() -> None:
    with wired(saying(b"")) as (wire, _, transcript):
        assert list(wire.answers(0.05)) == []
        assert wire.explain_nothing(0.05, cut_off) == Silent(0.05)
        assert not wire.has_ended
    assert "nothing whole within 0.05 s" in [step.note for step in transcript.steps()]


def test_a_target_that_sends_for_ever_ends_no_later_than_its_bound() -> None:
    with wired(endless(bytes(65536))) as (wire, lines, _):
        watch = Stopwatch()
        assert list(wire.answers(SECONDS)) == []
        assert watch.seconds() < SECONDS
        answer = wire.explain_nothing(SECONDS, cut_off)
        assert lines.fed <= lines.bytes_limit
    assert isinstance(answer, Nonsense)
    assert answer.fault.field == "bytes"


def test_who_sends_for_ever_and_never_reads_does_not_hold_the_sender() -> None:
    with wired(endless(bytes(65536))) as (wire, _, _):
        watch = Stopwatch()
        wire.write(bytes(16_000_000))
        assert watch.seconds() < wires.SEND_SECONDS / 2
        assert wire.has_ended


def test_a_peer_that_does_not_read_does_not_hold_the_sender(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wires, "SEND_SECONDS", 0.1)
    ended = threading.Event()

    def idle(peer: Peer) -> None:
        ended.wait()

    with wired(idle) as (wire, _, transcript):
        wire.write(bytes(16_000_000))
        assert list(wire.answers(0.05)) == []
        assert wire.explain_nothing(0.05, cut_off) == Silent(0.05)
        ended.set()
    assert any("did not take" in step.note for step in transcript.steps())


def test_closing_takes_no_more_than_it_may_of_what_never_ends() -> None:
    seen: list[bytes] = []
    with wired(endless(b"x" * 65536)) as (wire, lines, transcript):
        wire.pause(time.monotonic() + SECONDS)
        before = lines.fed
        wire.close(lambda: seen.append(wire.pending[:1]))
        wire.close(lambda: seen.append(b"again"))
        assert 0 < before <= lines.fed <= before + UNREAD
    assert seen == [b"x"]
    assert transcript.steps()[-1].note == "by the kit"


def test_a_secret_is_recorded_nowhere() -> None:
    with wired(saying(b"")) as (wire, _, transcript):
        wire.record("send", b"a secret word")
        wire.hide(b"secret")
        wire.record("send", b"a secret word")
    sent = [step.data for step in transcript.steps() if step.kind == "send"]
    assert sent == [b"a secret word", b"a ****** word"]


def test_an_address_accepts_connections_or_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        assert wires.accepts(address)
    assert not wires.accepts(address)
