"""Each fault of the parser over a socket: which bytes show it, and that ordinary traffic does not.

What every sound broker owes is asked after the bytes, of the fault and of the broker without it:
the broker lives, answers this connection and others, ends none but the one that misbehaved,
delivers what it answered, keeps nothing and nobody for ever.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from faulty_broker import DEADLINE_S, POLL_S, Peer, Running, running
from nsq_bench import identified, pub, pub_ext, sized

from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.nsq.core import broker
from wireproof_reference_impl.nsq.core.log import MemoryStorage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.faulty import harm
from wireproof_reference_impl.nsq.http import http_api
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.nsq.wire.packed import MESSAGE_HEAD_BYTES
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_reference_impl.preset import PARSER
from wireproof_reference_impl.served import Connect, Source
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, FrameReader, ServerFrame
from wireproof_spec.nsq.names import MAGIC

ROUNDS = 30
"""After so many rounds of the broker's loop, all that it was sent before has its consequences."""
LOOK_S = 0.001
FULL = b"f" * 65536
OCTETS = b"na\xefve"
NULS = bytes(7)
OK = b"\0\0\0\6\0\0\0\0OK"
SUBSCRIBED = b"SUB t ch 0\nRDY 100\n"
EXTENDED = identified('{"extend_support":true}')

