"""What passing traffic shows of clauses."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.clients.events import Event
from wireproof_kit.observation import Difference


@dataclass(frozen=True, slots=True)
class Shown:
    """A clause that an event shows to be kept, or in ``what`` how it is broken."""

    clause: str
    what: str = ""
    difference: Difference | None = None

    @property
    def holds(self) -> bool:
        """True if the clause is kept."""
        return not self.what


class Checks(Protocol):
    """Checks the events of one connection by some clauses; its state has a fixed size."""

    def see(self, event: Event) -> Iterable[Shown]:
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

    def see(self, event: Event) -> Iterable[Shown]:
        """Return which clauses an event shows to be kept or broken; none after decoding failed."""
        ...

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of an event sent by the server; empty for other events."""
        ...
