"""What a protocol adds to the judging of clients: peers, scripts, probes and names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from wireproof_kit.clients.effects import Peers
from wireproof_kit.clients.story import Decoder, Story
from wireproof_kit.ledger.ledger import Ledger
from wireproof_kit.observation import Observation
from wireproof_kit.wire.mask import MakeMask

Role: TypeAlias = Literal["producer", "consumer"]
Values: TypeAlias = Mapping[str, str]
"""Values by the names that may stand in braces in a client's command line."""
Until: TypeAlias = Callable[[Story], bool]
Stories: TypeAlias = Mapping[str, Story]
"""The events of the short runs before the cases, by the name of the run."""
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Experiment(Generic[S]):
    """A short run that probes a client in one role: its script, and the condition that ends it."""

    role: Role
    script: S
    until: Until


@dataclass(frozen=True, slots=True)
class ClientPart(Generic[S]):
    """How the clients of one protocol are started, probed and served; ``S`` is its script type.

    ``settings`` are the names that the kit fills into a command; ``addresses`` are those of them
    that are addresses. ``name`` returns what one case works with, such as a topic, from the run's
    token and the number of the case. ``decode`` makes the decoder of traffic, ``meet`` the servers
    for a script. ``fill`` returns the values of all settings. ``first`` are the runs that show
    whether a client can be tested in a role at all, ``further`` the others; a run of ``first`` has
    the name of its role, further ones of that role any other. ``undone`` says what a client did
    not do that does not play a role. A role whose run of ``first`` meets ``prefer`` goes first if
    a case leaves the role open. ``open_ledger`` returns what judges the connections of all cases.
    ``forgive`` returns a script by which the servers also serve a client that goes to another
    address than it must: its other clauses can be judged then, too. ``make_mask`` makes what hides
    the secrets that a client sends unasked. ``describe`` returns what a client says of itself to
    the servers, by name, such as its version.
    """

    settings: tuple[str, ...]
    addresses: tuple[str, ...]
    name: Callable[[str, int], Values]
    decode: Callable[[], Decoder]
    meet: Callable[[S, Values], Peers]
    fill: Callable[[S, Mapping[str, str], Values], Values]
    first: Mapping[str, Experiment[S]]
    further: Mapping[str, Experiment[S]]
    undone: Mapping[Role, str]
    prefer: Until
    observe_capability: Callable[[Stories, str], Observation]
    observe_reading: Callable[[Stories, str], Observation]
    open_ledger: Callable[[], Ledger]
    make_mask: MakeMask
    forgive: Callable[[S], S] | None = None
    describe: Callable[[Stories], Values] | None = None
