"""The interface that a protocol implements for ``wireproof replay``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from wireproof.replaying.rename import Names
from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.session import Session
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.protocol import Group, call_part, list_having
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_record import StepRecord

Steps = tuple[StepRecord, ...]
Frames = Sequence[bytes]


class Link(Protocol):
    """The interface of a connection in one repetition of a recorded case."""

    def send(self, outgoing: Outgoing, /) -> object:
        """Send bytes unchanged on the connection."""

    def close(self) -> None:
        """Close the connection."""


L = TypeVar("L", bound=Link, covariant=True)


class Links(ABC, Generic[L]):
    """The connections in one repetition of a case, by recorded name; `transcript` has all steps.

    A subclass says how to connect and how to receive; without `request` it sends no HTTP.
    """

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.links: dict[str, L] = {}

    @abstractmethod
    def connect(self, name: str) -> L:
        """Connect to the target and return the connection."""

    @abstractmethod
    def receive(self, name: str) -> None:
        """Receive the next answer on the connection `name`, or record that none came."""

    def open(self, name: str) -> None:
        """Connect to the target under the recorded name of a connection."""
        self.links[name] = self.connect(name)

    def send(self, name: str, outgoing: Outgoing) -> None:
        """Send bytes unchanged on the connection `name`."""
        if name in self.links:
            self.links[name].send(outgoing)

    def request(self, name: str, data: bytes, what: str) -> None:  # may be left out
        """Send an HTTP request on a new connection, and receive the answer."""

    def secure(self, name: str) -> None:  # may be left out
        """Switch the connection `name` to TLS where the recorded one was switched."""

    def half_close(self, name: str) -> None:
        """Close the sending direction of a connection; by default, the whole connection."""
        self.close(name)

    def close(self, name: str) -> None:
        """Close the connection `name`."""
        if name in self.links:
            self.links[name].close()

    def close_all(self) -> None:
        """Close every connection."""
        for link in self.links.values():
            link.close()


@dataclass(frozen=True, slots=True)
class Occasion:
    """A request to repeat a recorded case on a target; ``arguments`` name what the case takes.

    Without arguments the case is repeated as recorded: with the same names; nothing is created.
    """

    case: CaseRecord
    arguments: tuple[str, ...] | None
    target: Target
    session: Session
    times: int


@dataclass(frozen=True, slots=True)
class Round:
    """One repetition of a case: steps to send, recorded names and their new names, connections."""

    steps: Steps
    names: Names
    links: Links[Link]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """All repetitions of a case, and the recorded ``steps`` with which they are compared."""

    steps: Steps
    rounds: tuple[Round, ...]


def as_it_was_sent(data: bytes, recorded: Frames, came: Frames) -> bytes:
    """Return recorded bytes unchanged: a protocol without ids that must be replaced."""
    return data


def is_no_beat(data: bytes) -> bool:
    """Return False: a protocol without frames that depend on the clock, such as heartbeats."""
    return False


def in_one_order(data: bytes) -> bytes:
    """Return the same sort key for all answers: those of the protocol have a fixed order."""
    return b""


def as_it_came(data: bytes, sent: Frames) -> bytes:
    """Return a received answer unchanged: a protocol whose answers have no parts in any order."""
    return data


@dataclass(frozen=True, slots=True)
class Replayer:
    """The functions by which recorded cases of one protocol are replayed.

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
    """Import and return the replayer of a protocol.

    Raises:
        UsageFault: the protocol has no replayer.
        BrokenPackage: the package of the protocol registers no function that returns one.
    """
    if protocol not in list_having(Group.REPLAYERS):
        raise UsageFault(
            f"what was recorded of protocol {protocol!r} cannot be sent again; run the case again "
            "instead: wireproof run URL CASE"
        )
    return call_part(Group.REPLAYERS, protocol, Replayer)
