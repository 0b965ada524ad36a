"""The peers that a client meets: what comes after they have closed is nobody's."""

from wireproof_kit.clients.effects import HangUp, Send
from wireproof_kit.clients.events import Connected, Disconnected
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.peers import NsqPeers
from wireproof_kit.nsq.clients.script import NODE_1, Close, Script, once

CONN = f"{NODE_1}.1"


def test_a_command_that_came_with_the_one_that_closes_is_passed_over() -> None:
    script = Script("consumer", rules=(once("FIN", Close()),))
    peers = NsqPeers(script, Asking(script, topic="t", channel="c"))
    peers.begin({}, {})
    list(peers.react(Connected(0.0, CONN)))
    assert [type(each) for each in peers.react(Commanded(0.1, CONN, "IDENTIFY"))] == [Send]
    assert list(peers.react(Commanded(0.2, CONN, "FIN"))) == [HangUp(CONN)]
    list(peers.react(Disconnected(0.3, CONN, "kit")))

    assert list(peers.react(Commanded(0.4, CONN, "RDY", ("1",)))) == []
