"""Each fault of the Iggy parser over a socket: bytes that show it, and traffic that does not."""

import base64
import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from faulty_broker import DEADLINE_S, POLL_S, Peer, Running, running
from iggy_bench import OK, STREAM, TOPIC, frame, polling, sending, sent, u32

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server, ServerEnvironment
from wireproof_reference_impl.iggy.faulty import harm
from wireproof_reference_impl.iggy.http import routes
from wireproof_reference_impl.iggy.link import ServerSource, connector
from wireproof_reference_impl.iggy.presets import FAULTS, build, overrides
from wireproof_reference_impl.iggy.streams.storage import MemoryStorage
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_reference_impl.preset import PARSER
from wireproof_spec.iggy import commands

SILENT_S = 0.3
LINGER_S = 2.0
PING = frame(commands.PING)
NOTHING_IN_IT = frame(commands.POLL_MESSAGES, polling(count=0))
ONES = b"\xff" * 8
CREATED = b"HTTP/1.1 201"
WHOLE = b"four"

DEAD = "the server dies"
HANGS = "the server answers nobody"
SILENT = "the connection is not answered, and not ended"
OUT_OF_STEP = "the connection is out of step"
TAKEN = "a frame that is not all here is answered"
LOST = "what was answered is not kept"
CHANGED = "what was answered is not kept as it came"
NEIGHBOUR = "a neighbour's connection is ended"
LEAKS = "the connection is never let go of"
HOARDS = "memory is never let go of"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Bytes in pieces, and what they show of the fault."""

    shows: str
    pieces: tuple[bytes, ...]
    ends: bool = False
    http: bool = False


def _sent(shows: str, *pieces: bytes) -> Trigger:
    return Trigger(shows, pieces)


def _posted(payload: bytes) -> bytes:
    spelled = base64.b64encode(payload).decode()
    partitioning = {"kind": "balanced", "value": ""}
    body = json.dumps({"partitioning": partitioning, "messages": [{"payload": spelled}]}).encode()
    lines = (
        "POST /streams/1/topics/1/messages HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def _named(name: bytes) -> bytes:
    return frame(commands.GET_STREAM, b"\2" + bytes([len(name)]) + name)


TRIGGERS = {
    "parser-length-low-bits": _sent(TAKEN, u32((1 << 16) + 4) + u32(commands.PING)),
    "parser-length-zero-sticks": _sent(HANGS, u32(0)),
    "parser-length-short-halts": _sent(DEAD, u32(3) + b"\1\0\0"),
    "parser-length-huge-hoards": _sent(HOARDS, u32(1 << 30)),
    "parser-length-sign-closes-another": _sent(NEIGHBOUR, u32(1 << 31)),
    "parser-code-far-halts": _sent(DEAD, frame(1 << 31)),
    "parser-code-unknown-leaks": _sent(LEAKS, frame(9999)),
    "parser-name-no-text-halts": _sent(DEAD, _named(b"\xff")),
    "parser-name-longest-sticks": _sent(HANGS, _named(b"n" * 255)),
    "parser-name-nul-deafens": _sent(SILENT, _named(b"s\0")),
    "parser-count-far-sticks": _sent(HANGS, frame(commands.POLL_MESSAGES, polling(count=1 << 31))),
    "parser-ones-lost": _sent(LOST, frame(commands.SEND_MESSAGES, sending(sent(ONES)))),
    "parser-partition-desyncs": _sent(
        OUT_OF_STEP, frame(commands.POLL_MESSAGES, polling(partition=9))
    ),
    "parser-poll-nothing-closes-another": _sent(NEIGHBOUR, NOTHING_IN_IT),
    "parser-refused-hoards": _sent(HOARDS, NOTHING_IN_IT),
    "parser-split-length-desyncs": _sent(OUT_OF_STEP, PING[:2], PING[2:]),
    "parser-cut-leaks": Trigger(LEAKS, (PING[:6],), ends=True),
    "parser-http-padding-zeros": Trigger(CHANGED, (_posted(WHOLE),), http=True),
}
NAMES = [preset.name for preset in FAULTS.values() if preset.kind == PARSER]


@dataclass(slots=True)
class Serving:
    """A server with at most one fault, and a client beside."""

    shell: Running
    server: Server
    beside: Peer

    def connect(self, *, over_http: bool = False) -> Peer:
        """Return a client."""
        return Peer(self.shell.addresses[over_http])

    def is_served(self, peer: Peer, within_s: float = DEADLINE_S) -> bool:
        """Return True if a client's ping is answered."""
        peer.came = b""
        peer.send(PING)
        return peer.reads(OK, within_s)

    @property
    def kept(self) -> int:
        """Return how many messages there are."""
        return self.server.streams[1].count


