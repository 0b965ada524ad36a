"""The peers that a client meets: closed connections, lost leaders, messages that time out."""

import json
from collections.abc import Iterable
from typing import TypeGuard

import pytest

from wireproof_kit.clients.effects import Effect, HangUp, Later, Send
from wireproof_kit.clients.events import Connected, Disconnected
from wireproof_kit.nsq.clients.client import SETTINGS
from wireproof_kit.nsq.clients.decoder import NsqDecoder
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
from wireproof_spec.nsq.frame import response_frame
from wireproof_spec.nsq.names import HEARTBEAT

CONN = f"{NODE_1}.1"


def traced(trace_id: str) -> bytes:
    """Return the body of a PUB_EXT with a trace id in its header."""
    header = json.dumps({"##trace_id": trace_id}).encode()
    return len(header).to_bytes(2, "big") + header + b"body"


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


def consume(script: Script) -> tuple[NsqPeers, bytes]:
    """Return the peers of a consumer that is ready for one message, and what it was sent."""
    peers = meet(script)
    list(peers.react(Connected(0.0, CONN)))
    kind = "SUB_ORDERED" if script.ordered else "SUB"
    first = sent(peers.react(Commanded(0.1, CONN, kind, ("t", "c", "0"))))
    return peers, first + sent(peers.react(Commanded(0.2, CONN, "RDY", ("1",))))


def give_back(peers: NsqPeers, timeout_ms: int) -> list[Effect]:
    id = (7).to_bytes(8, "big") + bytes(8)
    return list(peers.react(Commanded(0.3, CONN, "REQ", message_id=id, timeout_ms=timeout_ms)))


@pytest.mark.parametrize(
    ("asked", "seconds"), [(1, 0.001), (200, 0.2), (90_000, 0.5), (10**400, 0.5)]
)
@pytest.mark.parametrize("ordered", [False, True])
def test_a_message_given_back_comes_again_after_the_delay_that_the_client_asks_for(
    asked: int, seconds: float, *, ordered: bool
) -> None:
    script = Script("consumer", ordered=ordered, deliveries=(Delivery(internal_id=7),))
    peers, first = consume(script)
    given_back = give_back(peers, asked)

    (later,) = filter(is_timer, given_back)
    assert (later.seconds, sent(given_back)) == (seconds, b"")
    again = sent(peers.react_to_timer(later.token))
    assert b"\0\1" + (7).to_bytes(8, "big") in first
    assert b"\0\2" + (7).to_bytes(8, "big") in again


def test_a_message_given_back_without_a_delay_comes_again_at_once() -> None:
    peers, _ = consume(Script("consumer", deliveries=(Delivery(internal_id=7),)))

    assert b"\0\2" + (7).to_bytes(8, "big") in sent(give_back(peers, 0))


@pytest.mark.parametrize("ordered", [False, True])
def test_a_deferred_message_holds_up_the_next_in_order_alone(*, ordered: bool) -> None:
    deliveries = (Delivery(b"first", internal_id=7), Delivery(b"second"))
    peers, _ = consume(Script("consumer", ordered=ordered, deliveries=deliveries))
    given_back = give_back(peers, 200)

    assert (b"second" in sent(given_back)) is not ordered
    (later,) = filter(is_timer, given_back)
    list(peers.react(Commanded(0.4, CONN, "RDY", ("2",))))
    assert b"first" in sent(peers.react_to_timer(later.token))


def test_a_deferred_message_outlives_the_connection_that_gave_it_back() -> None:
    peers, _ = consume(Script("consumer", deliveries=(Delivery(b"first", internal_id=7),)))
    (later,) = filter(is_timer, give_back(peers, 200))
    list(peers.react(Disconnected(0.4, CONN, "client")))

    assert list(peers.react_to_timer(later.token)) == []
    list(peers.react(Connected(0.5, f"{NODE_1}.2")))
    list(peers.react(Commanded(0.6, f"{NODE_1}.2", "SUB", ("t", "c", "0"))))
    ready = peers.react(Commanded(0.7, f"{NODE_1}.2", "RDY", ("1",)))
    assert b"first" in sent(ready)


def identify(peers: NsqPeers, **fields: object) -> list[Effect]:
    list(peers.react(Connected(0.0, CONN)))
    asked = {"feature_negotiation": True, **fields}
    return list(peers.react(Commanded(0.1, CONN, "IDENTIFY", body=json.dumps(asked).encode())))


