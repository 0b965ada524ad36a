"""What a broker that is wrong on purpose does to its connections and to itself.

Faults of parsers are looked for by their consequences: a parser out of step, a neighbour that is
disturbed, something that is never given back. Each consequence is one word here; which bytes lead
to it is the fault's own affair.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from wireproof_reference_impl.harm import Harm
from wireproof_reference_impl.nsq.core.message import Entry
from wireproof_reference_impl.nsq.core.refusal import Refusal


class Victim(Protocol):
    """A connection, as faults of parsers see it."""

    @property
    def command(self) -> bytes:
        """Return the first word of the command at hand."""
        ...

    @property
    def unread(self) -> bytes:
        """Return what has come and is not read yet."""
        ...

    @property
    def wanted(self) -> int:
        """Return how many bytes the command at hand waits for; 0 between commands."""
        ...

    @property
    def harm(self) -> Harm:
        """Return what has happened to the broker."""
        ...

    def reread(self, dropped: int, data: bytes = b"") -> None:
        """Read other bytes in the place of the next ones."""

    def skip_later(self, count: int) -> None:
        """Drop the next bytes to come."""

    def leak(self) -> None:
        """Never let go of the connection, whatever becomes of the client."""

    def drop_another(self, *, subscribed: bool) -> None:
        """End the connection of another client, the one that came first."""


class Weakness(Struct, frozen=True):
    """Where a parser may be wrong, beside the rules of frames; nothing is, by default.

    `line` sees the words of each command, `identity` the body of each IDENTIFY, `batch` that of
    each MPUB, `declared` each size and count (`size`, `batch size`, `identify size`, `count`,
    `message size`), `segment` each piece of the stream, `stored` the messages about to be stored;
    what they return comes in its place. `refused` sees each refusal, `cut` that the stream has
    ended inside a frame. Each may raise `Halt`, `Deaf` or `Stuck`.
    """

    line: Callable[[Victim, Sequence[bytes]], Sequence[bytes]] | None = None
    identity: Callable[[Victim, bytes], bytes] | None = None
    batch: Callable[[Victim, bytes], bytes] | None = None
    declared: Callable[[Victim, str, int], int] | None = None
    refused: Callable[[Victim, Refusal], None] | None = None
    segment: Callable[[Victim, bytes], bytes] | None = None
    cut: Callable[[Victim], None] | None = None
    stored: Callable[[Victim, Sequence[Entry]], Sequence[Entry]] | None = None