@contextmanager
def _serving(*faults: str) -> Iterator[Serving]:
    behaviour = build("published", "published", fault_names=faults, variant_names=())
    around = ServerEnvironment(storage=MemoryStorage(), new_id=itertools.count(1 << 100).__next__)
    server = Server(behaviour, around)
    source = ServerSource()

    def connect(tell_address: Callable[[], str], now_us: int) -> Connection:
        return Connection(server, address=tell_address(), now_us=now_us)

    places = [
        (source, connector(source, connect)),
        (source, connector(source, lambda _, now_us: routes.connection(server))),
    ]
    harm.hoard.clear()
    with apply_overrides(overrides(faults)), running(behaviour.pacing, places) as shell:
        beside = Peer(shell.addresses[0])
        beside.send(frame(commands.CREATE_STREAM, u32(1) + b"s"))
        beside.send(frame(commands.CREATE_TOPIC, STREAM + u32(1) + u32(1) + b"t"))
        assert beside.reads(OK * 2)
        try:
            yield Serving(shell, server, beside)
        finally:
            beside.sock.close()


def _until(is_so: Callable[[], bool], within_s: float = DEADLINE_S) -> bool:
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _is_shown(serving: Serving, trigger: Trigger) -> bool:
    """Send the bytes of a trigger and tell whether they show what they should."""
    before = serving.shell.connections
    with serving.connect(over_http=trigger.http) as peer:
        peer.send_apart(trigger.pieces, serving.shell)
        if trigger.ends:
            peer.sock.close()
            peer.ended = True
        return SIGNS[trigger.shows](serving, peer, before)


def _dies(serving: Serving, peer: Peer, before: int) -> bool:
    return _until(lambda: serving.shell.is_dead, SILENT_S)


def _hangs(serving: Serving, peer: Peer, before: int) -> bool:
    with serving.connect() as other:
        return not serving.is_served(other, SILENT_S)


def _is_silent(serving: Serving, peer: Peer, before: int) -> bool:
    return not peer.reads(bytes(3), SILENT_S) and not peer.ended and not peer.came


def _is_out_of_step(serving: Serving, peer: Peer, before: int) -> bool:
    return not serving.is_served(peer, SILENT_S)


def _is_taken(serving: Serving, peer: Peer, before: int) -> bool:
    return peer.reads(OK, SILENT_S)


def _is_lost(serving: Serving, peer: Peer, before: int) -> bool:
    return peer.reads(OK) and not serving.kept


def _is_changed(serving: Serving, peer: Peer, before: int) -> bool:
    assert peer.reads(CREATED)
    serving.beside.came = b""
    serving.beside.send(frame(commands.POLL_MESSAGES, polling()))
    assert serving.beside.reads(WHOLE[:-1])
    return not serving.beside.reads(WHOLE, SILENT_S)


def _ends_neighbour(serving: Serving, peer: Peer, before: int) -> bool:
    return serving.beside.ends(SILENT_S)


def _leaks(serving: Serving, peer: Peer, before: int) -> bool:
    peer.settle(serving.shell)
    peer.sock.close()
    return not _until(lambda: serving.shell.connections <= before, LINGER_S)


def _hoards(serving: Serving, peer: Peer, before: int) -> bool:
    return _until(lambda: sum(map(len, harm.hoard)) >= 1 << 20, SILENT_S)


SIGNS: dict[str, Callable[[Serving, Peer, int], bool]] = {
    DEAD: _dies,
    HANGS: _hangs,
    SILENT: _is_silent,
    OUT_OF_STEP: _is_out_of_step,
    TAKEN: _is_taken,
    LOST: _is_lost,
    CHANGED: _is_changed,
    NEIGHBOUR: _ends_neighbour,
    LEAKS: _leaks,
    HOARDS: _hoards,
}


def test_every_fault_has_its_bytes() -> None:
    assert list(TRIGGERS) == NAMES
    assert len(NAMES) >= 10
    assert {trigger.shows for trigger in TRIGGERS.values()} == set(SIGNS)


@pytest.mark.parametrize("name", NAMES)
def test_certain_bytes_show_the_fault(name: str) -> None:
    with _serving(name) as serving:
        assert _is_shown(serving, TRIGGERS[name])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_do_a_sound_server_nothing(name: str) -> None:
    with _serving() as serving:
        assert not _is_shown(serving, TRIGGERS[name])


@pytest.mark.parametrize("name", NAMES)
def test_ordinary_traffic_does_not_show_it(name: str) -> None:
    with _serving(name) as serving:
        with serving.connect() as client:
            client.send(PING + frame(commands.GET_TOPIC, STREAM + TOPIC))
            client.send(frame(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b", number=2))))
            client.send(frame(commands.POLL_MESSAGES, polling()))
            assert client.reads(b"b")
            assert serving.is_served(client)
        assert serving.kept == 2
        assert serving.is_served(serving.beside)
        assert not harm.hoard
        assert _until(lambda: serving.shell.connections == 1)
