"""What a proxy must know of a protocol: where it stands, and what it changes on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.wire.address import Address


@dataclass(frozen=True, slots=True)
class Front:
    """A service that the proxy stands in front of; connections are called after its name."""

    name: str
    kind: str
    upstream: Address


FrontFor = Callable[[str, Address], Address | None]
"""Returns where the proxy listens in front of a service, given its kind and address.

The proxy begins to listen there if it did not yet; None if it stands before too many already.
"""


class Gate(Protocol):
    """What becomes of the bytes of one connection on their way; it does no I/O.

    Bytes that are not forwarded yet are held, and come out of a later call, in order.
    """

    def from_client(self, data: bytes) -> bytes:
        """Take bytes from the client; return the bytes for the broker."""
        ...

    def from_server(self, data: bytes) -> bytes:
        """Take bytes from the broker; return the bytes for the client."""
        ...

    def release(self, *, by_client: bool) -> bytes:
        """Return the bytes that are held in one direction, unchanged, and hold none any more."""
        ...

    def take_notes(self) -> list[str]:
        """Return what was changed since the last call, one sentence each."""
        ...


MakeGate = Callable[[Front, str, FrontFor], Gate]
"""Makes the gate of a connection, given its front and the host by which the client reached it."""


class OpenGate:
    """A gate that changes nothing; others hold in ``held`` what they do not forward yet."""

    def __init__(self) -> None:
        self.held = {True: bytearray(), False: bytearray()}
        """By whether the client sent them."""
        self.notes: list[str] = []

    def from_client(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data

    def from_server(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data

    def release(self, *, by_client: bool) -> bytes:
        """Return the bytes that are held in one direction."""
        released = bytes(self.held[by_client])
        self.held[by_client].clear()
        return released

    def take_notes(self) -> list[str]:
        """Return what was changed since the last call."""
        taken, self.notes = self.notes, []
        return taken
