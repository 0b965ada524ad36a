"""Publishers that send pre-built buffers over several connections, a window of messages on each.

All frames are equal, so a publisher sends slices of one buffer. Its answers are only counted:
every answer must be OK.
"""

import gc
import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bare_server import MAGIC, OK, SIZE_BYTES

BODY = bytes(range(200))
LINE = b"PUB t 0\n"
FRAME = LINE + len(BODY).to_bytes(SIZE_BYTES) + BODY
PART = 50
PATIENCE_S = 30.0
_READ_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Round:
    """What one round came to; ``waits_s`` are round trips, taken at depth 1 only."""

    messages: int
    seconds: float
    own_cpu_s: float
    waits_s: tuple[float, ...] = ()

    @property
    def rate(self) -> float:
        """Return messages per second."""
        return self.messages / self.seconds


class Publishers:
    """Connections to one server, open from round to round."""

    def __init__(self, port: int, connections: int, depth: int) -> None:
        self._depth = depth
        self._frames = memoryview(FRAME * depth)
        self._oks = OK * (depth + 1)
        self._sockets = [_connect(port) for _ in range(connections)]

    def round(self, seconds: float) -> Round:
        """Publish for this many seconds, wait for the remaining answers, and return figures."""
        gc.collect()
        gc.disable()
        try:
            if len(self._sockets) > 1:
                return self._windows(seconds)
            return self._alone(seconds) if self._depth == 1 else self._window(seconds)
        finally:
            gc.enable()

    def close(self) -> None:
        """Let go of the connections."""
        for sock in self._sockets:
            sock.close()

    def _alone(self, seconds: float) -> Round:
        """Publish one message at a time on one connection, and time each."""
        sock = self._sockets[0]
        waits: list[float] = []
        clock = time.perf_counter
        begin, begin_cpu = clock(), time.process_time()
        sent = begin
        while sent - begin < seconds:
            sock.send(FRAME)
            answer = sock.recv(_READ_BYTES)
            answered = clock()
            if answer != OK:
                raise SystemExit(f"expected OK, found {answer[:60]!r}")
            waits.append(answered - sent)
            sent = answered
        return Round(len(waits), sent - begin, time.process_time() - begin_cpu, tuple(waits))

    def _window(self, seconds: float) -> Round:
        """Keep a window of unanswered messages on the only connection."""
        sock = self._sockets[0]
        begin, begin_cpu = time.perf_counter(), time.process_time()
        end = begin + seconds
        sock.sendall(self._frames)
        sent = unanswered = self._depth
        pending = b""
        while unanswered:
            count, pending = self._answers(pending + sock.recv(_READ_BYTES))
            unanswered -= count
            if time.perf_counter() < end:
                for part in self._parts(count):
                    sock.sendall(part)
                sent += count
                unanswered += count
        return Round(sent, time.perf_counter() - begin, time.process_time() - begin_cpu)

    def _windows(self, seconds: float) -> Round:
        """Keep a window of unanswered messages on each connection: answered ones are replaced."""
        begin, begin_cpu = time.perf_counter(), time.process_time()
        end = begin + seconds
        pending = dict.fromkeys(self._sockets, b"")
        unanswered = dict.fromkeys(self._sockets, self._depth)
        by_number = {sock.fileno(): sock for sock in self._sockets}
        sent = 0
        with selectors.EpollSelector() as selector:
            for sock in self._sockets:
                selector.register(sock.fileno(), selectors.EVENT_READ)
                sock.sendall(self._frames)
                sent += self._depth
            while any(unanswered.values()):
                ready = selector.select(PATIENCE_S)
                if not ready:
                    raise SystemExit(f"no answer within {PATIENCE_S:g} s")
                goes_on = time.perf_counter() < end
                for sock in [by_number[key.fd] for key, _ in ready]:
                    count, pending[sock] = self._answers(pending[sock] + sock.recv(_READ_BYTES))
                    if goes_on:
                        for part in self._parts(count):
                            sock.sendall(part)
                        sent += count
                    else:
                        unanswered[sock] -= count
        return Round(sent, time.perf_counter() - begin, time.process_time() - begin_cpu)

    def _parts(self, count: int) -> Iterator[memoryview]:
        """Return ``count`` frames in parts, so that the server can start on the first part."""
        while count > 0:
            yield self._frames[: min(count, PART) * len(FRAME)]
            count -= PART

    def _answers(self, data: bytes) -> tuple[int, bytes]:
        """Return the number of complete answers, all OK, and the bytes of an incomplete one."""
        if not data or not self._oks.startswith(data):
            raise SystemExit(f"expected OK and nothing else, found {data[:60]!r}")
        count = len(data) // len(OK)
        return count, data[count * len(OK) :]


def _connect(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(MAGIC)
    return sock
