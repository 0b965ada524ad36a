"""The relay: bytes as they came, whoever dies, however much comes."""

import asyncio
import contextlib
import random
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterable

import pytest
from proxied import Proxied, proxied
from scripted_peer import OK, Peer, ScriptedPeer

from wireproof_kit.clients.events import Connected, Disconnected, Event
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.proxy.part import make_part
from wireproof_kit.proxy import relay
from wireproof_kit.proxy.events import Noted, Undecoded, Unreached
from wireproof_kit.proxy.fronts import Front, FrontFor, Gate, OpenGate
from wireproof_kit.proxy.part import ProxyPart
from wireproof_kit.proxy.tap import Tap
from wireproof_kit.wire.address import format_address
from wireproof_spec.nsq.frame import error_frame

MANY = 3 << 20


def read_all(sock: socket.socket) -> bytes:
    pieces: list[bytes] = []
    while piece := sock.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def echo(peer: Peer) -> None:
    while piece := peer.sock.recv(65536):
        peer.say(piece)


def echoed(proxy: Proxied, data: bytes) -> bytes:
    """Send bytes in odd pieces, end the direction, and return all that comes back."""
    with proxy.connect() as sock:
        draw = random.Random(len(data))

        def send() -> None:
            at = 0
            while at < len(data):
                size = draw.choice((1, 7, 1000, 65536, 200_000))
                sock.sendall(data[at : at + size])
                at += size
            sock.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        received = read_all(sock)
        sender.join()
        return received


@pytest.mark.parametrize("beginning", [b"  V2PUB t 0\n", b"  V2IDENTIFY\n", b"GET / HTTP/1.1\r\n"])
def test_bytes_are_equal_on_both_sides_whatever_they_mean(beginning: bytes) -> None:
    data = beginning + random.Random(1).randbytes(MANY)
    with ScriptedPeer(echo) as broker, proxied(("nsqd", broker.address)) as proxy:
        assert echoed(proxy, data) == data
        proxy.seen.until(Disconnected)
    assert proxy.seen.bytes["nsqd1.1", "send"] == data
    assert proxy.seen.bytes["nsqd1.1", "receive"] == data


def test_a_client_that_ends_its_direction_still_reads() -> None:
    def script(peer: Peer) -> None:
        peer.rest()
        peer.say(b"late answer")

    with ScriptedPeer(script) as broker, proxied(("nsqd", broker.address)) as proxy:
        with proxy.connect() as sock:
            sock.sendall(b"  V2")
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == b"late answer"
        closed = proxy.seen.until(Disconnected)
    assert isinstance(closed, Disconnected)
    assert closed.by == "client"


def drop(peer: Peer) -> None:
    peer.exactly(4)


def reset(peer: Peer) -> None:
    peer.exactly(4)
    peer.reset()


@pytest.mark.parametrize("dies", [drop, reset])
def test_a_broker_that_dies_ends_its_client_and_the_next_one_is_served(
    dies: Callable[[Peer], None],
) -> None:
    with ScriptedPeer(dies) as broker, proxied(("nsqd", broker.address)) as proxy:
        for _ in range(2):
            with proxy.connect() as sock:
                sock.sendall(b"  V2")
                assert read_all(sock) == b""
            closed = proxy.seen.until(Disconnected)
            assert isinstance(closed, Disconnected)
            assert closed.by == "broker"
    assert proxy.observer.faults == []


ERROR = error_frame("E_BAD_TOPIC")


def refuse(peer: Peer) -> None:
    peer.exactly(12)
    peer.say(ERROR)


def refuse_and_read_on(peer: Peer) -> None:
    refuse(peer)
    peer.sock.shutdown(socket.SHUT_WR)
    peer.rest()


