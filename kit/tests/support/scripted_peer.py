"""Small servers that say what a test tells them to, each connection in a thread of its own."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable

from wireproof_kit.wire.connection import Closing
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame

OK = response_frame(b"OK")
HEARTBEAT = response_frame(b"_heartbeat_")

Script = Callable[["Peer"], None]


class Peer:
    """The server's side of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.received = bytearray()

    def say(self, *pieces: bytes) -> None:
        """Send the pieces, each in a write of its own."""
        for piece in pieces:
            self.sock.sendall(piece)

    def line(self) -> bytes:
        """Read up to a line feed; empty when the client has gone."""
        return self.until(b"\n")

    def until(self, end: bytes) -> bytes:
        """Read up to some bytes; empty when the client has gone."""
        while end not in self.received:
            if not self._more():
                return b""
        at = self.received.index(end) + len(end)
        return self._cut(at)

    def exactly(self, count: int) -> bytes:
        """Read so many bytes; empty when the client has gone."""
        while len(self.received) < count:
            if not self._more():
                return b""
        return self._cut(count)

    def sized(self) -> bytes:
        """Read a 4-byte size and so many bytes."""
        return self.exactly(int.from_bytes(self.exactly(4), "big"))

    def rest(self) -> bytes:
        """Read until the client ends its direction."""
        while self._more():
            pass
        return self._cut(len(self.received))

    def reset(self) -> None:
        """Close with a reset instead of an end."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def _more(self) -> bool:
        piece = self.sock.recv(65536)
        self.received += piece
        return bool(piece)

    def _cut(self, at: int) -> bytes:
        data = bytes(self.received[:at])
        del self.received[:at]
        return data


def dribbling(peer: Peer) -> None:
    """Answer a request with a body byte by byte, for longer than anybody waits."""
    peer.until(b"\r\n\r\n")
    peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(1000):
        peer.say(b" ")
        time.sleep(0.05)  # the pace of the server; it ends when the client leaves


class ScriptedPeer(Closing):
    """A loopback server: every connection runs the script, then ends."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._open: list[socket.socket] = []
        self._closing = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()
        return host, port

    def close(self) -> None:
        """End the listener and the connections that are open."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closing:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock:
            self._script(Peer(sock))


def answering(*answers: bytes) -> Script:
    """Give one answer per line of command (bodies are swallowed), then wait for the end."""

    def script(peer: Peer) -> None:
        for answer in answers:
            if not peer.line():
                return
            peer.say(answer)
        peer.rest()

    return script


def saying(*pieces: bytes) -> Script:
    """Say the pieces at once, each in a write of its own, then wait for the end."""

    def script(peer: Peer) -> None:
        peer.say(*pieces)
        peer.rest()

    return script


def refusing(code: str, description: str = "") -> bytes:
    return error_frame(code, description)


def pushing(message: bytes) -> bytes:
    return message_frame(message)
