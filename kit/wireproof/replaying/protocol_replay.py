"""The interface that a protocol implements for ``wireproof replay``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, cast

from wireproof.replaying.rename import Names
from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.session import Session
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.protocol import Group, entry_point, list_having
from wireproof_spec.record import CaseRecord, StepRecord

Steps = tuple[StepRecord, ...]
Frames = Sequence[bytes]


class Link(Protocol):
    """A connection of one repetition."""

    def send(self, outgoing: Outgoing, /) -> object:
        """Send bytes unchanged."""

    def close(self) -> None:
        """End the connection."""


L = TypeVar("L", bound=Link, covariant=True)


class Links(ABC, Generic[L]):
    """The connections of one repetition, by their recorded names; `transcript` has all steps.

    A subclass says how to connect and how to receive; without `request` it sends no HTTP.
    """

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.links: dict[str, L] = {}

    @abstractmethod
    def connect(self, name: str) -> L:
        """Return a new connection."""

    @abstractmethod
    def receive(self, name: str) -> None:
        """Receive the next answer, or record that no answer came."""

    def open(self, name: str) -> None:
        """Connect."""
        self.links[name] = self.connect(name)

    def send(self, name: str, outgoing: Outgoing) -> None:
        """Send bytes unchanged."""
        if name in self.links:
            self.links[name].send(outgoing)

    def request(self, name: str, data: bytes, what: str) -> None:  # may be left out
        """Send an HTTP request on a new connection, and receive the answer."""

    def secure(self, name: str) -> None:  # may be left out
        """Switch a connection to TLS, where its recorded one was switched."""

    def half_close(self, name: str) -> None:
        """End the sending direction; here, the connection."""
        self.close(name)

    def close(self, name: str) -> None:
        """End a connection."""
        if name in self.links:
            self.links[name].close()

    def close_all(self) -> None:
        """End every connection."""
        for link in self.links.values():
            link.close()


@dataclass(frozen=True, slots=True)
class Occasion:
    """A request to repeat a case; ``arguments`` are the kit objects that the case takes.

    Without arguments it is repeated as recorded: under the names it had, and nothing is made.
    """

    case: CaseRecord
    arguments: tuple[str, ...] | None
    target: Target
    session: Session
    times: int


@dataclass(frozen=True, slots=True)
class Round:
    """One repetition: the bytes to send, the renamed identifiers, and the connections."""

    steps: Steps
    names: Names
    links: Links[Link]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The repetitions of a replay, and the recorded ``steps`` they are compared with."""

    steps: Steps
    rounds: tuple[Round, ...]


def as_it_was_sent(data: bytes, recorded: Frames, came: Frames) -> bytes:
    """Return recorded bytes unchanged."""
    return data


def is_no_beat(data: bytes) -> bool:
    """Return False: nothing comes and goes by the clock."""
    return False


def in_one_order(data: bytes) -> bytes:
    """Return the same for all answers: their order stays."""
    return b""


def as_it_came(data: bytes, sent: Frames) -> bytes:
    """Return the received values in their order of arrival."""
    return data


@dataclass(frozen=True, slots=True)
class Replayer:
    """A protocol's implementation of replay.

    ``renewed`` takes bytes to send, the answers recorded before them, and the answers received
    now: it replaces recorded ids by present ones. ``is_beat`` returns True for frames that depend
    on the clock, such as heartbeats. ``rank`` returns a sort key for answers that may come in any
    order. The fields in ``volatile`` differ from run to run. ``not_replayed`` maps an argument of
    cases to actions that are not recorded and so cannot be replayed. ``settled`` takes an answer
    and the bytes sent before it: it sorts the parts of an answer that may have any order.
    """

    arrange: Callable[[Occasion], Arrangement]
    renewed: Callable[[bytes, Frames, Frames], bytes] = as_it_was_sent
    is_beat: Callable[[bytes], bool] = is_no_beat
    rank: Callable[[bytes], bytes] = in_one_order
    volatile: Set[str] = frozenset()
    not_replayed: Mapping[str, str] = field(default_factory=dict[str, str])
    settled: Callable[[bytes, Frames], bytes] = as_it_came


def replayer_of(protocol: str) -> Replayer:
    """Import a protocol's replayer.

    Raises:
        UsageFault: the protocol has no replayer.
    """
    if protocol not in list_having(Group.REPLAYERS):
        raise UsageFault(
            f"what was recorded of protocol {protocol!r} cannot be sent again; run the case again "
            "instead: wireproof run URL CASE"
        )
    return cast(Callable[[], Replayer], entry_point(Group.REPLAYERS, protocol).load())()