@pytest.mark.parametrize("script", [refuse, refuse_and_read_on])
def test_an_error_before_the_end_arrives_though_the_client_goes_on_sending(
    script: Callable[[Peer], None],
) -> None:
    def flood(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock.sendall(b"  V2" + b"PUB t 0\n\0\0\1\0" * 20_000)

    with ScriptedPeer(script) as broker, proxied(("nsqd", broker.address)) as proxy:
        for _ in range(30):  # by asyncio's streams 1 of 14 clients was not told
            with proxy.connect() as sock:
                sender = threading.Thread(target=flood, args=(sock,))
                sender.start()
                assert sock.recv(len(ERROR), socket.MSG_WAITALL) == ERROR
                sock.shutdown(socket.SHUT_RDWR)
                sender.join()


def test_a_broker_that_is_not_there_is_told_at_the_start_and_ends_each_client(
    dead_port: int,
) -> None:
    gone = "127.0.0.1", dead_port
    with proxied(("nsqd", gone)) as proxy:
        told = proxy.seen.until(Unreached)
        for _ in range(2):
            with proxy.connect() as sock:
                assert read_all(sock) == b""
            closed = proxy.seen.until(Disconnected)
    assert isinstance(told, Unreached)
    assert told.conn == "nsqd1"
    assert told.text == (
        f"{format_address(gone)} cannot be reached (connection refused); "
        "the proxy goes on, and tries again for each client"
    )
    assert sum(isinstance(event, Unreached) for event in proxy.seen.kept) == 1
    assert isinstance(closed, Disconnected)
    assert closed.by == "broker"
    assert proxy.verdicts() == {}


def test_a_broker_that_comes_back_and_goes_again_is_told_again() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        with proxied(("nsqd", server.getsockname())) as proxy:
            proxy.seen.until(Unreached)
            server.listen()
            with proxy.connect() as sock:
                server.accept()[0].close()
                assert read_all(sock) == b""
            server.close()
            with proxy.connect() as sock:
                assert read_all(sock) == b""
            proxy.seen.until(Unreached)


def test_a_client_that_dies_ends_its_connection_to_the_broker() -> None:
    ended = threading.Event()

    def script(peer: Peer) -> None:
        with contextlib.suppress(OSError):
            peer.rest()
        ended.set()

    with ScriptedPeer(script) as broker, proxied(("nsqd", broker.address)) as proxy:
        sock = proxy.connect()
        sock.sendall(b"  V2")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sock.close()
        ended.wait()
        closed = proxy.seen.until(Disconnected)
        with proxy.connect():
            proxy.seen.until(Connected)
    assert isinstance(closed, Disconnected)
    assert closed.by == "client"


class BadGate(OpenGate):
    """Holds what comes, and fails at the second chunk."""

    def from_client(self, data: bytes) -> bytes:
        self.held[True] += data
        if len(self.held[True]) > 4:
            raise RuntimeError("out of order")
        return b""


def bad_gate(front: Front, host: str, front_for: FrontFor) -> Gate:
    return BadGate()


def test_a_gate_that_fails_loses_nothing_and_says_so() -> None:
    part = make_part()
    failing = ProxyPart(part.list_services, bad_gate, part.watch, part.tell, part.clauses)
    data = b"  V2" + bytes(range(256)) * 100
    with (
        ScriptedPeer(echo) as broker,
        proxied(("nsqd", broker.address), part=failing) as proxy,
    ):
        assert echoed(proxy, data) == data
        noted = proxy.seen.until(Noted)
    assert isinstance(noted, Noted)
    assert noted.text.startswith("the proxy failed, and relays: RuntimeError")


class BadWatcher:
    """Fails at the first bytes."""

    opening: tuple[str, ...] = ()

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterable[Event]:
        raise ZeroDivisionError

    def decode_end(self, at: float) -> Iterable[Event]:
        return ()

    def see(self, event: Event) -> Iterable[Finding]:
        return ()

    def frame_bytes(self, event: Event) -> bytes:
        return b""


def test_a_watcher_that_fails_stops_only_the_observation_of_its_connection() -> None:
    part = make_part()
    make_gate, tell, clauses = part.make_gate, part.tell, part.clauses
    failing = ProxyPart(part.list_services, make_gate, lambda _: BadWatcher(), tell, clauses)
    with ScriptedPeer(echo) as broker, proxied(("nsqd", broker.address), part=failing) as proxy:
        assert echoed(proxy, b"  V2NOP\n") == b"  V2NOP\n"
        proxy.seen.until(Undecoded)
        assert echoed(proxy, b"  V2NOP\n") == b"  V2NOP\n"
    assert "ZeroDivisionError" in proxy.observer.faults[0]


def test_a_flood_passes_whole_and_takes_bounded_memory() -> None:
    size, count = 64_000, 500  # 32 MB, of which the observer may hold 1 MB
    frame = len(b"x" * size).to_bytes(4, "big") + b"x" * size
    received = threading.Event()
    total = 0

    def swallow(peer: Peer) -> None:
        nonlocal total
        while piece := peer.sock.recv(1 << 20):
            total += len(piece)
        peer.say(OK)
        received.set()

    tracemalloc.start()
    try:
        with (
            ScriptedPeer(swallow) as broker,
            proxied(("nsqd", broker.address), most=1 << 20) as proxy,
            proxy.connect() as sock,
        ):
            proxy.seen.keeps_events = False  # each holds a body; the proxy itself keeps none
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            sock.sendall(b"  V2")
            for _ in range(count):
                sock.sendall(b"PUB t 0\n" + frame)
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == OK
            received.wait()
            peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert total == 4 + count * (8 + len(frame))
    assert proxy.tap.most_waiting <= 1 << 20
    assert peak < total // 2
    assert proxy.seen.counts.total() + proxy.tap.lost_bytes == total + len(OK)


def test_connections_are_counted_when_they_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(sock: socket.socket) -> bytes:
        with sock, contextlib.suppress(ConnectionError):
            sock.sendall(b"x")
            return sock.recv(1)
        return b""

    async def crowd(address: tuple[str, int]) -> list[bytes]:
        proxy = relay.Relay("127.0.0.1", lambda _front, _host, _for: OpenGate(), Tap())
        place = proxy.stand_before("nsqd", address)
        # Nothing is accepted before the first await: all ten come at once. Only now, since the
        # listener's queue is as long as the limit.
        monkeypatch.setattr(relay, "MOST_CONNECTIONS", 5)
        socks = [socket.create_connection(place) for _ in range(10)]
        try:
            return await asyncio.gather(*(asyncio.to_thread(answer, sock) for sock in socks))
        finally:
            await proxy.close()

    with ScriptedPeer(echo) as peer:
        answers = asyncio.run(crowd(peer.address))

    assert sorted(answers) == [b""] * 5 + [b"x"] * 5
