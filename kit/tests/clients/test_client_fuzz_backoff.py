"""Fuzzing clients: one that backs off, as it may, is not stuck."""

from dataclasses import replace

from case_play import CasePlay, sent
from client_fuzz_play import ADDRESSES, CONN, MESSAGE, VALUES, Play, case

from wireproof_kit.clients.effects import Listen
from wireproof_kit.clients.events import Connected
from wireproof_kit.fuzz.oracle.client_rules import STUCK
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.fuzz import states
from wireproof_kit.nsq.clients.fuzz.pauses import Pauses
from wireproof_kit.nsq.clients.fuzz.peers import CasePeers
from wireproof_kit.nsq.clients.fuzz.states import STATES
from wireproof_kit.nsq.clients.script import LOOKUP_1
from wireproof_spec.nsq.frame import response_frame


def hold_back_before_the_case(*, answers: bool) -> Play:
    play = Play(case(MESSAGE))
    play.see(Connected(0.1, CONN))
    play.see(Commanded(0.2, CONN, "SUB", ("t", "c", "0")))
    play.see(Commanded(0.3, CONN, "RDY", ("0",)))
    assert sent(play.expire("held back")) == [response_frame(b"_heartbeat_")]
    if answers:
        play.see(Commanded(0.8, CONN, "NOP"))
    return play


def test_a_client_that_holds_back_before_a_case_leaves_it_to_another_client() -> None:
    play = hold_back_before_the_case(answers=True)
    play.expire("late")

    assert (play.peers.trouble, play.peers.is_retired, play.peers.done) == (None, True, 0)


def test_a_client_that_is_ready_in_time_gets_the_case() -> None:
    play = hold_back_before_the_case(answers=True)
    assert MESSAGE in sent(play.see(Commanded(0.9, CONN, "RDY", ("1",))))
    play.expire("late")

    assert play.violated == STUCK


def test_a_client_that_asks_for_nothing_and_answers_no_heartbeat_is_stuck() -> None:
    play = hold_back_before_the_case(answers=False)
    play.expire("late")

    assert play.violated == STUCK


def test_a_server_that_is_away_comes_back_before_the_next_case() -> None:
    """A client with no message in flight has shown nothing until the server is back."""
    play = Play(case(b"", "lookup-down"))
    play.see(Connected(0.1, CONN))
    play.see(Commanded(0.2, CONN, "SUB", ("t", "c", "0")))
    ready = play.see(Commanded(0.3, CONN, "RDY", ("1",)))
    assert Listen(LOOKUP_1, up=False) in ready

    play.expire("held back")
    assert play.peers.done == 0

    assert Listen(LOOKUP_1, up=True) in play.expire("up")


def test_growing_pauses_are_a_back_off_and_others_are_none() -> None:
    def come_back_after(*seconds: float) -> Pauses:
        pauses, at = Pauses(), 0.0
        for each in seconds:
            pauses.begin(at)
            pauses.begin(at + each / 2)  # another connection that is lost meanwhile
            at += each
            pauses.end(at)
        return pauses

    for growing in ((0.1, 0.2, 0.4), (5.0, 0.5, 1.0, 2.0)):
        pauses = come_back_after(*growing)
        assert not pauses.are_growing, "the client is there"
        pauses.begin(9.0)
        assert pauses.are_growing
    for other in ((), (1.0, 2.0), (1.0, 1.0, 1.0), (1.0, 4.0, 2.0)):
        pauses = come_back_after(*other)
        pauses.begin(9.0)
        assert not pauses.are_growing


def lose_clients(*pauses_s: float) -> CasePeers:
    """Return peers of a client that comes back after these pauses, and then no more."""
    cut = [replace(case(b"\0\0"), index=number, delimited=False) for number in range(9)]
    asking = Asking(states.script(STATES["consuming"].client), topic="t", channel="c")
    peers = CasePeers(STATES["consuming"].client, cut, asking, patience_s=5.0)
    play, at = CasePlay(peers, peers.begin(ADDRESSES, VALUES)), 0.0
    for number, pause_s in enumerate(pauses_s):
        at += pause_s
        conn = f"{CONN}{number}"
        play.see(Connected(at, conn))
        play.see(Commanded(at, conn, "SUB", ("t", "c", "0")))
        effects = play.see(Commanded(at, conn, "RDY", ("5",)))
        for data in (each for each in sent(effects) if b"control" in each):
            play.see(Commanded(at, conn, "FIN", message_id=data[18:34]))
    play.expire("late")
    return peers


def test_a_client_with_growing_pauses_leaves_the_case_to_another_client() -> None:
    backing_off = lose_clients(0.0, 0.5, 1.0, 2.0)
    assert backing_off.done > 0
    assert (backing_off.trouble, backing_off.is_retired) == (None, True)

    gone = lose_clients(0.0, 1.0, 1.0, 1.0)
    assert gone.trouble is not None
    assert gone.trouble.violated == STUCK
