"""Watches what passes, in a thread of its own: decodes it, judges it, and tells listeners."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from wireproof_kit.clients.events import Connected, Disconnected, Event
from wireproof_kit.clients.story import BY_CLIENT
from wireproof_kit.proxy.checks import Watcher
from wireproof_kit.proxy.events import Listening, Noted, Undecoded, Unreached
from wireproof_kit.proxy.evidence import Evidence
from wireproof_kit.proxy.relay import LISTEN, STANDS_BEFORE, UNREACHED
from wireproof_kit.proxy.tally import Entry, Tally
from wireproof_kit.proxy.tap import LOST, Tap
from wireproof_kit.wire.mask import MakeMask, Mask
from wireproof_kit.wire.transcript import SENT_KINDS, Step

MOST_FAULTS = 100


class Listener(Protocol):
    """Receives what passes the proxy: bytes, decoded events and deviations."""

    def step(self, step: Step) -> None:
        """Receive bytes read from one side, or what happened to a connection."""
        ...

    def event(self, event: Event) -> None:
        """Receive an event that was decoded from the bytes."""
        ...

    def deviation(self, entry: Entry) -> None:
        """Receive the first observation, for each clause, that the clause was broken."""
        ...


@dataclass(slots=True)
class _Connection:
    watcher: Watcher
    evidence: Evidence = field(default_factory=Evidence)
    is_decoded: bool = True
    is_opening_judged: bool = False


@dataclass(slots=True)
class Traffic:
    """How much has passed the proxy: connections, events, bytes, and undecoded connections."""

    connections: int = 0
    events: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    undecoded: int = 0


class Observer:
    """Decodes and judges the steps from the proxy's tap, and informs the listeners."""

    def __init__(
        self,
        tap: Tap,
        watch: Callable[[str], Watcher],
        tally: Tally,
        listeners: Sequence[Listener],
        make_mask: MakeMask | None = None,
    ) -> None:
        self._make_mask = make_mask
        self._tap = tap
        self._watch = watch
        self._listeners = list(listeners)
        self._connections: dict[str, _Connection] = {}
        self._masks: dict[str, Mask] = {}
        self.tally = tally
        self.traffic = Traffic()
        self.faults: list[str] = []
        """Errors of the kit while it observed."""

    def run(self) -> None:
        """Process steps until the tap ends."""
        while (step := self._tap.take()) is not None:
            self._take(step)
        for name, connection in self._connections.items():
            end = Step(0, name, "note")
            try:
                self._judge_opening(name, connection)
            except Exception as error:  # as below
                self._note_fault(end, connection, error)

    def _take(self, step: Step) -> None:
        step = self._hide_secrets(step)
        self._inform(lambda listener: listener.step(step))
        if step.kind == "open":
            self.traffic.connections += 1
            self._connections[step.connection] = _Connection(self._watch(step.connection))
        connection = self._connections.get(step.connection)
        try:
            for event in self._read(step, connection):
                self._tell(event, connection)
            if connection is not None and (step.kind == "close" or connection.evidence.is_full):
                self._judge_opening(step.connection, connection)
        except Exception as error:  # a fault of the kit's must not end the observation of others
            self._note_fault(step, connection, error)
        if step.kind == "close":
            self._connections.pop(step.connection, None)

    def _hide_secrets(self, step: Step) -> Step:
        """Return a step without secrets, before anybody sees it."""
        if step.kind == "open" and self._make_mask is not None:
            self._masks[step.connection] = self._make_mask(step.connection)
        mask = self._masks.get(step.connection)
        if step.kind == "close":
            self._masks.pop(step.connection, None)
        if mask is None or not step.data:
            return step
        return replace(step, data=mask.feed(step.data, by_client=step.kind in SENT_KINDS))

    def _read(self, step: Step, connection: _Connection | None) -> Iterator[Event]:
        """Yield the events of a step, and keep it as evidence."""
        at, name = step.at_us / 1_000_000, step.connection
        if step.kind == LISTEN:
            yield Listening(at, name, *step.note.split(STANDS_BEFORE))
        elif step.kind == UNREACHED:
            yield Unreached(at, name, step.note)
        elif connection is None:
            yield Noted(at, name, step.note)
        elif step.kind == "open":
            connection.evidence.add(step)
            yield Connected(at, name)
        elif step.kind == "close":
            connection.evidence.add(step)
            yield Disconnected(at, name, "client" if step.note.startswith(BY_CLIENT) else "broker")
        elif step.kind == "note":
            connection.evidence.add(step)
            yield (Undecoded if step.note == LOST else Noted)(at, name, step.note)
        else:
            yield from self._decode(step, connection)

    def _decode(self, step: Step, connection: _Connection) -> Iterator[Event]:
        by_client = step.kind in SENT_KINDS
        if by_client:
            self.traffic.bytes_sent += len(step.data)
        else:
            self.traffic.bytes_received += len(step.data)
        if by_client or not connection.is_decoded:
            connection.evidence.add(step)
        if not connection.is_decoded:
            return
        at = step.at_us / 1_000_000
        for event in connection.watcher.decode(at, step.data, by_client=by_client):
            framed = connection.watcher.frame_bytes(event)
            if framed:  # a step a frame: whoever observes it again need not join reads
                connection.evidence.add(Step(step.at_us, step.connection, step.kind, framed))
            yield event

    def _tell(self, event: Event, connection: _Connection | None) -> None:
        self.traffic.events += 1
        self._inform(lambda listener: listener.event(event))
        if connection is None:
            return
        if isinstance(event, Undecoded) and connection.is_decoded:
            connection.is_decoded = False
            self.traffic.undecoded += 1
        for shown in connection.watcher.see(event):
            first = self.tally.add(shown, event.conn, connection.evidence)
            if first is not None:
                self._tell_deviation(first)

    def _tell_deviation(self, entry: Entry) -> None:
        self._inform(lambda listener: listener.deviation(entry))

    def _inform(self, tell: Callable[[Listener], None]) -> None:
        """Tell each listener; one that fails, such as a file on a full disk, is told no more."""
        for listener in tuple(self._listeners):
            try:
                tell(listener)
            except Exception as error:
                self._listeners.remove(listener)
                self.note_fault(f"an output is not written any more: {error}")

    def note_fault(self, text: str) -> None:
        """Keep an error of the kit, if there are not too many already."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(text)

    def _judge_opening(self, name: str, connection: _Connection) -> None:
        if connection.is_opening_judged or not connection.is_decoded:
            return
        connection.is_opening_judged = True
        cases, steps = connection.watcher.opening, connection.evidence.opening
        for entry in self.tally.add_opening(cases, name, steps):
            self._tell_deviation(entry)

    def _note_fault(self, step: Step, connection: _Connection | None, error: Exception) -> None:
        text = f"not decoded from here on: the kit failed ({error!r})"
        self.note_fault(text)
        if connection is not None:
            connection.is_decoded = False
        event = Undecoded(step.at_us / 1_000_000, step.connection, text)
        self._inform(lambda listener: listener.event(event))
