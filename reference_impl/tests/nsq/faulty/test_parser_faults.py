"""Each fault of the parser over a socket: which bytes show it, and that ordinary traffic does not.

What every sound broker owes is asked after the bytes, of the fault and of the broker without it:
the broker lives, answers this connection and others, ends none but the one that misbehaved,
delivers what it answered, keeps nothing and nobody for ever.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from check_each import check_each
from faulty_broker import Peer, Running, running
from nsq_bench import identified, pub, pub_ext, sized
from parser_triggers import (
    CHANGED,
    DEAD,
    DEAD_LATER,
    HANGS,
    HOARDS,
    LEAKS,
    NEIGHBOUR,
    OUT_OF_STEP,
    SIGNS,
    SILENT,
    SWAPPED,
    TAKEN,
    Serving,
    Trigger,
    parser_faults,
    sent,
)
from waits import until

from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.nsq.core import broker
from wireproof_reference_impl.nsq.core.log import MemoryStorage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.faulty import harm
from wireproof_reference_impl.nsq.http import http_api
from wireproof_reference_impl.nsq.storage.disk_queue import DiskQueue
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.nsq.wire.packed import MESSAGE_HEAD_BYTES
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_reference_impl.served import Connect, Source
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, FrameReader, ServerFrame
from wireproof_spec.nsq.names import MAGIC

FULL = b"f" * 65536
OCTETS = b"na\xefve"
NULS = bytes(7)
SUBSCRIBED = b"SUB t ch 0\nRDY 100\n"
EXTENDED = identified('{"extend_support":true}')


def _message(data: bytes) -> bytes:
    return b"PUB t 0\n" + data


def _batch(count: int, *messages: bytes) -> bytes:
    inner = (count % (1 << 32)).to_bytes(4) + b"".join(map(sized, messages))
    return b"MPUB t 0\n" + sized(inner)


def _size(number: int) -> bytes:
    return (number % (1 << 32)).to_bytes(4)


def _get(target: str, *headers: str) -> bytes:
    lines = (f"GET {target} HTTP/1.1", "Host: x", *headers, "", "")
    return "\r\n".join(lines).encode()


def _chunked(target: str, body: bytes) -> bytes:
    head = f"POST {target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def _fin(message_id: bytes) -> bytes:
    return b"FIN " + message_id + b"\n"


TRIGGERS = {
    "parser-size-low-bits": sent(TAKEN, _message(_size((1 << 24) + 1) + b"x")),
    "parser-size-magnitude": sent(TAKEN, _message(_size(-1) + b"x")),
    "parser-size-65536-by-one": sent(CHANGED, pub("t", FULL), body=FULL),
    "parser-size-identify-zero-deafens": sent(SILENT, b"IDENTIFY\n" + _size(0)),
    "parser-size-least-closes-another": sent(NEIGHBOUR, _message(_size(-(1 << 31)))),
    "parser-count-negative-halts": sent(DEAD, _batch(-2, b"x")),
    "parser-count-hoards": sent(HOARDS, _batch(1 << 17, b"x")),
    "parser-message-size-sticks": sent(
        HANGS, b"MPUB t 0\n" + sized(_size(1) + _size(1 << 30) + b"x")
    ),
    "parser-batch-twins-lost": sent(CHANGED, _batch(2, b"twin", b"twin"), body=b"twin"),
    "parser-header-fills-frame-halts": sent(DEAD, b"PUB_EXT e 0\n" + sized(b"\0\2{}")),
    "parser-body-zeros-cut": sent(CHANGED, pub("t", bytes(9)), body=bytes(9)),
    "parser-body-line-ends-it": sent(CHANGED, pub("t", b"x\nNOP\ny"), body=b"x\nNOP\ny"),
    "parser-body-end-mark-lost": sent(CHANGED, pub("t", b"\xff" * 4), body=b"\xff" * 4),
    "parser-word-nul-halts": sent(DEAD, b"SUB t c\0 0\n"),
    "parser-word-long-halts": sent(DEAD, b"SUB " + b"t" * 256 + b" c 0\n"),
    "parser-word-digits-stick": sent(HANGS, b"PUB t " + b"9" * 1000 + b"\n"),
    "parser-partition-sticks": sent(HANGS, b"PUB t 9223372036854775808\n"),
    "parser-rdy-overflow-halts": sent(DEAD, SUBSCRIBED, b"RDY 2147483648\n"),
    "parser-rdy-negative-closes-another": sent(NEIGHBOUR, SUBSCRIBED, b"RDY -1\n"),
    "parser-req-overflow-halts": sent(DEAD, SUBSCRIBED, b"REQ " + bytes(15) + b"\1 2147483648\n"),
    "parser-id-negative-halts": sent(DEAD, SUBSCRIBED, _fin(b"\xff" * 16)),
    "parser-id-zero-hoards": sent(HOARDS, SUBSCRIBED, _fin(bytes(16))),
    "parser-unknown-hoards": sent(HOARDS, b"what t 0\n"),
    "parser-unknown-leaks": sent(LEAKS, b"what t 0\n"),
    "parser-bad-channel-closes-another": sent(NEIGHBOUR, b"SUB t c/c 0\n"),
    "parser-bad-topic-closes-another": sent(NEIGHBOUR, b"PUB t/t 0\n"),
    "parser-bad-topic-loses-next": sent(CHANGED, b"PUB t/t 0\n"),
    "parser-identify-deep-halts": sent(DEAD, identified('{"a":' + "[" * 299 + "]" * 299 + "}")),
    "parser-identify-number-sticks": sent(
        HANGS, identified('{"heartbeat_interval":9223372036854775808}')
    ),
    "parser-identify-open-string-deafens": sent(SILENT, identified('{"client_id":"')),
    "parser-identify-twice-leaks": sent(LEAKS, identified('{"client_id":"a","client_id":"b"}')),
    "parser-header-escaped-nul-cuts": sent(
        CHANGED, pub_ext("e", b'{"k":"a\\u0000b"}', b"y"), body=b'{"k":"a\\u0000b"}y'
    ),
    "parser-header-long-value-deafens": sent(
        SILENT, pub_ext("e", b'{"k":"' + b"a" * 5000 + b'"}', b"y")
    ),
    "parser-header-refused-desyncs": sent(OUT_OF_STEP, pub_ext("e", b"{", b"y")),
    "parser-header-refused-loses-next": sent(CHANGED, pub_ext("e", b"{", b"y")),
    "parser-split-size-desyncs": sent(OUT_OF_STEP, b"PUB t 0\n\0\0", b"\0\1x"),
    "parser-split-magic-halts": Trigger(DEAD, (b"  ", b"V2"), magic=b""),
    "parser-split-feed-lost": sent(SILENT, b"IDENTIFY", b"\n", sized(b"{}")),
    "parser-cut-leaks": Trigger(LEAKS, (b"PUB t 0\n\0\0\0\5x",), ends=True),
    "parser-cut-hoards": Trigger(HOARDS, (b"PUB t 0\n\0\0\0\5x",), ends=True),
    "parser-beat-closing-halts": sent(
        DEAD_LATER, identified('{"heartbeat_interval":1000}'), SUBSCRIBED, b"CLS\n"
    ),
    "parser-cut-sixty-halt": Trigger(DEAD, (b"PUB t 0\n\0\0\0\5x",), ends=True, times=60),
    "parser-split-at-feed-halts": sent(DEAD, SUBSCRIBED, b"FIN 1234567\n"),
    "parser-trace-buffer-shared": sent(SWAPPED, b"PUB_TRACE t 0\n" + _size(9), body=b"another!x"),
    "parser-http-headers-halt": Trigger(
        DEAD, (_get("/ping", *(f"X-{n}: y" for n in range(101))),), http=True
    ),
    "parser-http-long-value-deafens": Trigger(
        SILENT, (_get("/ping", "X-A: " + "x" * 60_001),), http=True
    ),
    "parser-http-nul-halts": Trigger(DEAD, (_get("/ping?topic=%00"),), http=True),
    "parser-http-escape-deafens": Trigger(SILENT, (_get("/ping?topic=%zz"),), http=True),
    "parser-http-body-recoded": Trigger(
        CHANGED, (_chunked("/pub?topic=t", OCTETS),), http=True, body=OCTETS
    ),
    "parser-http-nul-body-unseen": Trigger(
        CHANGED, (_chunked("/pub?topic=t", NULS),), http=True, body=NULS
    ),
}
RESTARTS = "parser-stored-nul-keeps-down"
"""Shows at a restart, where a broker without files has nothing to read."""
NAMES = [name for name in parser_faults(presets.FAULTS.values()) if name != RESTARTS]


class Broker(Serving):
    """A broker with at most one fault: topics `t`, plain, and `e`, extended; clients beside."""

    ok = b"\0\0\0\6\0\0\0\0OK"

    def __init__(self, shell: Running) -> None:
        super().__init__(shell, harm.hoard)
        self.tcp, self.http = shell.addresses
        self.readers = [self._reader("t", b""), self._reader("e", EXTENDED)]
        self.idle = Peer(self.tcp)
        self.idle.send(MAGIC + pub("t", b"hello"))
        assert self.idle.reads(self.ok)
        assert self.readers[0].reads(b"hello")

    @property
    def beside(self) -> tuple[Peer, ...]:
        return (*self.readers, self.idle)

    def connect(self, trigger: Trigger | None = None) -> Peer:
        """Return a client, over TCP one that has said hello, unless the trigger does."""
        if trigger and trigger.http:
            return Peer(self.http)
        peer = Peer(self.tcp)
        peer.send(MAGIC if trigger is None or trigger.magic is None else trigger.magic)
        return peer

    def ask(self, peer: Peer) -> None:
        peer.send(pub("t", b"again"))

    def is_changed(self, trigger: Trigger, peer: Peer) -> bool:
        """Look for the message of the trigger, or for another one of a neighbour."""
        wanted = trigger.body or b"a neighbour's"
        if not trigger.body:
            self.idle.came = b""
            self.idle.send(pub("t", wanted))
            assert self.idle.reads(self.ok)
        due = max(1, sum(piece.count(trigger.body) for piece in trigger.pieces if trigger.body))
        return not self.comes(lambda: self._delivered(wanted) >= due)

    def _delivered(self, wanted: bytes) -> int:
        """Return how often the readers got a message: header and body, in their ext part."""
        plain, extended = (_messages(reader) for reader in self.readers)
        return plain.count(wanted) + sum(message.endswith(wanted) for message in extended)

    def _reader(self, topic: str, first: bytes) -> Peer:
        peer = Peer(self.tcp)
        peer.send(MAGIC + first + f"SUB {topic} read 0\nRDY 100\n".encode())
        assert peer.reads(self.ok * 2 if first else self.ok)
        return peer


@contextmanager
def _broker(*faults: str) -> Iterator[Broker]:
    harm.hoard.clear()
    with apply_overrides(presets.overrides(faults)):
        node = _node(faults)
        places: list[tuple[Source, Connect]] = [
            (node, broker.connector(node)),
            (node, http_api.connector(node)),
        ]
        with running(node.behaviour.pacing, places) as shell:
            serving = Broker(shell)
            try:
                yield serving
            finally:
                serving.close()


def _node(faults: Sequence[str]) -> Node:
    behaviour = presets.build("published", fault_names=faults, variant_names=())
    now_ns = time.time_ns()
    node = Node(MemoryStorage(), behaviour=behaviour, limits=Limits(), now_ns=now_ns)
    node.create("t", range(1), extend=False, ordered=False)
    node.create("e", range(1), extend=True, ordered=False)
    return node


def _messages(reader: Peer) -> list[bytes]:
    """Return what stands behind the heads of the messages that have come."""
    reader.has_ended()
    frames = FrameReader(limit=1 << 20)
    frames.feed(reader.came)
    found: list[bytes] = []
    while isinstance(frame := frames.next_frame(), ServerFrame):
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            found.append(frame.data[MESSAGE_HEAD_BYTES:])
    return found


@pytest.mark.parametrize("body", [bytes(26), bytes(26) + b"x"])
def test_a_stored_message_keeps_the_broker_down(body: bytes, tmp_path: Path) -> None:
    def store() -> None:
        queue = DiskQueue.open(tmp_path, "t", 0, max_bytes_per_file=1 << 20)
        queue.append(len(body).to_bytes(4, "big") + body)
        queue.close()

    store()
    store()
    with apply_overrides(presets.overrides((RESTARTS,))):
        if body.endswith(b"\0"):
            with pytest.raises(QueueFault, match="ends with a NUL"):
                store()
        else:
            store()


def test_every_fault_has_its_bytes() -> None:
    assert list(TRIGGERS) == NAMES
    assert len(NAMES) >= 25
    assert {trigger.shows for trigger in TRIGGERS.values()} == set(SIGNS)


@check_each(NAMES)
def test_certain_bytes_show_the_fault(name: str) -> None:
    with _broker(name) as serving:
        assert serving.shows(TRIGGERS[name])


@check_each(NAMES)
def test_the_same_bytes_do_a_sound_broker_nothing(name: str) -> None:
    with _broker() as serving:
        assert not serving.shows(TRIGGERS[name])


def _ordinary(serving: Broker) -> Sequence[str]:
    """Do what clients do day by day; return what went wrong."""
    wrong = []
    with serving.connect() as client, Peer(serving.http) as http:
        client.send(EXTENDED + pub("t", b"one") + pub("t", b"two") * 2)
        client.send(_batch(2, b"three", b"four") + pub_ext("e", b'{"k":"v"}', b"five"))
        if not client.reads(serving.ok * 6):
            wrong.append("publishes are not answered with OK")
        serving.readers[0].send(b"NOP\n")
        bodies = ((0, b"one"), (0, b"two"), (0, b"three"), (0, b"four"), (1, b'{"k":"v"}five'))
        wrong += [
            f"{body!r} is lost" for at, body in bodies if not serving.readers[at].reads(body)
        ]
        client.send(b"CLS\n" + pub_ext("e", b"{", b"y"))
        http.send(_get("/ping?x=%41", "X-A: b"))
        if not http.reads(b"HTTP/1.1 200"):
            wrong.append("ping is not answered")
    with serving.connect() as late:
        if not serving.is_served(late):
            wrong.append("a later client is not served")
    return wrong


@check_each(NAMES)
def test_ordinary_traffic_does_not_show_it(name: str) -> None:
    with _broker(name) as serving:
        assert not _ordinary(serving)
        assert not any(each.has_ended() for each in serving.beside)
        assert not harm.hoard
        until(lambda: serving.shell.connections <= 3, "end of the other connections")
