"""What passing traffic shows of clauses."""

from collections.abc import Iterable
from typing import Protocol

from wireproof_kit.clients.events import Event
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference

CONFORMS, DEVIATES = "conforms", "deviates"


def shown(clause: str, what: str = "", difference: Difference | None = None) -> Finding:
    """Return that a clause is kept, or in ``what`` how it is broken."""
    return Finding(clause, DEVIATES if what else "", what, difference)


class Checks(Protocol):
    """Checks the events of one connection by some clauses; its state has a fixed size."""

    def see(self, event: Event) -> Iterable[Finding]:
        """Return which clauses an event shows to be kept or broken."""
        ...


class Watcher(Protocol):
    """Decodes and judges one connection whose traffic passes the proxy."""

    @property
    def opening(self) -> tuple[str, ...]:
        """The ids of the cases for clients that are observed at the start of the connection."""
        ...

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterable[Event]:
        """Return the events completed by these bytes, received at time ``at``."""
        ...

    def decode_end(self, at: float) -> Iterable[Event]:
        """Return the events of the client's end of the stream: malformed if a part is missing."""
        ...

    def see(self, event: Event) -> Iterable[Finding]:
        """Return which clauses an event shows to be kept or broken; none after decoding failed."""
        ...

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of an event sent by the server; empty for other events."""
        ...
