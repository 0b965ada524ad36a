"""A broker without sockets, in a time of its own: what the tests drive."""

from collections.abc import Callable
from typing import Protocol

from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.nsq.core import broker
from wireproof_reference_impl.nsq.core.access import OPEN, Access
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.log import MemoryStorage, Storage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.http import http_api
from wireproof_reference_impl.nsq.options import PUBLISHED
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FrameReader,
    ServerFrame,
    error_code,
)
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.nsq.names import HEARTBEAT, MAGIC

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
MOST_FRAME = 6 << 20


class World(Protocol):
    """The time a client lives in."""

    @property
    def now_ns(self) -> int: ...

    def step(self, until_ns: int) -> bool: ...


class Client:
    """One client of a bench; heartbeats are counted and otherwise not seen."""

    def __init__(self, bench: World, link: Connection) -> None:
        self.bench = bench
        self.link = link
        self.last_id = bytes(16)
        self.heartbeats = 0
        self._reader = FrameReader(limit=MOST_FRAME)

    @property
    def closed(self) -> bool:
        return self.link.closed

    def send(self, data: bytes) -> None:
        self.link.receive(data, self.bench.now_ns)

    def half_close(self) -> None:
        self.link.end_of_stream(self.bench.now_ns)

    def close(self) -> None:
        self.link.lost(self.bench.now_ns)

    def frame(self, *, within: float = 5.0, heartbeats: bool = False) -> ServerFrame | None:
        """Return the next frame, or None when none comes in so many seconds."""
        until_ns = self.bench.now_ns + int(within * SECOND)
        while True:
            self._reader.feed(self.link.take_output())
            frame = self._reader.next_frame()
            if isinstance(frame, ServerFrame):
                if frame.data == HEARTBEAT and not heartbeats:
                    self.heartbeats += 1
                    continue
                if frame.frame_type == FRAME_TYPE_MESSAGE:
                    self.last_id = frame.data[10:26]
                return frame
            if not self.bench.step(until_ns):
                return None

    def ask(self, data: bytes) -> str:
        """Send bytes and return the next frame in a word: text, error code, or silence."""
        self.send(data)
        return word(self.frame())

    def message(self, *, extend: bool, ordered: bool = False, within: float = 5.0) -> Message:
        """Return the next frame as a message."""
        frame = self.frame(within=within)
        assert frame is not None
        assert frame.frame_type == FRAME_TYPE_MESSAGE, frame
        return decode(message_schema(extend=extend, ordered=ordered), frame.data)

    def bodies(self, *, extend: bool, within: float = 0.1) -> list[bytes]:
        """Return the bodies of all messages that come, each finished."""
        bodies = []
        while (frame := self.frame(within=within)) is not None:
            message = decode(message_schema(extend=extend, ordered=False), frame.data)
            bodies.append(message.body)
            self.send(b"FIN " + message.message_id + b"\n")
        return bodies


class Bench:
    """A node, its clients and its clock."""

    def __init__(
        self,
        *,
        dialect: str = PUBLISHED,
        variants: tuple[str, ...] = (),
        limits: Limits | None = None,
        storage: Storage | None = None,
        access: Access = OPEN,
    ) -> None:
        self.now_ns = START
        self.node = Node(
            storage or MemoryStorage(),
            behaviour=presets.build(dialect, fault_names=(), variant_names=variants),
            limits=limits or Limits(),
            now_ns=START,
            access=access,
        )
        self._connect: Callable[[object, int], Connection] = broker.connector(self.node)

    def connect(self, *, magic: bool = True) -> Client:
        client = Client(self, self._connect("127.0.0.1:1", self.now_ns))
        if magic:
            client.send(MAGIC)
        return client

    def consumer(
        self,
        topic: str,
        *,
        channel: str = "ch",
        identify: str = '{"extend_support":true}',
        command: str = "SUB",
        ready: int = 100,
    ) -> Client:
        """Return a client that is subscribed and ready."""
        client = self.connect()
        assert client.ask(identified(identify)) == "OK"
        assert client.ask(f"{command} {topic} {channel} 0\n".encode()) == "OK"
        client.send(f"RDY {ready}\n".encode())
        return client

    def topic(self, name: str, *, extend: bool = True, ordered: bool = False) -> str:
        self.node.create(name, range(1), extend=extend, ordered=ordered)
        return name

    def http(self, request: bytes, *, end: bool = False) -> bytes:
        """Return the answer to the bytes of a request."""
        link = http_api.connector(self.node)("127.0.0.1:1", self.now_ns)
        link.receive(request, self.now_ns)
        if end:
            link.end_of_stream(self.now_ns)
        return link.take_output()

    def post(self, path: str, body: bytes = b"", headers: str = "") -> tuple[int, bytes]:
        """Return status and body of the answer to a POST."""
        length = f"Content-Length: {len(body)}\r\n"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}{length}\r\n"
        answer = self.http(head.encode("latin-1") + body)
        first, _, rest = answer.partition(b"\r\n")
        return int(first.split(b" ")[1]), rest.partition(b"\r\n\r\n")[2]

    def step(self, until_ns: int) -> bool:
        """Go on to the next thing that happens; False when nothing does until then."""
        next_ns = self.node.timers.next_ns()
        if next_ns is None or next_ns > until_ns:
            self.now_ns = max(self.now_ns, until_ns)
            return False
        self.now_ns = max(self.now_ns, next_ns)
        self.node.run_timers(self.now_ns)
        return True

    def wait(self, seconds: float) -> None:
        until_ns = self.now_ns + int(seconds * SECOND)
        while self.step(until_ns):
            pass


def word(frame: ServerFrame | None) -> str:
    """Return a frame in a word."""
    if frame is None:
        return "silence"
    if frame.frame_type == FRAME_TYPE_ERROR:
        return error_code(frame.data)
    if frame.frame_type == FRAME_TYPE_MESSAGE:
        return "message"
    return frame.data.decode("latin-1") if len(frame.data) != 30 else "trace"


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def identified(fields: str) -> bytes:
    return b"IDENTIFY\n" + sized(fields.encode())


def pub(topic: str, body: bytes, partition: str = "0") -> bytes:
    return f"PUB {topic} {partition}\n".encode() + sized(body)


def pub_ext(topic: str, header: bytes, body: bytes, *, length: int | None = None) -> bytes:
    declared = len(header) if length is None else length
    return f"PUB_EXT {topic} 0\n".encode() + sized(declared.to_bytes(2) + header + body)


def tagged(topic: str, tag: str, body: bytes) -> bytes:
    return pub_ext(topic, b'{"##client_dispatch_tag":"%s"}' % tag.encode(), body)
