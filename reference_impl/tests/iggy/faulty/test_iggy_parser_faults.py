"""Each fault of the Iggy parser over a socket: bytes that show it, and traffic that does not."""

import base64
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from check_each import check_each
from faulty_broker import Peer, Running, running
from iggy_bench import OK, STREAM, TOPIC, frame, polling, sending, u32
from iggy_bench import sent as message
from parser_triggers import (
    CHANGED,
    DEAD,
    HANGS,
    HOARDS,
    LEAKS,
    NEIGHBOUR,
    OUT_OF_STEP,
    SIGNS,
    SILENT,
    TAKEN,
    Serving,
    Trigger,
    parser_faults,
    sent,
)
from waits import until

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server, ServerEnvironment
from wireproof_reference_impl.iggy.faulty import harm
from wireproof_reference_impl.iggy.generations import APACHE_SETTINGS
from wireproof_reference_impl.iggy.http import routes
from wireproof_reference_impl.iggy.link import ServerSource, connector
from wireproof_reference_impl.iggy.presets import FAULTS, build, overrides
from wireproof_reference_impl.iggy.streams.storage import MemoryStorage
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.iggy import commands

PING = frame(commands.PING)
NOTHING_IN_IT = frame(commands.POLL_MESSAGES, polling(count=0))
ONES = b"\xff" * 8
CREATED = b"HTTP/1.1 201"
WHOLE = b"four"


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
    "parser-length-low-bits": sent(TAKEN, u32((1 << 16) + 4) + u32(commands.PING)),
    "parser-length-zero-sticks": sent(HANGS, u32(0)),
    "parser-length-short-halts": sent(DEAD, u32(3) + b"\1\0\0"),
    "parser-length-huge-hoards": sent(HOARDS, u32(1 << 30)),
    "parser-length-sign-closes-another": sent(NEIGHBOUR, u32(1 << 31)),
    "parser-code-far-halts": sent(DEAD, frame(1 << 31)),
    "parser-code-unknown-leaks": sent(LEAKS, frame(9999)),
    "parser-name-no-text-halts": sent(DEAD, _named(b"\xff")),
    "parser-name-longest-sticks": sent(HANGS, _named(b"n" * 255)),
    "parser-name-nul-deafens": sent(SILENT, _named(b"s\0")),
    "parser-count-far-sticks": sent(HANGS, frame(commands.POLL_MESSAGES, polling(count=1 << 31))),
    "parser-ones-lost": sent(CHANGED, frame(commands.SEND_MESSAGES, sending(message(ONES)))),
    "parser-partition-desyncs": sent(
        OUT_OF_STEP, frame(commands.POLL_MESSAGES, polling(partition=9))
    ),
    "parser-poll-nothing-closes-another": sent(NEIGHBOUR, NOTHING_IN_IT),
    "parser-refused-hoards": sent(HOARDS, NOTHING_IN_IT),
    "parser-split-length-desyncs": sent(OUT_OF_STEP, PING[:2], PING[2:]),
    "parser-cut-leaks": Trigger(LEAKS, (PING[:6],), ends=True),
    "parser-http-padding-zeros": Trigger(CHANGED, (_posted(WHOLE),), http=True),
}
NAMES = parser_faults(each for each in FAULTS.values() if each.settings != APACHE_SETTINGS)
"""Those of generation apache have tests beside the fuzzer: the connection here is another one."""


class _Served(Serving):
    """A server, and a client beside that has made a topic."""

    ok = OK

    def __init__(self, shell: Running, server: Server) -> None:
        super().__init__(shell, harm.hoard)
        self.server = server
        self.maker = Peer(shell.addresses[0])
        self.maker.send(frame(commands.CREATE_STREAM, u32(1) + b"s"))
        self.maker.send(frame(commands.CREATE_TOPIC, STREAM + u32(1) + u32(1) + b"t"))
        assert self.maker.reads(OK * 2)

    @property
    def beside(self) -> tuple[Peer, ...]:
        return (self.maker,)

    def connect(self, trigger: Trigger | None = None) -> Peer:
        return Peer(self.shell.addresses[trigger is not None and trigger.http])

    def ask(self, peer: Peer) -> None:
        peer.send(PING)

    def is_changed(self, trigger: Trigger, peer: Peer) -> bool:
        """Poll what was posted; of a frame, count what is kept."""
        if not trigger.http:
            return peer.reads(OK) and not self.kept
        assert peer.reads(CREATED)
        self.maker.came = b""
        self.maker.send(frame(commands.POLL_MESSAGES, polling()))
        assert self.maker.reads(WHOLE[:-1])
        return not self.comes(lambda: self.maker.has(WHOLE))

    @property
    def kept(self) -> int:
        """Return how many messages there are."""
        return self.server.streams[1].count


@contextmanager
def _serving(*faults: str) -> Iterator[_Served]:
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
        served = _Served(shell, server)
        try:
            yield served
        finally:
            served.close()


def test_every_fault_has_its_bytes() -> None:
    assert list(TRIGGERS) == NAMES
    assert len(NAMES) >= 10
    assert {trigger.shows for trigger in TRIGGERS.values()} <= set(SIGNS)


@check_each(NAMES)
def test_certain_bytes_show_the_fault(name: str) -> None:
    with _serving(name) as serving:
        assert serving.shows(TRIGGERS[name])


@check_each(NAMES)
def test_the_same_bytes_do_a_sound_server_nothing(name: str) -> None:
    with _serving() as serving:
        assert not serving.shows(TRIGGERS[name])


@check_each(NAMES)
def test_ordinary_traffic_does_not_show_it(name: str) -> None:
    with _serving(name) as serving:
        with serving.connect() as client:
            client.send(PING + frame(commands.GET_TOPIC, STREAM + TOPIC))
            client.send(
                frame(commands.SEND_MESSAGES, sending(message(b"a"), message(b"b", number=2)))
            )
            client.send(frame(commands.POLL_MESSAGES, polling()))
            assert client.reads(b"b")
            assert serving.is_served(client)
        assert serving.kept == 2
        assert serving.is_served(serving.maker)
        assert not harm.hoard
        until(lambda: serving.shell.connections == 1, "end of the other connections")
