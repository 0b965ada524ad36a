"""Senders of prepared bytes to compare a fuzzer with: they only read the answers.

They send the cases that the fuzzer makes, so that the target has the same work.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wireproof_kit.wire.address import Address

BLOCK = 256
"""Frames in one write."""
IN_FLIGHT = 4
"""Blocks under way at a time."""
CHUNK = 262_144
PATIENCE_S = 5.0

Send = Callable[[Address, bytes, Sequence[bytes], float], int]
"""Sends frames to an address, behind what opens a connection, for so many seconds."""


@dataclass(slots=True)
class Answers:
    """Counts whole frames in what a socket receives."""

    count: int = 0
    rest: bytes = b""

    def take(self, piece: bytes) -> None:
        """Count the complete answers in received bytes, and keep an incomplete one."""
        data, at = self.rest + piece, 0
        while len(data) - at >= 4:
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if end > len(data):
                break
            at = end
            self.count += 1
        self.rest = data[at:]


def connect(address: Address) -> socket.socket:
    """Return a connection that sends at once."""
    sock = socket.create_connection(address, PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def send_pipelined(address: Address, entry: bytes, frames: Sequence[bytes], seconds: float) -> int:
    """Send frames over one connection, again and again; return how many were answered.

    Each is owed one answer, and so is what opens the connection.

    Raises:
        ConnectionError: the target ended the connection or was silent.
    """
    blocks = [b"".join(frames[at : at + BLOCK]) for at in range(0, len(frames), BLOCK)]
    assert len(frames) % BLOCK == 0, "every block is full"
    answers = Answers()
    with connect(address) as sock:
        sock.sendall(entry)
        while not answers.count:
            answers.take(_receive(sock))
        answers.count = 0
        sock.setblocking(False)
        _pump(sock, blocks, answers, time.monotonic() + seconds)
    return answers.count


def _pump(sock: socket.socket, blocks: Sequence[bytes], answers: Answers, deadline: float) -> None:
    """Keep several blocks unanswered until the deadline, and then read the answers still owed."""
    poll = select.poll()
    sent, left = 0, memoryview(b"")
    while True:
        if not left and sent * BLOCK - answers.count <= (IN_FLIGHT - 1) * BLOCK:
            if time.monotonic() < deadline:
                left = memoryview(blocks[sent % len(blocks)])
                sent += 1
            elif answers.count == sent * BLOCK:
                return
        poll.register(sock, select.POLLIN | (select.POLLOUT if left else 0))
        ready = poll.poll(PATIENCE_S * 1000)
        if not ready:
            raise ConnectionError("an answer is missing")
        if ready[0][1] & select.POLLOUT and left:
            left = left[sock.send(left) :]
        if ready[0][1] & ~select.POLLOUT:
            answers.take(_receive(sock))


def send_reconnecting(
    address: Address, entry: bytes, frames: Sequence[bytes], seconds: float
) -> int:
    """Send each frame on a new connection and read its answer; return the number of frames."""
    deadline = time.monotonic() + seconds
    done = 0
    while time.monotonic() < deadline:
        with connect(address) as sock:
            sock.sendall(entry + frames[done % len(frames)])
            answers = Answers()
            while answers.count < 2 and (piece := sock.recv(CHUNK)):
                answers.take(piece)
        done += 1
    return done


def _receive(sock: socket.socket) -> bytes:
    piece = sock.recv(CHUNK)
    if not piece:
        raise ConnectionError("the target ended the connection")
    return piece
