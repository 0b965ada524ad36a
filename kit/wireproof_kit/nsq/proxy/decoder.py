"""Decodes what passes a proxy into events; holds little, whatever sizes the bytes declare.

Of a command or frame that is longer than `KEPT`, the first bytes are decoded and the others are
counted. A direction that cannot be decoded ends with `Malformed` or `Misframed`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import h11

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.clients.http_requests import read_request
from wireproof_kit.nsq.clients.decoder import (
    LOOKUPD,
    NSQD_HTTP,
    check_count,
    make_commanded,
    make_requested,
    wrong_magic,
)
from wireproof_kit.nsq.clients.events import (
    Commanded,
    Magic,
    Responded,
    Sent,
)
from wireproof_kit.nsq.clients.mask import BODIES_PASSING, DPUB
from wireproof_kit.nsq.decoding.client_stream import WORDS
from wireproof_kit.nsq.proxy.gates import DECLINED
from wireproof_kit.nsq.proxy.node_state import json_members
from wireproof_kit.proxy.events import Clipped, Undecoded
from wireproof_kit.proxy.http_stream import HttpExchange
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command_reader import CommandReader
from wireproof_spec.nsq.frame import NEED_MORE, FrameReader
from wireproof_spec.wire_error import WireError

KEPT = 1 << 18
"""The most bytes of a command, frame or body that the proxy keeps."""
ANY_SIZE = (1 << 31) - 1
GONE = "not decoded from here on"
_SIZE = 4


@dataclass(frozen=True, slots=True)
class Misframed(Event):
    """The broker sent bytes that are not a frame."""

    error: WireError


@dataclass(frozen=True, slots=True)
class Answered(Responded):
    """A server answered an HTTP request; ``body`` is cut if ``is_whole`` is false."""

    path: str
    status: int
    body: bytes
    is_whole: bool


class PassingDecoder:
    """Decodes both directions of one connection whose traffic passes the proxy."""

    def __init__(self, conn: str) -> None:
        is_http = conn.startswith((LOOKUPD, NSQD_HTTP))
        self._stream = _HttpStream(conn) if is_http else _NodeStream(conn)

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        """Yield the events completed by these bytes, received at time ``at``."""
        return self._stream.decode(at, data, by_client=by_client)

    def decode_end(self, at: float) -> Iterator[Event]:
        """Yield a malformed command if the client's stream ends inside one."""
        return self._stream.decode_end(at)


class _NodeStream:
    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._commands = _command_reader()
        self._frames = FrameReader(ANY_SIZE)
        self._head = bytearray()
        self._skip = {True: 0, False: 0}
        self._open = {True, False}
        """The directions that can still be decoded; True is the one in which the client sends."""
        self._identifies = False

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        if by_client not in self._open:
            return
        skipped = min(self._skip[by_client], len(data))
        self._skip[by_client] -= skipped
        data = data[skipped:]
        try:
            yield from self._by_client(at, data) if by_client else self._by_broker(at, data)
        except WireError as error:
            self._open.discard(by_client)
            yield (Malformed if by_client else Misframed)(at, self._conn, error)

    def decode_end(self, at: float) -> Iterator[Event]:
        if True not in self._open or self._skip[True]:
            return
        try:
            self._commands.finish()
        except WireError as error:
            self._open.discard(True)
            yield Malformed(at, self._conn, error)

    def _by_client(self, at: float, data: bytes) -> Iterator[Event]:
        if len(self._head) < len(names.MAGIC):
            missing = len(names.MAGIC) - len(self._head)
            self._head += data[:missing]
            data = data[missing:]
            if not names.MAGIC.startswith(self._head):
                raise wrong_magic(bytes(self._head))
            if len(self._head) < len(names.MAGIC):
                return
            yield Magic(at, self._conn)
        self._commands.feed(data)
        start = self._commands.offset
        while (command := self._commands.next_command()) is not NEED_MORE:
            event = make_commanded(at, self._conn, command)
            check_count(event, start)
            start = self._commands.offset
            yield event
            self._identifies = event.name == names.IDENTIFY.decode()
            if event.name.encode("latin-1") not in WORDS | {DPUB}:
                self._open.discard(True)
                text = f"{GONE}: whether a body follows {event.name} is not known"
                yield Undecoded(at, self._conn, text)
                return
        if len(pending := self._commands.pending) > KEPT:
            yield from self._clip_command(at, pending)

    def _clip_command(self, at: float, pending: bytes) -> Iterator[Event]:
        line, _, rest = pending.partition(b"\n")
        size = int.from_bytes(rest[:_SIZE], "big")
        self._skip[True] = _SIZE + size - len(rest)
        name, *words = line.decode("latin-1").split(" ")
        yield Clipped(at, self._conn, name, size, kept=len(rest) - _SIZE)
        yield Commanded(at, self._conn, name, tuple(words), rest[_SIZE:], line=line + b"\n")
        self._commands = _command_reader()

    def _by_broker(self, at: float, data: bytes) -> Iterator[Event]:
        self._frames.feed(data)
        while (frame := self._frames.next_frame()) is not NEED_MORE:
            yield Sent(at, self._conn, frame.data, frame.frame_type)
            if self._identifies and frame.data != names.HEARTBEAT:
                self._identifies = False
                if granted := _granted(frame.data):
                    self._open.clear()
                    yield Undecoded(at, self._conn, f"{GONE}: {granted} is granted")
                    return
        if len(pending := self._frames.pending) > KEPT:
            size, kind = (int.from_bytes(pending[i : i + _SIZE], "big") for i in (0, _SIZE))
            self._skip[False] = _SIZE + size - len(pending)
            yield Clipped(at, self._conn, f"frame of type {kind}", size, kept=len(pending) - _SIZE)
            yield Sent(at, self._conn, pending[2 * _SIZE :], kind)
            self._frames = FrameReader(ANY_SIZE)


class _HttpStream:
    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._exchange = HttpExchange(KEPT)
        self._is_open = True

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterator[Event]:
        if not self._is_open:
            return
        try:
            if by_client:
                for found in self._exchange.feed_client(data):
                    yield make_requested(at, self._conn, read_request(found.request))
                return
            for response in self._exchange.feed_server(data):
                status, body = response.head.status_code, response.body
                whole = response.with_body(body)
                kept = response.is_kept
                yield Answered(at, self._conn, whole, response.path, status, body, kept)
        except (h11.ProtocolError, ValueError) as error:  # urlsplit refuses some targets
            self._is_open = False
            yield Undecoded(at, self._conn, f"{GONE}: no HTTP ({error})")

    def decode_end(self, at: float) -> Iterator[Event]:
        yield from ()  # a request cut short is none that a server could answer


def _command_reader() -> CommandReader:
    return CommandReader(message_limit=ANY_SIZE, body_limit=ANY_SIZE, bodies=BODIES_PASSING)


def _granted(data: bytes) -> str:
    """Return what an answer to IDENTIFY grants of TLS and compression; empty if nothing."""
    fields = json_members(data)
    return ", ".join(name for name in DECLINED if fields.get(name))
