"""Who may talk to the node, and how: TLS and AUTH, where the operator asks for them."""

from collections.abc import Callable
from hmac import compare_digest
from typing import Protocol

from msgspec import Struct


class BadSeal(Exception):
    """What the client sent is no TLS that can go on; the connection ends."""


class Security(Protocol):
    """One connection's TLS, sans I/O."""

    @property
    def established(self) -> bool:
        """Tell whether the handshake is done."""
        ...

    @property
    def ended(self) -> bool:
        """Tell whether the client said that it sends no more."""
        ...

    def open(self, data: bytes) -> bytes:
        """Take bytes as they came; return what they say.

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
        """Tell whether clients have to say AUTH."""
        return self.secret is not None

    def admits(self, secret: bytes) -> bool:
        """Tell whether a secret is the right one."""
        return self.secret is not None and compare_digest(secret, self.secret)


OPEN = Access()
"""No TLS, no AUTH: everybody may do everything."""
