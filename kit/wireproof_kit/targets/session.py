"""The interface of a protocol's session with one target."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from wireproof_kit.errors import TargetSilent, TargetUnreachable
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import Patience, read_load
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.record import ControlState

CONTROL_SECONDS = 10.0
REQUIRED = ("arguments", "release", "control", "is_alive")
"""The methods of `Session` that have no default: what they return is known to no other code."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The observation of a probe, with its transcript."""

    observation: Observation
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class Control:
    """The result of a round trip on a new connection, made to see if the target still answers."""

    state: ControlState
    seconds: float


def control_round_trip(trip: Callable[[float], float], patience: Patience) -> Control:
    """Measure a round trip, and compare it with the time limit for an answer.

    ``trip`` gets its time limit in seconds, and returns the seconds it took. The time limit is
    longer on a busy machine.
    """
    try:
        seconds = trip(CONTROL_SECONDS)
    except (TargetUnreachable, TargetSilent, ConnectionRefusedError):
        return Control("dead", CONTROL_SECONDS)
    prompt = seconds <= patience.answer * read_load()
    return Control("prompt" if prompt else "slow", seconds)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The user's options for communication with a target.

    ``timeout`` in seconds, or a ``patience`` measured on the same target before, replaces
    measuring; ``topics`` are KIND → name; ``run_token`` makes names unique to the run. A
    ``passing`` target ends with the run, so that nothing need be deleted.
    """

    seed: int
    run_token: str
    timeout: float | None = None
    topics: Mapping[str, str] = field(default_factory=dict[str, str])
    passing: bool = False
    patience: Patience | None = None


class Session(Protocol):
    """One open session with a target; its methods are thread-safe.

    A subclass sets ``patience`` and defines the methods in `REQUIRED`; the others have a body here
    that does nothing.
    """

    patience: Patience

    def begin(self, kinds: Counter[str]) -> None:
        """Start to create topics and the like, without waiting.

        ``kinds`` counts, by argument name, how often cases take each kind of topic.
        """
        return

    def probe_capability(self, name: str) -> Probe:
        """Find out by a probe (a short exchange) whether the target has a capability."""
        return Probe(observed("unavailable"), Transcript())

    def probe_reading(self, name: str) -> Probe:
        """Find out by a probe which reading of an ambiguous text the target follows."""
        return Probe(observed("unavailable"), Transcript())

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Store which reading of each ambiguous text the target follows, for this run's cases."""
        return

    def prepare(self, kinds: Counter[str]) -> None:
        """Create what the selected cases need.

        ``kinds`` counts, by argument name, how often cases take each kind of topic.
        """
        return

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the kit objects that a case asks for by argument name, new for one run of it."""
        raise NotImplementedError

    def release(self, arguments: Mapping[str, object]) -> None:
        """Close what a case left open; ``arguments`` are its kit objects."""
        raise NotImplementedError

    def control(self) -> Control:
        """Measure a round trip on a new connection, to see if the target still answers."""
        raise NotImplementedError

    def is_alive(self) -> bool:
        """Return True if the target accepts a connection now."""
        raise NotImplementedError

    def fingerprint(self) -> dict[str, str]:
        """Return what the target reports about itself."""
        return {}

    def close(self) -> None:
        """Delete what the kit created on the target, and close all connections."""
        return


@runtime_checkable
class NamesLeft(Protocol):
    """A session that knows what it made on the target and could not delete."""

    def left_behind(self) -> Sequence[str]:
        """Return the names that are left on the target, once the session is closed."""
        ...


@runtime_checkable
class SharesObjects(Protocol):
    """A session whose cases share objects on the target, such as topics of the run."""

    def make_shared_again(self) -> None:
        """Have what cases share made again: the target was restarted and may have lost it."""
        ...


def make_shared_again(session: Session) -> None:
    """Have a session make again what its cases share on a target that was restarted."""
    if isinstance(session, SharesObjects):
        session.make_shared_again()


@runtime_checkable
class NamesNodes(Protocol):
    """A session whose target has servers that name further nodes."""

    def keeps_to_loopback(self) -> bool:
        """Return True if all nodes are on loopback; then only such are contacted from now on."""
        ...


def keeps_to_loopback(session: Session) -> bool:
    """Return True unless servers of the target name a node that is not on loopback."""
    return not isinstance(session, NamesNodes) or session.keeps_to_loopback()


OpenSession = Callable[[Target, SessionOptions], Session]
