"""The session of a client: what a login binds to a connection."""

from msgspec import Struct

from wireproof_spec.iggy.apache.frames import Request


class Registered(Struct, eq=False):
    """A logged-in client: its session, its connection, and its last metadata operation."""

    session: int
    connection: int
    request: int = 0
    body: bytes = b""
    answer: bytes = b""


class Call(Struct, frozen=True):
    """A request that is being served: on which connection, and when."""

    connection: int
    request: Request
    now_us: int
    client: int = 0
    """The client id that logged in on the connection; 0 before."""
    session: int = 0
    """The session bound to the connection; 0 before the login."""
