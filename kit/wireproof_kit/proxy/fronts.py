"""What a proxy must know of a protocol: where it stands, and what it changes on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.wire.address import Address


@dataclass(frozen=True, slots=True)
class Front:
    """A service (``upstream``) for which the proxy listens; connections are named after it.

    ``is_named`` is False for one that an answer named, not the user.
    """

    name: str
    kind: str
    upstream: Address
    is_named: bool = True


FrontFor = Callable[[str, Address], Address | None]
"""Returns where the proxy listens for a service, given the service's kind and address.

The proxy starts to listen if it did not yet; None if it listens for too many services already.
"""


class Gate(Protocol):
    """Changes the bytes of one connection on their way through the proxy; it does no I/O.

    Bytes that are not forwarded yet are held back, and come out of a later call, in order.
    """

    def from_client(self, data: bytes) -> bytes:
        """Add bytes from the client; return the bytes to forward to the broker."""
        ...

    def from_server(self, data: bytes) -> bytes:
        """Add bytes from the broker; return the bytes to forward to the client."""
        ...

    def release(self, *, by_client: bool) -> bytes:
        """Return the bytes held back in one direction, unchanged, and forget them."""
        ...

    def take_notes(self) -> list[str]:
        """Return what was changed since the last call, in one sentence each."""
        ...


MakeGate = Callable[[Front, str, FrontFor], Gate]
"""Returns the gate of a connection; arguments: the front, the client's host name, `FrontFor`."""


class OpenGate:
    """A gate that forwards all bytes unchanged; subclasses hold bytes back in ``held``."""

    def __init__(self) -> None:
        self.held = {True: bytearray(), False: bytearray()}
        """The bytes held back; True are those that the client sent."""
        self.notes: list[str] = []

    def from_client(self, data: bytes) -> bytes:
        """Return the client's bytes unchanged, to be forwarded to the broker."""
        return data

    def from_server(self, data: bytes) -> bytes:
        """Return the broker's bytes unchanged, to be forwarded to the client."""
        return data

    def release(self, *, by_client: bool) -> bytes:
        """Return the bytes held back in one direction, and forget them."""
        released = bytes(self.held[by_client])
        self.held[by_client].clear()
        return released

    def take_notes(self) -> list[str]:
        """Return what was changed since the last call, in one sentence each."""
        taken, self.notes = self.notes, []
        return taken
