"""The story of a case: the events in its log, by one pure function from steps to events.

The peers act on these events while the case runs, and its observation is taken from them. Since
the steps stand in the bundle, a recorded case can be observed again without the client. They are
written as the client sees them, who is judged: it sends, requests and receives.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from wireproof_kit.clients.events import (
    Answered,
    BadLine,
    Connected,
    Disconnected,
    Ended,
    Event,
    Expired,
    Flooded,
    Given,
    Greeted,
    Marked,
    Measured,
    Told,
    Wrote,
)
from wireproof_kit.drivers.conversation import Conversation
from wireproof_kit.errors import UsageFault
from wireproof_kit.observation import Observation
from wireproof_kit.wire.transcript import SENT_KINDS, Step
from wireproof_spec.driver.lines import Event as DriverEvent
from wireproof_spec.driver.lines import Fields, Hello, Line, LineFault
from wireproof_spec.step_record import TranscriptRecord

DRIVER, ASKED, STDOUT, STDERR = "driver", "asked", "stdout", "stderr"
PROCESS, KIT = "process", "kit"
"""Names in the place of a connection for the driver's and client's output, and for notes."""
BY_CLIENT, BY_KIT = "by the client", "by the kit"
BY_CLIENT_IN_ORDER = f"{BY_CLIENT}, after its last byte"
"""The client's end of the stream came: no byte that the client sent is lost, as by a reset."""
EXPIRED, FLOODED, ENDED = "waited in vain", "more than is kept", "ended with exit code"
MARK, GIVEN, PROCESSOR = "mark ", "given ", "processor "
STARVED_SHARE = 0.25
"""If a client waited for a processor for this part of a case, being late proves nothing."""
SHORTEST_LIMIT_S = 0.3
"""go-nsq ends a publish after this time, the shortest limit measured in a client. One that is done
sooner counts as if it had taken so long: its waits are too short for any limit to pass."""

_UNKNOWN: Fields = {"op": "a request"}
"""A request of which only the answer is recorded."""

E = TypeVar("E", bound=Event)