DEAD = "the broker dies"
HANGS = "the broker answers nobody"
SILENT = "the connection is not answered"
OUT_OF_STEP = "the connection is out of step"
TAKEN = "what is refused is answered with OK"
CHANGED = "what was answered is not delivered unchanged"
NEIGHBOUR = "a neighbour's connection is ended"
LEAKS = "the connection is never let go of"
HOARDS = "memory is never let go of"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Bytes behind the magic, in pieces, and what they show of the fault."""

    shows: str
    pieces: tuple[bytes, ...]
    magic: bytes = MAGIC
    http: bool = False
    ends: bool = False
    body: bytes = b""


def _sent(shows: str, *pieces: bytes, body: bytes = b"") -> Trigger:
    return Trigger(shows, pieces, body=body)


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
    "parser-size-low-bits": _sent(TAKEN, _message(_size((1 << 24) + 1) + b"x")),
    "parser-size-magnitude": _sent(TAKEN, _message(_size(-1) + b"x")),
    "parser-size-65536-by-one": _sent(CHANGED, pub("t", FULL), body=FULL),
    "parser-size-identify-zero-deafens": _sent(SILENT, b"IDENTIFY\n" + _size(0)),
    "parser-size-least-closes-another": _sent(NEIGHBOUR, _message(_size(-(1 << 31)))),
    "parser-count-negative-halts": _sent(DEAD, _batch(-2, b"x")),
    "parser-count-hoards": _sent(HOARDS, _batch(1 << 17, b"x")),
    "parser-message-size-sticks": _sent(
        HANGS, b"MPUB t 0\n" + sized(_size(1) + _size(1 << 30) + b"x")
    ),
    "parser-batch-twins-lost": _sent(CHANGED, _batch(2, b"twin", b"twin"), body=b"twin"),
    "parser-header-fills-frame-halts": _sent(DEAD, b"PUB_EXT e 0\n" + sized(b"\0\2{}")),
    "parser-body-zeros-cut": _sent(CHANGED, pub("t", bytes(9)), body=bytes(9)),
    "parser-body-line-ends-it": _sent(CHANGED, pub("t", b"x\nNOP\ny"), body=b"x\nNOP\ny"),
    "parser-body-end-mark-lost": _sent(CHANGED, pub("t", b"\xff" * 4), body=b"\xff" * 4),
    "parser-word-nul-halts": _sent(DEAD, b"SUB t c\0 0\n"),
    "parser-word-long-halts": _sent(DEAD, b"SUB " + b"t" * 256 + b" c 0\n"),
    "parser-word-digits-stick": _sent(HANGS, b"PUB t " + b"9" * 1000 + b"\n"),
    "parser-partition-sticks": _sent(HANGS, b"PUB t 9223372036854775808\n"),
    "parser-rdy-overflow-halts": _sent(DEAD, SUBSCRIBED, b"RDY 2147483648\n"),
    "parser-rdy-negative-closes-another": _sent(NEIGHBOUR, SUBSCRIBED, b"RDY -1\n"),
    "parser-req-overflow-halts": _sent(DEAD, SUBSCRIBED, b"REQ " + bytes(15) + b"\1 2147483648\n"),
    "parser-id-negative-halts": _sent(DEAD, SUBSCRIBED, _fin(b"\xff" * 16)),
    "parser-id-zero-hoards": _sent(HOARDS, SUBSCRIBED, _fin(bytes(16))),
    "parser-unknown-hoards": _sent(HOARDS, b"what t 0\n"),
    "parser-unknown-leaks": _sent(LEAKS, b"what t 0\n"),
    "parser-bad-channel-closes-another": _sent(NEIGHBOUR, b"SUB t c/c 0\n"),
    "parser-bad-topic-closes-another": _sent(NEIGHBOUR, b"PUB t/t 0\n"),
    "parser-bad-topic-loses-next": _sent(CHANGED, b"PUB t/t 0\n"),
    "parser-identify-deep-halts": _sent(DEAD, identified('{"a":' + "[" * 299 + "]" * 299 + "}")),
    "parser-identify-number-sticks": _sent(
        HANGS, identified('{"heartbeat_interval":9223372036854775808}')
    ),
    "parser-identify-open-string-deafens": _sent(SILENT, identified('{"client_id":"')),
    "parser-identify-twice-leaks": _sent(LEAKS, identified('{"client_id":"a","client_id":"b"}')),
    "parser-header-escaped-nul-cuts": _sent(
        CHANGED, pub_ext("e", b'{"k":"a\\u0000b"}', b"y"), body=b'{"k":"a\\u0000b"}y'
    ),
    "parser-header-long-value-deafens": _sent(
        SILENT, pub_ext("e", b'{"k":"' + b"a" * 5000 + b'"}', b"y")
    ),
    "parser-header-refused-desyncs": _sent(OUT_OF_STEP, pub_ext("e", b"{", b"y")),
    "parser-header-refused-loses-next": _sent(CHANGED, pub_ext("e", b"{", b"y")),
    "parser-split-size-desyncs": _sent(OUT_OF_STEP, b"PUB t 0\n\0\0", b"\0\1x"),
    "parser-split-magic-halts": Trigger(DEAD, (b"  ", b"V2"), magic=b""),
    "parser-split-feed-lost": _sent(SILENT, b"IDENTIFY", b"\n", sized(b"{}")),
    "parser-cut-leaks": Trigger(LEAKS, (b"PUB t 0\n\0\0\0\5x",), ends=True),
    "parser-cut-hoards": Trigger(HOARDS, (b"PUB t 0\n\0\0\0\5x",), ends=True),
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
NAMES = [preset.name for preset in presets.FAULTS.values() if preset.kind == PARSER]


class Broker:
    """A broker with at most one fault: topics `t`, plain, and `e`, extended; clients beside."""

    def __init__(self, shell: Running, node: Node) -> None:
        self.shell = shell
        self.node = node
        self.tcp, self.http = shell.addresses
        self.readers = [self._reader("t", b""), self._reader("e", EXTENDED)]
        self.idle = Peer(self.tcp)
        self.idle.send(MAGIC + pub("t", b"hello"))
        assert self.idle.reads(OK)
        assert self.readers[0].reads(b"hello")

    def connect(self, magic: bytes = MAGIC) -> Peer:
        """Return a client that has said hello."""
        peer = Peer(self.tcp)
        peer.send(magic)
        return peer

    def is_served(self, peer: Peer) -> bool:
        """Return True if a client's publish is answered."""
        peer.came = b""
        peer.send(pub("t", b"again"))
        peer.settle(self.shell)
        return _comes(self, lambda: peer.reads(OK, LOOK_S))

    def close(self) -> None:
        for peer in (*self.readers, self.idle):
            peer.sock.close()

    def _reader(self, topic: str, first: bytes) -> Peer:
        peer = Peer(self.tcp)
        peer.send(MAGIC + first + f"SUB {topic} read 0\nRDY 100\n".encode())
        assert peer.reads(OK * 2 if first else OK)
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
            serving = Broker(shell, node)
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


def _until(is_so: Callable[[], bool], within_s: float = DEADLINE_S) -> bool:
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _comes(serving: Broker, is_so: Callable[[], bool]) -> bool:
    """Return True if something is so before the broker's loop has gone round often enough.

    A loop that is slow since the machine is busy is waited for, one that is idle is not.
    """
    for _ in range(ROUNDS):
        if is_so():
            return True
        serving.shell.go_round()
    return is_so()


def _send(serving: Broker, trigger: Trigger) -> Peer:
    peer = Peer(serving.http) if trigger.http else serving.connect(trigger.magic)
    peer.send_apart(trigger.pieces, serving.shell)
    if trigger.ends:
        peer.sock.close()
        peer.ended = True
    return peer


