"""TLS and AUTH: which clients may use the node."""

from collections.abc import Callable
from hmac import compare_digest
from typing import Protocol

from msgspec import Struct


class BadSeal(Exception):
    """Raised for invalid TLS input; the connection is closed."""


class Security(Protocol):
    """The interface of the TLS of one connection, without I/O."""

    @property
    def established(self) -> bool:
        """Return True if the handshake is complete."""
        ...

    @property
    def ended(self) -> bool:
        """Return True if the client has closed its side of the TLS session."""
        ...

    def open(self, data: bytes) -> bytes:
        """Return the plaintext of received TLS bytes.

        Raises:
            BadSeal: the bytes are no valid TLS.
        """
        ...

    def seal(self, data: bytes) -> bytes:
        """Return the TLS bytes to send, with pending handshake data before the encrypted bytes."""
        ...

    def finish(self) -> bytes:
        """Return the TLS bytes that announce the end of our stream."""
        ...


class Access(Struct, frozen=True):
    """The access rules of a node: TLS by `security`, and AUTH if there is a `secret`."""

    security: Callable[[], Security] | None = None
    tls_required: bool = False
    secret: bytes | None = None

    @property
    def asks(self) -> bool:
        """Return True if clients must send AUTH."""
        return self.secret is not None

    def admits(self, secret: bytes) -> bool:
        """Return True if a secret is correct."""
        return self.secret is not None and compare_digest(secret, self.secret)


OPEN = Access()
"""No TLS, no AUTH: everybody may do everything."""
