"""What a protocol adds to the fuzzing of clients: states, scripts, peers and grammar."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from wireproof_kit.clients.effects import Peers
from wireproof_kit.clients.part import ClientPart, Role, Values
from wireproof_kit.clients.story import Story
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.generate.grammar import Grammar

TICK_S = 0.05
"""After so many seconds without an event, peers count a tick."""


class Situation(Hashable, Protocol):
    """What a client does in a state, and the place of a case in it."""

    @property
    def role(self) -> Role:
        """The role of the client."""
        ...

    @property
    def client(self) -> Self:
        """The same without its place: one client can play all with an equal one."""
        ...


class CasePeers(Peers, Protocol):
    """Peers that try cases with one client, one after the other.

    ``done`` cases are over. ``trouble`` is the rule that the client violated in the case after
    them. ``ticks`` counts short pieces of time in which nothing happened. ``durations`` are the
    seconds that each case took.
    """

    done: int
    trouble: Trouble | None
    ticks: int
    durations: list[float]

    @property
    def is_over(self) -> bool:
        """Whether all cases are over, or something ended the run before."""
        ...

    @property
    def was_refused(self) -> bool:
        """Whether the case in hand begins with an error of the server."""
        ...


S = TypeVar("S")
T = TypeVar("T", bound=Situation)


@dataclass(frozen=True, slots=True)
class ClientFuzzPart(Generic[S, T]):
    """How the clients of one protocol are fuzzed; ``S`` is its kind of script.

    ``names`` are what every case works with, such as a topic. ``first`` are the situations of
    which a client must be able to do one for each of its roles. ``plays`` says whether a run has
    shown that a client does what a state is about. ``starts``: cases in this situation are about
    the start of a client, so each has its own. In the states ``idle`` nothing is sent. The grammar
    may depend on what the first runs show.

    ``timed`` are states whose request a client repeats at an interval of its own. ``needs`` names
    for a state the timed one by whose request a client may come back.
    """

    part: ClientPart[S]
    names: Values
    states: Mapping[str, T]
    first: Mapping[Role, Sequence[T]]
    script: Callable[[T], S]
    meet: Callable[[T, Sequence[Case], float], CasePeers]
    plays: Callable[[T, Story], bool]
    grammar: Callable[[Sequence[Story]], Grammar]
    starts: Callable[[T], bool] = lambda _: False
    idle: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict[str, str])

    def fill(self, situation: T, addresses: Mapping[str, str]) -> Values:
        """Return what a client is given with its command."""
        return self.part.fill(self.script(situation), addresses, self.names)

    def clients(self) -> tuple[T, ...]:
        """Return the clients that play the states, each once."""
        return tuple(dict.fromkeys(state.client for state in self.states.values()))

    def client_of(self, case: Case) -> T:
        """Return the client that plays the state of a case."""
        return self.states[case.state].client
