"""The sockets of a client case: ports of its servers, and connections of the client."""

import socket
import struct
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"
_RESET = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class Connection:
    """A connection that the client has opened, and the bytes that it has not taken yet."""

    name: str
    socket: socket.socket
    outgoing: bytearray = field(default_factory=bytearray)
    closing: bool = False
    half: bool = False

    def reset_at_close(self) -> None:
        """Have the connection end with a reset when it is closed."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def bind(port: int) -> socket.socket:
    """Return a socket with a port, any free one for 0; it refuses connections until it listens."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((LOOPBACK, port))
    return bound
