"""The decisions of peers, which the stage carries out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from wireproof_kit.clients.events import Event
from wireproof_spec.driver.lines import Fields


@dataclass(frozen=True, slots=True)
class Send:
    """Send bytes to the client on a connection; ``note`` says what is wrong with the bytes."""

    conn: str
    data: bytes
    note: str = ""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close a connection after all output is sent; with ``reset``, reset it at once."""

    conn: str
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """Ask the peers again after this number of seconds."""

    seconds: float
    token: object


@dataclass(frozen=True, slots=True)
class Listen:
    """Accept connections to a peer, or refuse them and close those that are open."""

    peer: str
    up: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the client's driver for an operation."""

    op: str
    fields: Fields = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Mark:
    """Write a mark into the log: a period of the script has ended."""

    name: str


Effect: TypeAlias = Send | HangUp | Later | Listen | Ask | Mark


class Peers(Protocol):
    """The peers of one case; they do no I/O."""

    def names(self) -> Sequence[str]:
        """Return the names of the peers, each of which gets an address."""
        ...

    def has_http(self, peer: str) -> bool:
        """Return True if a peer speaks HTTP."""
        ...

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterable[Effect]:
        """Return the effects before the client starts.

        ``addresses`` are HOST:PORT by peer, ``values`` what the client is given with its command.
        """
        ...

    def react(self, event: Event) -> Iterable[Effect]:
        """Return the effects of an event."""
        ...

    def react_to_timer(self, token: object) -> Iterable[Effect]:
        """Return the effects of a timer that has expired."""
        ...
