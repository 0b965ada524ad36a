"""Where a server that is wrong on purpose is weak, and what it does to its connections then.

Which bytes lead to what is the business of the faults.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from wireproof_reference_impl.harm import Harm
from wireproof_reference_impl.iggy.core.status import Refusal


class Deaf(Exception):
    """The connection stays open and is never listened to again."""


class Halt(Exception):
    """The whole server ends at once."""


class Stuck(Exception):
    """The whole server never answers anybody again."""


class Victim(Protocol):
    """A connection, as faults of parsers see it."""

    @property
    def harm(self) -> Harm:
        """Return what has happened to the server."""
        ...

    @property
    def unread(self) -> bytes:
        """Return what has come of a frame so far."""
        ...

    def skip_later(self, count: int) -> None:
        """Drop the next bytes to come."""

    def leak(self) -> None:
        """Never let go of the connection, whatever becomes of the client."""

    def drop_another(self) -> None:
        """End the connection of another client, the one that came first."""


class Weakness(Struct, frozen=True):
    """Where a parser may be wrong; nothing is, by default.

    `length` sees the length of each frame, `frame` the code and the payload of each, `segment`
    each piece of the stream; what they return comes in its place, and a frame that is None is
    answered with status 0 and not done. `refused` sees each refusal, `cut` that the stream has
    ended inside a frame. Each may raise `Deaf`, `Halt` or `Stuck`.
    """

    length: Callable[[Victim, int], int] | None = None
    frame: Callable[[Victim, int, bytes], bytes | None] | None = None
    segment: Callable[[Victim, bytes], bytes] | None = None
    refused: Callable[[Victim, Refusal], None] | None = None
    cut: Callable[[Victim], None] | None = None