def _is_shown(serving: Broker, trigger: Trigger) -> bool:
    """Send the bytes of a trigger and tell whether they show what they should."""
    before = serving.shell.connections
    with _send(serving, trigger) as peer:
        return SIGNS[trigger.shows](serving, trigger, peer, before)


def _dies(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    return _comes(serving, lambda: serving.shell.is_dead)


def _hangs(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    with serving.connect() as other:
        return not serving.is_served(other)


def _is_silent(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    answer = b"HTTP/1.1" if trigger.http else b"\0\0\0"
    answered = _comes(serving, lambda: peer.reads(answer, LOOK_S))
    return not answered and not peer.ended


def _is_out_of_step(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    return not peer.ended and not serving.is_served(peer)


def _is_taken(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    return _comes(serving, lambda: peer.reads(OK, LOOK_S))


def _is_changed(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    """Look for the message of the trigger, or for another one of a neighbour."""
    wanted = trigger.body or b"a neighbour's"
    if not trigger.body:
        serving.idle.came = b""
        serving.idle.send(pub("t", wanted))
        assert serving.idle.reads(OK)
    due = max(1, sum(piece.count(trigger.body) for piece in trigger.pieces if trigger.body))
    return not _comes(serving, lambda: _delivered(serving, wanted) >= due)


def _delivered(serving: Broker, wanted: bytes) -> int:
    """Return how often a message has come to the readers: header and body, in their ext part."""
    plain, extended = (_messages(reader) for reader in serving.readers)
    return plain.count(wanted) + sum(message.endswith(wanted) for message in extended)


def _messages(reader: Peer) -> list[bytes]:
    """Return what stands behind the heads of the messages that have come."""
    reader.reads(b"\0 never sent \0", LOOK_S)
    frames = FrameReader(limit=1 << 20)
    frames.feed(reader.came)
    found: list[bytes] = []
    while isinstance(frame := frames.next_frame(), ServerFrame):
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            found.append(frame.data[MESSAGE_HEAD_BYTES:])
    return found


def _ends_neighbour(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    beside = (*serving.readers, serving.idle)
    return _comes(serving, lambda: any(each.ends(LOOK_S) for each in beside))


def _leaks(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    peer.settle(serving.shell)
    peer.reads(b"\0 never sent \0", LOOK_S)
    peer.sock.close()
    return not _comes(serving, lambda: serving.shell.connections <= before)


def _hoards(serving: Broker, trigger: Trigger, peer: Peer, before: int) -> bool:
    return _comes(serving, lambda: sum(map(len, harm.hoard)) >= 1 << 20)


Sign = Callable[[Broker, Trigger, Peer, int], bool]
SIGNS: dict[str, Sign] = {
    DEAD: _dies,
    HANGS: _hangs,
    SILENT: _is_silent,
    OUT_OF_STEP: _is_out_of_step,
    TAKEN: _is_taken,
    CHANGED: _is_changed,
    NEIGHBOUR: _ends_neighbour,
    LEAKS: _leaks,
    HOARDS: _hoards,
}


def test_every_fault_has_its_bytes() -> None:
    assert list(TRIGGERS) == NAMES
    assert len(NAMES) >= 25
    assert {trigger.shows for trigger in TRIGGERS.values()} == set(SIGNS)


@pytest.mark.parametrize("name", NAMES)
def test_certain_bytes_show_the_fault(name: str) -> None:
    with _broker(name) as serving:
        assert _is_shown(serving, TRIGGERS[name])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_do_a_sound_broker_nothing(name: str) -> None:
    with _broker() as serving:
        assert not _is_shown(serving, TRIGGERS[name])


def _ordinary(serving: Broker) -> Sequence[str]:
    """Do what clients do day by day; return what went wrong."""
    wrong = []
    with serving.connect() as client, Peer(serving.http) as http:
        client.send(EXTENDED + pub("t", b"one") + pub("t", b"two") * 2)
        client.send(_batch(2, b"three", b"four") + pub_ext("e", b'{"k":"v"}', b"five"))
        if not client.reads(OK * 6):
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


@pytest.mark.parametrize("name", NAMES)
def test_ordinary_traffic_does_not_show_it(name: str) -> None:
    with _broker(name) as serving:
        assert not _ordinary(serving)
        assert not any(each.ends(POLL_S) for each in (*serving.readers, serving.idle))
        assert not harm.hoard
        assert _until(lambda: serving.shell.connections <= 3)
