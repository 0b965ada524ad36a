"""What passing traffic shows of clauses."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.clients.events import Event
from wireproof_kit.observation import Difference


@dataclass(frozen=True, slots=True)
class Shown:
    """What an event shows of a clause: that it holds, or in ``what`` why it does not."""

    clause: str
    what: str = ""
    difference: Difference | None = None

    @property
    def holds(self) -> bool:
        """True if the clause holds."""
        return not self.what


class Checks(Protocol):
    """Watches one connection for some clauses; its state has a fixed size."""

    def see(self, event: Event) -> Iterable[Shown]:
        """Return what an event shows."""
        ...


class Watcher(Protocol):
    """Decodes and judges one connection."""

    @property
    def opening(self) -> tuple[str, ...]:
        """The cases for clients that are observed on the beginning of the connection."""
        ...

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterable[Event]:
        """Return the events that end in these bytes."""
        ...

    def see(self, event: Event) -> Iterable[Shown]:
        """Return what an event shows; nothing after the connection cannot be decoded."""
        ...

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of an event that the server sent; empty if it did not."""
        ...
