"""The decisions of peers, which the stage carries out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from wireproof_kit.clients.events import Event
from wireproof_kit.clients.pieces import Pieces
from wireproof_spec.driver.lines import Fields


@dataclass(frozen=True, slots=True)
class Send:
    """Effect: send bytes to the client on a connection; ``note`` says what is wrong with them."""

    conn: str
    data: bytes
    note: str = ""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Effect: close a connection after all output is sent; with ``reset``, reset it at once.

    With ``half`` only the kit's sending direction is closed: if the client has sent something that
    the kit has not read, a full close would discard output that the client has not read.
    """

    conn: str
    reset: bool = False
    half: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """Effect: call `Peers.react_to_timer` after this number of seconds."""

    seconds: float
    token: object


@dataclass(frozen=True, slots=True)
class Listen:
    """Effect: accept connections to a peer, or refuse them and close the open ones."""

    peer: str
    up: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """Effect: ask the client's driver for an operation."""

    op: str
    fields: Fields = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Mark:
    """Effect: write a mark into the transcript; a period of the script has ended."""

    name: str


Effect: TypeAlias = Send | HangUp | Later | Listen | Ask | Mark


class Peers(Protocol):
    """The servers that the kit plays for a client in one case; they do no I/O."""

    def names(self) -> Sequence[str]:
        """Return the names of the servers, each of which gets an address."""
        ...

    def has_http(self, peer: str) -> bool:
        """Return True if the server with this name speaks HTTP."""
        ...

    def pieces(self, peer: str) -> Pieces | None:
        """Return in which pieces a server writes what it sends; None: each send as a whole."""
        ...

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterable[Effect]:
        """Return what the servers do before the client starts.

        ``addresses`` are HOST:PORT by server, ``values`` what the client is given with its
        command.
        """
        ...

    def react(self, event: Event) -> Iterable[Effect]:
        """Return what the servers do because of an event."""
        ...

    def react_to_timer(self, token: object) -> Iterable[Effect]:
        """Return what the servers do because the timer with this token has expired."""
        ...