@pytest.mark.parametrize(
    ("asked", "granted"), [(1000, 1000), (10**9, 900_000), (0, 60_000), (True, 60_000)]
)
def test_a_node_grants_the_time_out_of_messages_that_a_client_asks_for(
    asked: object, granted: int
) -> None:
    answer = sent(identify(meet(Script("consumer")), msg_timeout=asked))

    assert json.loads(answer[8:])["msg_timeout"] == granted


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(1000, 1.0), (15_000, 15.0), (10, 30.0), (None, 30.0), ("x", 30.0), (10**400, 3600.0)],
)
def test_a_node_sends_heartbeats_at_the_interval_that_a_client_asks_for(
    asked: object, seconds: float
) -> None:
    peers = meet(Script("consumer"))

    (later,) = (each for each in identify(peers, heartbeat_interval=asked) if is_timer(each))
    again = list(peers.react_to_timer(later.token))

    assert later.seconds == seconds
    assert again == [Send(CONN, response_frame(HEARTBEAT)), later]
    list(peers.react(Disconnected(0.3, CONN, "client")))
    assert list(peers.react_to_timer(later.token)) == []


def is_timer(effect: Effect) -> TypeGuard[Later]:
    return isinstance(effect, Later)


def test_a_client_that_wants_no_heartbeats_gets_none() -> None:
    assert not any(map(is_timer, identify(meet(Script("consumer")), heartbeat_interval=-1)))


def test_a_consumer_in_order_needs_no_ready() -> None:
    deliveries = (Delivery(b"first"), Delivery(b"second"))
    peers = meet(Script("consumer", ordered=True, deliveries=deliveries))
    identify(peers)

    answer = sent(peers.react(Commanded(0.1, CONN, "SUB_ORDER", ("t", "c", "0"))))

    assert answer.startswith(response_frame(b"OK"))
    assert (b"first" in answer, b"second" in answer) == (True, False)
    assert sent(peers.react(Commanded(0.2, CONN, "RDY", ("9",)))) == b""


@pytest.mark.parametrize(
    "command",
    [
        Commanded(0.1, CONN, "IDENTIFY", body=b"[" * 100_000),
        Commanded(0.1, CONN, "PUB_EXT", ("t", "0"), body=b"\xff\xff" + b"[" * 65_535),
        Commanded(0.1, CONN, "PUB_EXT", ("t", "0"), body=traced("1" + "0" * 30)),
        Commanded(0.1, CONN, "PUB_EXT", ("t", "0"), body=traced("9" * 5000)),
        Commanded(0.1, CONN, "SUB", ("t", "c", "9" * 4000)),
    ],
    ids=["identify", "header", "trace-id", "long-trace-id", "partition"],
)
def test_what_no_node_can_read_is_answered(command: Commanded) -> None:
    peers = meet(Script("producer"))
    list(peers.react(Connected(0.0, CONN)))

    assert sent(peers.react(command))


def test_a_trace_id_of_more_than_64_bits_is_refused() -> None:
    peers = meet(Script("producer"))
    list(peers.react(Connected(0.0, CONN)))

    def publish(trace_id: str) -> bytes:
        return sent(peers.react(Commanded(0.1, CONN, "PUB_EXT", ("t",), body=traced(trace_id))))

    assert publish("0" * 30 + str(2**64 - 1))[8:10] == b"OK"
    assert b"INVALID_TRACE_ID" in publish(str(2**64))


@pytest.mark.parametrize(
    ("version", "connection", "closes"),
    [
        ("1.1", None, False),
        ("1.1", "close", True),
        ("1.1", "TE, Close", True),
        ("1.1", "keep-alive", False),
        ("1.0", None, True),
        ("1.0", "Keep-Alive", False),
    ],
)
def test_a_lookup_server_closes_the_connection_as_the_request_says(
    version: str, connection: str | None, *, closes: bool
) -> None:
    header = f"Connection: {connection}\r\n" if connection else ""
    data = f"GET /lookup?topic=t HTTP/{version}\r\nHost: h\r\n{header}\r\n".encode()
    decoder = NsqDecoder()
    decoder.open(0.0, f"{LOOKUP_1}.1")
    (request,) = decoder.decode_received(0.1, f"{LOOKUP_1}.1", data)

    answered = list(meet(Script("consumer")).react(request))
    assert (HangUp(f"{LOOKUP_1}.1") in answered) is closes
