"""The decisions of peers, which the stage carries out."""

from dataclasses import dataclass, field
from typing import TypeAlias

from wireproof_spec.driver.lines import Fields


@dataclass(frozen=True, slots=True)
class Send:
    """Send bytes to the client on a connection; ``note`` says what is wrong with the bytes."""

    conn: str
    data: bytes
    note: str = ""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close a connection after all output is sent; with ``reset``, reset it at once.

    With ``half`` only the kit's side is closed: if the client has sent something that was not yet
    read, closing both would take from it what it has not yet read either.
    """

    conn: str
    reset: bool = False
    half: bool = False


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
