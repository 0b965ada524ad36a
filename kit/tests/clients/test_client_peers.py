"""The peers that a client meets: closed connections, lost leaders, messages that time out."""

from collections.abc import Iterable

from wireproof_kit.clients.effects import Effect, HangUp, Send
from wireproof_kit.clients.events import Connected, Disconnected
from wireproof_kit.nsq.clients.client import SETTINGS
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.events import Commanded, Requested
from wireproof_kit.nsq.clients.peers import NsqPeers
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    NODE_1,
    Close,
    Delivery,
    Expire,
    Lead,
    Script,
    once,
)

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


def meet(script: Script) -> NsqPeers:
    peers = NsqPeers(script, Asking(script, topic="t", channel="c"))
    addresses = {name: f"127.0.0.1:{port}" for port, name in enumerate(peers.names(), 1)}
    list(peers.begin(addresses, dict.fromkeys(SETTINGS, "1")))
    return peers


def sent(effects: Iterable[Effect]) -> bytes:
    return b"".join(effect.data for effect in effects if isinstance(effect, Send))


def test_a_partition_that_nobody_leads_is_in_no_lookup_and_refused_by_its_node() -> None:
    both = {0: NODE_1, 1: NODE_1}
    gone = once("PUBLISH", Lead({1: None}))
    peers = meet(Script("producer", leaders=both, rules=(gone,)))
    list(peers.react(Connected(0.0, CONN)))
    lookup = Requested(0.2, f"{LOOKUP_1}.1", "GET", "/lookup", {"topic": ("t",)}, {})
    publish = Commanded(0.3, CONN, "PUB", ("t", "1"), body=b"b")

    assert b'"1": {' in sent(peers.react(lookup))
    assert sent(peers.react(publish)).endswith(b"OK")
    assert b'"1": {' not in sent(peers.react(lookup))
    assert b"E_FAILED_ON_NOT_LEADER" in sent(peers.react(publish))


def test_a_message_that_times_out_is_delivered_again() -> None:
    expire = once("NOP", Expire())
    peers = meet(Script("consumer", deliveries=(Delivery(internal_id=7),), rules=(expire,)))
    list(peers.react(Connected(0.0, CONN)))
    list(peers.react(Commanded(0.1, CONN, "SUB", ("t", "c", "0"))))
    first = sent(peers.react(Commanded(0.2, CONN, "RDY", ("1",))))
    again = sent(peers.react(Commanded(0.3, CONN, "NOP")))

    id = (7).to_bytes(8, "big") + bytes(8)
    assert b"\0\1" + id in first
    assert b"\0\2" + id in again
