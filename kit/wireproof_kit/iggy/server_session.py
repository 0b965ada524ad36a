"""What sessions with both kinds of Iggy servers have in common: objects, probes, patience."""

import contextlib
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from wireproof_kit.errors import ArrangementFailed, KitError, TargetSilent, TargetUnreachable
from wireproof_kit.iggy import patience
from wireproof_kit.iggy.greeting import GREETING_SECONDS
from wireproof_kit.observation import Observation, observed
from wireproof_kit.targets.session import Control, Probe, SessionOptions, control_round_trip
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.connection import accepts
from wireproof_kit.wire.transcript import Transcript

HTTP_SECONDS = 5.0
UNAVAILABLE = "unavailable"


class CaseServer(Protocol):
    """One case's access to the target."""

    def new_topic(self) -> object:
        """Create a topic that is deleted at the end of the case."""

    def close(self, *, leave: bool = False) -> None:
        """Close the case's connections, and delete what it created unless ``leave``."""


S = TypeVar("S", bound=CaseServer)
Probes = Mapping[str, Callable[[S], Observation]]


class ServerSession(ABC, Generic[S]):
    """An open session with one Iggy server; thread-safe.

    ``so_far`` is the duration of a round trip that was measured when the session was opened.
    """

    server_name: ClassVar[str]
    """The name by which a case asks for its server."""
    topic_name: ClassVar[str]
    """The name by which a case asks for a topic."""
    scope: ClassVar[str] = ""
    """Where no other objects exist, for the error message."""

    def __init__(
        self,
        address: Address,
        options: SessionOptions,
        so_far: float,
        capability_probes: Probes[S],
        reading_probes: Probes[S],
    ) -> None:
        self._address = address
        self._options = options
        self._so_far = so_far
        self._capability_probes = capability_probes
        self._reading_probes = reading_probes
        self._left: list[str] = []
        self.patience = patience.BEFORE_MEASURING
        if options.timeout is not None:
            self.patience = patience.make_fixed(options.timeout)
        elif options.patience is not None:
            self.patience = options.patience
        self._measuring = threading.Lock()
        self._is_measured = options.timeout is not None or options.patience is not None

    @abstractmethod
    def _server(self, transcript: Transcript) -> S:
        """Return a case's access to the target."""

    @abstractmethod
    def _time_ping(self, seconds: float) -> float:
        """Connect and ping within the given time; return the seconds this took."""

    def begin(self, kinds: Counter[str]) -> None:
        """Do nothing: Iggy creates topics without delay, so none is prepared."""

    def probe_capability(self, name: str) -> Probe:
        """Find out by a probe (a short exchange) whether the target has a capability."""
        self._measure()
        return self._probe(name, self._capability_probes)

    def probe_reading(self, name: str) -> Probe:
        """Find out by a probe which reading of an ambiguous text the target follows."""
        return self._probe(name, self._reading_probes)

    def prepare(self, kinds: Counter[str]) -> None:
        """Measure the target's time limits; the cases create their topics themselves."""
        self._measure()

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the objects that a case asks for by name, new for one run: server and topic.

        Raises:
            ArrangementFailed: the topic could not be made.
            KitError: the kit has no such object.
        """
        missing = [name for name in names if name not in (self.server_name, self.topic_name)]
        if missing:
            raise KitError(f"the kit has no object called {missing[0]}{self.scope}")
        server = self._server(transcript)
        arguments: dict[str, object] = {self.server_name: server}
        try:
            if self.topic_name in names:
                arguments[self.topic_name] = server.new_topic()
        except KitError:
            self._close(server)
            raise
        return {name: arguments[name] for name in names}

    def control(self) -> Control:
        """Ping on a new connection, to show that the target still answers; return the result."""
        return control_round_trip(self._time_ping, self.patience)

    def is_alive(self) -> bool:
        """Return True if the target accepts a connection now."""
        return accepts(self._address)

    def left_behind(self) -> list[str]:
        """Return the streams that the target keeps, once the session is closed."""
        return [f"stream {name}" for name in self._left]

    def _close(self, server: S) -> None:
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            server.close(leave=self._options.passing)

    def _probe(self, name: str, table: Probes[S]) -> Probe:
        transcript = Transcript()
        probe = table.get(name)
        if probe is None:
            return Probe(observed(UNAVAILABLE, note=f"there is no probe {name}"), transcript)
        server = self._server(transcript)
        try:
            observation = probe(server)
        except (ArrangementFailed, TargetUnreachable, TargetSilent) as error:
            observation = observed(UNAVAILABLE, note=str(error))
        finally:
            self._close(server)
        return Probe(observation, transcript)

    def _measure(self) -> None:
        with self._measuring:
            if not self._is_measured:
                self._is_measured = True
                self.patience = patience.measure(self._round_trip, self._so_far)

    def _round_trip(self) -> float:
        try:
            return self._time_ping(GREETING_SECONDS)
        except (TargetUnreachable, TargetSilent):
            return GREETING_SECONDS
