"""TLS and AUTH: which clients may use the node."""

from collections.abc import Callable
from hmac import compare_digest
from typing import Protocol

from msgspec import Struct


class BadSeal(Exception):
    """Raised for invalid TLS input; the connection is closed."""


class Security(Protocol):
    """One connection's TLS, sans I/O."""

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
            BadSeal: they are not what TLS allows.
        """
        ...

    def seal(self, data: bytes) -> bytes:
        """Return bytes as they are to be sent, with what the handshake has to say before."""
        ...

    def finish(self) -> bytes:
        """Return what says that nothing more is sent."""
        ...


class Access(Struct, frozen=True):
    """`security` makes the TLS of a connection; without `secret` AUTH is switched off."""

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
