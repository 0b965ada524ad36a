"""A reference in this process, behind real sockets: what tests of its faults talk to."""

import asyncio
import fcntl
import socket
import struct
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from wireproof_reference_impl.served import Connect, Pacing, Source
from wireproof_reference_impl.shell import Clock, Shell

DEADLINE_S = 5.0
POLL_S = 0.005
ROUNDS = 6
"""In so many of its rounds a loop has accepted, made, registered and read a new connection."""


class _AtOnce:
    gathers = False

    def commit(self) -> None:
        """Keep nothing."""


@dataclass(slots=True)
class Running:
    """The shell and the loop it runs in; `addresses` in the order in which they were asked for."""

    shell: Shell
    loop: asyncio.AbstractEventLoop
    addresses: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    @property
    def connections(self) -> int:
        """Return how many connections are held open."""
        return len(self.shell.carriers)

    @property
    def is_dead(self) -> bool:
        """Tell whether the broker has ended."""
        return self.shell.stopped.done()

    def go_round(self) -> None:
        """Wait until the loop has gone round once more, or the broker has ended.

        Raises:
            AssertionError: neither happens in time.
        """
        if self.is_dead:
            return
        gone_round = threading.Event()
        self.loop.call_soon_threadsafe(gone_round.set)
        assert gone_round.wait(DEADLINE_S) or self.is_dead, (
            f"the broker's loop did not go round within {DEADLINE_S:g} s"
        )


@contextmanager
def running(pacing: Pacing, places: Sequence[tuple[Source, Connect]]) -> Iterator[Running]:
    """Serve sources on free ports, in a thread of their own."""
    ready = threading.Event()
    made: list[Running] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        shell = Shell(pacing, Clock(), loop, keeper=_AtOnce())
        made.append(Running(shell, loop))
        for source, connect in places:
            made[0].addresses.append(await shell.listen(source, ("127.0.0.1", 0), connect))
        ready.set()
        await shell.stopped
        shell.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(DEADLINE_S)
    try:
        yield made[0]
    finally:
        if thread.is_alive():
            made[0].loop.call_soon_threadsafe(made[0].shell.stop)
        thread.join(DEADLINE_S)
        assert not thread.is_alive()


class Peer:
    """A client's socket; reads until what it waits for has come."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.sock = socket.create_connection(address, DEADLINE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.came = b""
        self.ended = False

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        """Write bytes; the broker may be gone already."""
        try:
            self.sock.sendall(data)
        except OSError:
            self.ended = True

    def send_apart(self, pieces: Sequence[bytes], shell: Running) -> None:
        """Write pieces, each once the one before has been read."""
        for piece in pieces:
            self.send(piece)
            self.settle(shell)

    def settle(self, shell: Running) -> None:
        """Wait until what was sent before is read.

        The kernel has handed it over once nothing of it is unacknowledged; then the broker's
        loop goes round often enough to find it, on a new connection too.

        Raises:
            AssertionError: one of the two does not happen in time.
        """
        deadline = time.monotonic() + DEADLINE_S
        while left := self._unacknowledged():
            assert time.monotonic() < deadline, (
                f"{left} bytes were not taken by the broker's side within {DEADLINE_S:g} s"
            )
            time.sleep(POLL_S)
        for _ in range(ROUNDS):
            shell.go_round()

    def _unacknowledged(self) -> int:
        """Return how many bytes the other side's kernel has not taken yet, while ours is open."""
        if self.sock.fileno() < 0:
            return 0
        answer = fcntl.ioctl(self.sock, termios.TIOCOUTQ, bytes(4))
        return int(struct.unpack("i", answer)[0])

    def reads(self, wanted: bytes, within_s: float = DEADLINE_S) -> bool:
        """Tell whether bytes come in so many seconds, at whatever place."""
        deadline = time.monotonic() + within_s
        while wanted not in self.came and not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.sock.settimeout(left)
            try:
                piece = self.sock.recv(1 << 16)
            except TimeoutError:
                return False
            except OSError:
                piece = b""
            self.came += piece
            self.ended = not piece
        return wanted in self.came

    def ends(self, within_s: float = DEADLINE_S) -> bool:
        """Tell whether the connection is ended in so many seconds."""
        self.reads(b"\0 never sent \0", within_s)
        return self.ended