class Decoder(Protocol):
    """Decodes a protocol's traffic between a client and the servers that the kit plays."""

    def open(self, at: float, conn: str) -> None:
        """Prepare to decode a new connection."""
        ...

    def decode_received(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the events completed by bytes from the client."""
        ...

    def decode_sent(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the events completed by bytes from the kit."""
        ...


class Story:
    """The events of one client case so far, made from the steps of its transcript."""

    def __init__(self, decoder: Decoder, *, is_part: bool = False) -> None:
        self.events: list[Event] = []
        self.conversation = Conversation(is_part=is_part)
        """The requests to the client's driver, and the driver's answers."""
        self.requests: dict[int, Fields] = {}
        """The requests to the client's driver as JSON objects, by id."""
        self._decoder = decoder
        self._is_part = is_part
        self._steps = 0
        self._step_of: dict[int, int] = {}
        """The step that completed each event, by the event's identity."""

    def add(self, step: Step) -> Sequence[Event]:
        """Add a step of the transcript; return the events that it completes."""
        new = list(self._read(step))
        self.events += new
        self._step_of |= dict.fromkeys(map(id, new), self._steps)
        self._steps += 1
        return new

    def of(self, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> list[E]:
        """Return the events of a type that match a condition."""
        return [event for event in self.events if isinstance(event, kind) and where(event)]

    def first(self, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> E | None:
        """Return the first event of a type that matches a condition, or None."""
        found = (event for event in self.events if isinstance(event, kind) and where(event))
        return next(found, None)

    def index(self, event: Event) -> int:
        """Return the position of an event among all events."""
        return next(place for place, each in enumerate(self.events) if each is event)

    def rest_on(self, event: Event | None, seen: Observation) -> Observation:
        """Return an observation as one that rests on an event, if there is one."""
        step = self._step_of.get(id(event))
        return seen if step is None else replace(seen, evidence=(step,))

    def after(self, event: Event) -> list[Event]:
        """Return the events after this event."""
        return self.events[self.index(event) + 1 :]

    def is_open(self, conn: str) -> bool:
        """Return True while neither side has closed a connection."""
        return not any(
            isinstance(event, Disconnected) and event.conn == conn for event in self.events
        )

    def find_given(self, name: str) -> str:
        """Return the value that the client was given under a name; empty if there is none."""
        event = self.first(Given)
        return event.values.get(name, "") if event else ""

    def has_expired(self) -> bool:
        """Return True if the kit's time limit passed before the awaited event."""
        return self.first(Expired) is not None

    def is_starved(self) -> bool:
        """Return True if other programs kept the client, or the kit, from running for long."""
        begins = (event.at for event in self.events if isinstance(event, Connected | Greeted))
        begun = next(begins, 0.0)
        return any(
            max(each.waited, each.kit_waited)
            > STARVED_SHARE * max(each.at - begun, SHORTEST_LIMIT_S)
            for each in self.of(Measured)[-1:]
        )

    def _read(self, step: Step) -> Iterable[Event]:
        at = step.at_us / 1_000_000
        if step.connection in (DRIVER, ASKED):
            return self._driver_line(at, step)
        if step.connection in (STDOUT, STDERR):
            return [Wrote(at, step.connection, step.data)]
        if step.kind == "note":
            return _read_note(at, step)
        if step.kind == "open":
            self._decoder.open(at, step.connection)
            return [Connected(at, step.connection)]
        if step.kind == "close":
            by_client = step.note.startswith(BY_CLIENT)
            return [Disconnected(at, step.connection, "client" if by_client else "kit")]
        read = (
            self._decoder.decode_received if step.kind in SENT_KINDS else self._decoder.decode_sent
        )
        return read(at, step.connection, step.data)

    def _driver_line(self, at: float, step: Step) -> Iterator[Event]:
        if step.connection == ASKED:
            asked = json.loads(step.data)
            self.requests[asked["id"]] = asked
            self.conversation.request(asked["op"])
            return
        try:
            for line in self.conversation.feed(step.data):
                yield self._read_line(at, line)
        except LineFault as fault:
            yield BadLine(at, DRIVER, str(fault))

    def _read_line(self, at: float, line: Line) -> Event:
        if isinstance(line, Hello):
            return Greeted(at, DRIVER, line)
        if isinstance(line, DriverEvent):
            return Told(at, DRIVER, line)
        asked = self.requests.get(line.id, _UNKNOWN) if self._is_part else self.requests[line.id]
        return Answered(at, DRIVER, str(asked["op"]), line)


DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What is raised where the steps of a case are not those that the kit records."""


def read_story(transcript: TranscriptRecord, decoder: Decoder) -> Story:
    """Return the events of a recorded client case.

    Steps without the first note of a case are a part of it: those that a breach rests on.

    Raises:
        UsageFault: a step is none that the kit records: somebody else may have made it.
    """
    is_whole = any(step.conn == KIT and step.note.startswith(GIVEN) for step in transcript.steps)
    story = Story(decoder, is_part=not is_whole)
    for number, step in enumerate(transcript.steps):
        try:
            story.add(Step(step.at_us, step.conn, step.kind, step.data(), note=step.note))
        except DAMAGE as error:
            raise UsageFault(
                f"step {number} of a client's exchange is damaged: {error}"
            ) from error
    return story


def _read_note(at: float, step: Step) -> Iterator[Event]:
    if step.note.startswith(ENDED):
        yield Ended(at, PROCESS, int(step.note.removeprefix(ENDED)))
    elif step.note.startswith(EXPIRED):
        yield Expired(at, KIT, step.note.removeprefix(EXPIRED).lstrip(": "))
    elif step.note.startswith(GIVEN):
        yield Given(at, KIT, json.loads(step.note.removeprefix(GIVEN)))
    elif step.note.startswith(MARK):
        yield Marked(at, KIT, step.note.removeprefix(MARK))
    elif step.note.startswith(PROCESSOR):
        used, waited, kit_waited = map(float, step.note.removeprefix(PROCESSOR).split())
        yield Measured(at, KIT, used, waited, kit_waited)
    elif step.note.startswith(FLOODED):
        yield Flooded(at, KIT)
