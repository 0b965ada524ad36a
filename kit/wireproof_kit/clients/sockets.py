"""The sockets of a client case: ports of its servers, and connections of the client."""

import socket
import struct
from collections import deque
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"
_RESET = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class Connection:
    """A connection that the client has opened, and the bytes that it has not taken yet.

    Of ``outgoing``, the first ``due`` bytes are to be written now, the others in these pieces.
    """

    name: str
    socket: socket.socket
    outgoing: bytearray = field(default_factory=bytearray)
    due: int = 0
    pieces: deque[int] = field(default_factory=deque[int])
    closing: bool = False
    half: bool = False

    @property
    def peer(self) -> str:
        """The name of the server to which the client is connected."""
        return self.name.partition(".")[0]

    def write_due(self) -> int:
        """Write what is due, and return how many bytes were taken.

        Raises:
            BlockingIOError: none can be taken now.
            OSError: the connection is broken.
        """
        with memoryview(self.outgoing) as view, view[: self.due] as data:
            return self.socket.send(data)

    def reset_at_close(self) -> None:
        """Have the connection end with a reset when it is closed."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def bind(port: int) -> socket.socket:
    """Return a socket with a port, any free one for 0; it refuses connections until it listens."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((LOOPBACK, port))
    return bound
